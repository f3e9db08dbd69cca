"""What a switch or a rollback is going to do, worked out before anything is written, and why it may not be done."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from attrs import evolve, field, frozen

from compiler.consequence import Action, decide
from compiler.diagnostics import Diagnostic, error, warning
from compiler.host.growth import growth
from compiler.host.live import Live
from compiler.host.names import Holder, Holding, check_name, look_at_name
from compiler.host.places import Places, leads_out
from compiler.host.preflight import Preflight
from compiler.host.record import State
from compiler.host.service import Service
from compiler.host.staged import Staged
from compiler.host.staging import same_generation
from compiler.host.store import Generation, Store, read_store
from compiler.host.units import Scope, UnitState
from compiler.quantities import Duration
from compiler.value import Value


class Step(StrEnum):
    """What is done to the service."""

    NOTHING = "nothing"
    """It runs what it should, or would not notice the difference."""
    START = "start"
    RESTART = "restart"
    WAIT = "wait"
    """It was started by a run that did not wait to the end; this one does."""
    LEFT = "left"
    """It has to be restarted, and its target leaves that to a person."""
    OFFLINE = "offline"
    """Only files are written."""


@frozen(kw_only=True, eq=False, repr=False)
class Intent(Value):
    """One switch to be made.

    Attributes:
        number: the generation that becomes current.
        staged: what it is written from; `None` where it is there already.
        content: its files by name.
        running: the generation that the service runs now; `None` when it runs none, or that is not known.
        step: what is done to the service, for these `reasons`.
        moves: somebody else's unit that is moved aside, in words.
        findings: what refuses it, and what is to be known.
        skipped: what needs a host, and is not done in an image.
    """

    store: Store
    service: Service
    source: str
    number: int
    staged: Staged | None
    content: Mapping[str, bytes] = field(repr=False)
    running: int | None = None
    step: Step = Step.OFFLINE
    reasons: tuple[str, ...] = ()
    moves: str | None = None
    findings: tuple[Diagnostic, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether it must not be made."""
        return any(each.is_error for each in self.findings)

    @property
    def takes_it_down(self) -> bool:
        """Whether clients will notice."""
        return self.step is Step.RESTART

    @property
    def load(self) -> str:
        """How long a load is expected to take, in words: as long as the last one of these generations took."""
        notes = (self.store.record.note(each) for each in (self.number, self.running or 0))
        known = next((note.load_s for note in notes if note.load_s), None)
        most = Duration(self.service.start_timeout_s)
        return (
            f"at most {most}" if known is None else f"about {known}s, as last time; at most {most}"
        )


OFFLINE_STEPS = (
    "the checks of the host: model path, GPUs, port, limits, secrets, disk",
    "systemctl daemon-reload",
    "starting the service, and waiting until it is ready",
)
"""What `--root` leaves out."""


def intend_switch(
    staged: Staged, *, root: Path, live: Live | None, replace: bool
) -> Intent | tuple[Diagnostic, ...]:
    """What a switch to a staged tree does; `live` is `None` for an image.

    Raises:
        OSError: when something cannot be read.
    """
    service = staged.service
    store = _open(_places(root, service))
    if isinstance(store, Diagnostic):
        return (store,)
    same = same_generation(store, staged)
    intent = Intent(
        store=store,
        service=service,
        source=staged.source,
        number=store.highest + 1 if same is None else same,
        staged=staged if same is None else None,
        content=staged.content(),
    )
    intent = weigh(intent, live, replace=replace)
    if live is None or intent.refused:
        return intent
    return checked(intent, live.check(staged.plan, staged.folder, target=staged.target))


def checked(intent: Intent, found: Preflight) -> Intent:
    """The same with what was found wrong with the host, and what was not looked at."""
    return evolve(
        intent,
        findings=(*intent.findings, *found.diagnostics),
        skipped=tuple(f"{each.what}: {each.why}" for each in found.skipped),
    )


def _places(root: Path, service: Service) -> Places:
    return Places(root=root, scope=service.scope, state_dir=service.state_dir, unit=service.unit)


def _open(places: Places) -> Store | Diagnostic:
    outside = None if places.is_host else leads_out(places)
    if outside is not None:
        return error(
            "root-left",
            f"`{places.on_host(outside)}` leads out of `{places.root}` by a symlink",
            notes=(f"it is `{outside.resolve()}` on this host", "nothing was changed"),
        )
    return read_store(places)


