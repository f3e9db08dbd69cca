"""The plan: what the engine will be given, what it will do with the GPU, and how each number is known.

No behaviour beyond putting its own parts side by side. Checks judge a plan, templates print it, `diff` compares two, `verify` holds one against a running server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from compiler.facts import Boot, Draft, Evidence, Gpu, Model, Release
from compiler.profile import Profile, Target
from compiler.ranges import Range
from compiler.unknown import Unknown
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.buffers import Adapters, StateSlots, Unfolds


PROBE = "ready.py"
"""What the readiness probe is called beside its unit, whichever engine's it is."""


@frozen(kw_only=True, eq=False, repr=False)
class Option(Value):
    """One engine flag as it will be written.

    Attributes:
        flag: its full name with dashes.
        values: its words; empty for a flag without a value.
        setting: the profile setting it comes from (`memory.fraction`, `flags.enable-metrics`).
        why: a comment for the reviewer, where the setting is not obvious.
    """

    flag: str
    values: tuple[str, ...] = ()
    setting: str
    why: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Variable(Value):
    """One environment variable."""

    name: str
    value: str
    setting: str


@frozen(kw_only=True, eq=False, repr=False)
class Line(Value):
    """One line of a budget, per GPU.

    Attributes:
        item: what takes the memory.
        gib: how much, GiB.
        evidence: how that is known.
        formula: the arithmetic with its inputs, for the reader.
    """

    item: str
    gib: Range
    evidence: Evidence
    formula: str


@frozen(kw_only=True, eq=False, repr=False)
class Pool(Value):
    """The KV pool of one GPU against what the promise needs.

    Attributes:
        required_tokens: slots the promise needs.
        request_tokens: slots one full request needs.
        tokens: slots the engine will allocate.
        cell_bytes: what one token costs of the budget, best estimate; `cell_choices` are all candidates, with the
            reason each may be the right one.
        rest_gib: what is left of the static budget for the pool, GiB.
        best_formula: the arithmetic of the best estimate, one step a line.
        boot: the recorded boot that the weights come from.
    """

    required_tokens: int
    request_tokens: int
    tokens: Range
    cell_bytes: int
    cell_choices: Mapping[int, str]
    rest_gib: Range
    evidence: Evidence
    best_formula: tuple[str, ...]
    boot: Boot | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Reserve(Value):
    """What the fraction leaves outside the static budget, per GPU, against what must fit there.

    Attributes:
        available_gib: what is there, GiB, with what the pool's pricing gives back or takes.
        needed_gib: what must fit, GiB.
    """

    available_gib: Range
    needed_gib: Range

    @property
    def margin_gib(self) -> Range:
        """What is left over, GiB; negative where it does not fit."""
        there, need = self.available_gib, self.needed_gib
        return Range(there.low - need.high, there.best - need.best, there.high - need.low)


@frozen(kw_only=True, eq=False, repr=False)
class Balance(Value):
    """What there is of both budgets of one GPU, and what is needed: all that a verdict follows from.

    Attributes:
        free_gib: free memory before weights load, which the two budgets share out.
        required_tokens: slots the promise needs.
        tokens: slots the pool will have.
        reserve: what the fraction leaves outside.
        admitted: requests of each replica whose states surely have room; `None` where no layer keeps any.
    """

    free_gib: Range
    required_tokens: int
    tokens: Range
    reserve: Reserve
    admitted: int | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Memory(Value):
    """Both budgets of one GPU.

    Attributes:
        fraction: the static fraction the engine is given; what "fit" found.
        free_before_load_gib: free memory before weights load, GiB.
        static: what the static budget pays for, line by line.
        reserve_lines: what the reserve pays for, line by line.
        load_gib: the most the load of the weights needs at once, GiB; `None` when it is what the weights take.
        beyond: what pools take of the reserve beyond what the static budget counts, which `reserve.available_gib` is less; `None` where
            they take no more.
        unpriced: what is known to exist and has no figure here, as sentences.
        admitted: requests of each replica whose states surely have room; `None` where no layer keeps any.
        set_aside: the recorded boots that do not fix the weights, since they cannot be of this server: name -> why, a clause.
    """

    fraction: float
    free_before_load_gib: Range
    pool: Pool
    static: tuple[Line, ...]
    reserve: Reserve
    reserve_lines: tuple[Line, ...]
    load_gib: Range | None = None
    beyond: Line | None = None
    unpriced: tuple[str, ...] = ()
    set_aside: Mapping[str, str] = field(factory=dict)
    admitted: int | None = None

    @property
    def balance(self) -> Balance:
        """What both come to."""
        return Balance(
            free_gib=self.free_before_load_gib,
            required_tokens=self.pool.required_tokens,
            tokens=self.pool.tokens,
            reserve=self.reserve,
            admitted=self.admitted,
        )