def weigh(intent: Intent, live: Live | None, *, replace: bool) -> Intent:
    """Ask who holds the name, what runs, and what has to be done to it."""
    places = intent.store.places
    holding = look_at_name(places)
    moves = holding.what if holding.holder is Holder.FOREIGN else None
    if live is None:
        found = check_name(places, holding, replace=replace, state=None)
        found = (*found, *_damage_in_use(intent.store))
        return evolve(intent, findings=found, moves=moves, skipped=OFFLINE_STEPS)
    unreachable = live.unreachable()
    state = None if unreachable else live.show()
    if state is None:
        return evolve(intent, findings=(silent(places.scope, unreachable or "no answer"),))
    found = check_name(places, holding, replace=replace, state=state)
    intent = evolve(
        intent,
        findings=(*found, *_damage_in_use(intent.store)),
        moves=moves,
        running=running_generation(intent.store, state),
    )
    step, reasons = _step(intent, state, holding)
    if step is not Step.NOTHING or intent.running is None:
        return evolve(intent, step=step, reasons=reasons)
    return _hold(evolve(intent, step=step, reasons=reasons), live)


def _hold(intent: Intent, live: Live) -> Intent:
    """A promise that grew is held against what would run on; what is short already is not loaded again to see it."""
    before = intent.store.generations[intent.running or 0]
    grown = growth(before.content(), intent.content, live=live)
    if grown is None:
        return intent
    reasons = (*grown.reasons, *intent.reasons)
    if grown.is_kept:
        return evolve(intent, reasons=reasons)
    if intent.staged is not None and grown.broken:
        return evolve(intent, findings=(*intent.findings, *grown.broken))
    step = Step.RESTART if intent.service.restarts_itself else Step.LEFT
    return evolve(intent, step=step, reasons=reasons)


def running_generation(store: Store, state: UnitState) -> int | None:
    """The generation whose unit the service runs; `None` when it does not run, or nobody can know.

    A start that no verb made (a crash, a reboot, an operator) took what systemd had read, with the files of `current`.
    """
    record = store.record
    if not state.is_running:
        return None
    if state.invocation is not None and state.invocation == record.invocation:
        return record.started
    return record.loaded if record.loaded == store.current else None


def _step(intent: Intent, state: UnitState, holding: Holding) -> tuple[Step, tuple[str, ...]]:
    step, reasons = _needed(intent, state, holding)
    if step in (Step.START, Step.RESTART) and not intent.service.restarts_itself:
        return Step.LEFT, reasons
    return step, reasons


def _needed(intent: Intent, state: UnitState, holding: Holding) -> tuple[Step, tuple[str, ...]]:
    if not state.is_running:
        return Step.START, ("it does not run",)
    if holding.holder is Holder.FOREIGN:
        by = "that no switch put there" if holding.kept_in is None else f"of `{holding.kept_in}`"
        return Step.RESTART, (f"what runs was started by a unit {by}",)
    before = None if intent.running is None else intent.store.generations.get(intent.running)
    if before is None:
        return Step.RESTART, ("which generation runs is not known",)
    change = decide(before.content(), intent.content, unit=intent.service.unit)
    if change.action is Action.RESTART:
        return Step.RESTART, change.reasons
    note = intent.store.record.note(intent.number)
    if before.number == intent.number and note.state in (State.NEW, State.STARTING):
        return Step.WAIT, ("it was started, and nobody waited to the end",)
    return Step.NOTHING, change.reasons


def _damage_in_use(store: Store) -> tuple[Diagnostic, ...]:
    one = store.in_use
    return (edited(one),) if one is not None and one.damage else ()


def edited(one: Generation) -> Diagnostic:
    """The current generation is not as it was written."""
    return warning(
        "generation-edited",
        _edited(one),
        notes=one.damage,
        help=("a switch writes a whole one; what is worth keeping belongs into a profile",),
    )


def not_to_be_run(one: Generation) -> Diagnostic:
    """A generation that is not as it was written is not gone back to."""
    return error(
        "generation-edited",
        _edited(one),
        notes=(*one.damage, "nothing was changed"),
        help=("go back to another one; `poolproof generations` lists them",),
    )


def _edited(one: Generation) -> str:
    return f"generation {one.number} is not as it was written: somebody changed `{one.path}`"


def silent(scope: Scope, why: str) -> Diagnostic:
    """The manager does not answer."""
    return error(
        "systemd-silent",
        f"the {scope.value} manager of systemd does not answer: {why}",
        notes=("nothing was changed",),
        help=("to write files and links only, into an image, use `--root DIR`",),
    )