@frozen(kw_only=True, eq=False, repr=False)
class Effective(Value):
    """What a client really gets, by the best estimate."""

    context: int
    concurrency: int


@frozen(kw_only=True, eq=False, repr=False)
class Service(Value):
    """How the host runs it.

    Attributes:
        unit: the unit's name without `.service`.
        state_dir: the directory of its generations; `current` in it is the installed one.
        start_timeout_s: the bound on one load; `ready.py` holds it.
        unit_start_timeout_s: `TimeoutStartSec=`, a little above it, since systemd counts each command apart.
        start_limit_interval_s: longer than all allowed starts together take, so that the limit really trips.
    """

    unit: str
    state_dir: str
    start_timeout_s: int
    unit_start_timeout_s: int
    stop_timeout_s: int
    restart_delay_s: int
    restarts: int
    start_limit_interval_s: int

    def installed(self, file: str) -> str:
        """Where one of the target's files is on the host, whichever generation is installed."""
        return f"{self.state_dir}/current/{file}"


@frozen(kw_only=True, eq=False, repr=False)
class Plan(Value):
    """One service: a profile on a target.

    Attributes:
        profile_name: `k2.6-200k`.
        target_name: the target's name; a profile without targets is planned once with `None`.
        probe: the script in `templates/` that waits until the server is ready; `None` where its engine has none.
        command: how the engine is started, before its flags.
        memory: both budgets; `None` when something that decides them is unknown.
        unknowns: what nobody described.
        attention_backend: the backend the engine will use; `None` when unknown.
        prefill_chunk: tokens of a prefill step, the engine's default filled in; `None` when unknown.
        unfolds: what its prefill steps unfold; `None` when they unfold nothing.
        adapters: the buffers of adapters, where it has any and their size is known.
        required_tokens: slots the promise needs, also where memory is not known; `None` for an unknown engine.
        untold: why its server does not tell the size of its pool, so that its probe waits for health alone; else `None`.
        verify_width: slots the last verify step of a request wants; 1 without speculation.
        running_requests: most requests at once, over all replicas, the engine's default filled in; `None` when unknown.
        sized_for: as many as that where no pool bounds them; `None` where a pool alone decides, or when unknown.
        states: the pool of states; `None` when no layer has one.
        assumptions: sentences about what was taken for granted.
    """

    profile_name: str
    target_name: str | None
    profile: Profile
    target: Target | None
    service: Service | None
    gpu: Gpu | None
    model: Model | None
    draft: Draft | None
    release: Release | None
    command: tuple[str, ...]
    options: tuple[Option, ...]
    environment: tuple[Variable, ...]
    attention_backend: str | None = None
    prefill_chunk: int | None = None
    unfolds: Unfolds | None = None
    adapters: Adapters | None = None
    required_tokens: int | None = None
    untold: str | None = None
    verify_width: int = 1
    running_requests: int | None = None
    sized_for: int | None = None
    states: StateSlots | None = None
    memory: Memory | None = None
    effective: Effective | None = None
    probe: str | None = None
    unknowns: tuple[Unknown, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def balance(self) -> Balance | None:
        """What both budgets come to; `None` where memory is not known."""
        return None if self.memory is None else self.memory.balance

    @property
    def running_each(self) -> int | None:
        """Most requests at once of one replica."""
        running = self.running_requests
        return None if running is None else running // self.profile.parallel.data

    @property
    def bounding_states(self) -> StateSlots | None:
        """The pool of states, where that decides how many requests run at once."""
        states = self.states
        return states if states is not None and states.requests == self.running_each else None

    @property
    def title(self) -> str:
        """What the unit is called: the profile's own line, else the name clients ask for."""
        model = self.profile.model
        return self.profile.description or model.served_name or model.id

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command line, word by word."""
        written = [word for each in self.options for word in (each.flag, *each.values)]
        return (*self.command, *written)
