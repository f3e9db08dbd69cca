"""The pool of states: what layers with a state of fixed size (linear attention, Mamba) take of the budget.

Sources: 0.5.11 model_executor/model_runner_kv_cache_mixin.py, lines 72-131 and 190-205; 0.5.6 model_runner.py, line
1450; 0.5.13 and 0.5.17, the same function.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, field, frozen

from compiler.engines.sglang.releases import Counting, StatePools, at_least
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import Speculation
from compiler.engines.sglang.stages import counts_of_stages
from compiler.facts import Model, StateKind
from compiler.memory.attention import state_bytes
from compiler.memory.weights import GIB
from compiler.value import Value


FULL_RATIO = 0.9
"""States to KV, `--mamba-full-memory-ratio`."""

# Slots a running request may hold: itself, and the two copies that the radix cache takes; more with an extra buffer.
_BASE_SLOTS = 3
_OVERLAPPED, _LAZY, _PLAIN = 2, 1, 1
# Architectures with an extra buffer by default from 0.5.14 on (arg_groups/overrides.py, `_MAMBA_EXTRA_BUFFER_ARCHS`).
_BUFFERED_KINDS = frozenset({StateKind.GDN, StateKind.MAMBA2})
_BUFFERED_SINCE = {StateKind.KDA: "0.5.16", StateKind.LIGHTNING: "0.5.15"}
_STATE_BITS = {"float32": 32, "bfloat16": 16, "float16": 16}


_HALVINGS = 60
"""Until nothing is left between the ends of an interval of floating point numbers."""
# Rests that leave the same for KV: looked for among so many slots, and so many requests that verify, more and less. Tried for
# every rule, up to 32 drafted tokens: they lie 3 slots and 1 request apart at the default ratio, 7 and 2 at a ratio of 2.
_SLOTS, _JUMPS = 12, 3
_NEAR_GIB = 1e-6
"""Two amounts no further apart are one: about a thousand bytes, and a slot of states is never so small."""


@frozen(kw_only=True, eq=False, repr=False)
class Share(Value):
    """What became of a rest: what is left for KV, what the states take, GiB, and how many slots they are."""

    left_gib: float
    taken_gib: float
    slots: int


@frozen(kw_only=True, eq=False, repr=False)
class StatePool(Value):
    """How states are sized.

    Attributes:
        request_bytes: of one request's states on the stage that has most of them.
        given: slots that are set; `None` when a share of the rest decides.
        drafted: tokens verified at once, each with a state of its own until they are accepted; 0 without speculation.
        requests: most requests at once under speculation.
        per_request: slots a running request may hold.
        flag: what sets the slots; `None` where the release does not look at it.
    """

    rule: StatePools
    request_bytes: int
    ratio: float
    given: int | None
    drafted: int
    requests: int
    per_request: int
    flag: str | None = None
    _shares: dict[float, Share] = field(factory=dict, init=False, eq=False)

    @property
    def request_gib(self) -> float:
        """GiB of one request's states."""
        return self.request_bytes / GIB

    @property
    def spare(self) -> int:
        """Slots that no request ever has."""
        return 1 if self.rule is StatePools.PADDED else 0

    def split(self, rest_gib: float) -> Share:
        """Divide a rest between states and KV; asked for tokens, for slots, and for what they take, it is worked out once."""
        known = self._shares.get(rest_gib)
        if known is None:
            known = self._shares[rest_gib] = self._split(rest_gib)
        return known

    def _split(self, rest_gib: float) -> Share:
        each = self.request_gib
        if each == 0:
            return Share(left_gib=rest_gib, taken_gib=0.0, slots=0)
        if self.rule is StatePools.DIVIDED:
            return self._divided(rest_gib)
        before = 0.0
        if self.rule in {StatePools.BEFORE, StatePools.GIVEN}:
            before = each * self.requests * self.drafted
        slots = self._slots(rest_gib - before)
        if self.rule in {StatePools.JOINT, StatePools.PADDED} and self.drafted:
            running = (
                min(self.requests, slots // self.per_request)
                if self.given is None
                else (self._given_running())
            )
            before = each * (running + self.spare) * self.drafted
        taken = before + (slots + self.spare) * each
        return Share(left_gib=rest_gib - taken, taken_gib=taken, slots=slots)

    def whole_gib(self, left_gib: float) -> float:
        """The rest that leaves so much for KV; the inverse of `split`, within one slot."""
        most = ((self.given or 0) + self.requests + 2) * (1 + self.drafted)
        low, high = left_gib, left_gib * (2 + self.ratio) + most * self.request_gib
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._split(middle).left_gib < left_gib:
                low = middle
            else:
                high = middle
        return high

    def wholes_gib(self, left_gib: float) -> Iterator[float]:
        """Every rest that leaves so much for KV: more of it is one slot more, until the share of KV grows too."""
        one, each = self.whole_gib(left_gib), self.request_gib
        jumps = range(-_JUMPS, _JUMPS + 1) if self.drafted else range(1)
        beside = {
            one + each * (slots + self.drafted * jump)
            for slots in range(-_SLOTS, _SLOTS + 1)
            for jump in jumps
        }
        yield one
        yield from (
            other
            for other in sorted(beside - {one})
            if abs(self._split(other).left_gib - left_gib) < _NEAR_GIB
        )

    def _given_running(self) -> int:
        given = self.given or 0
        return min(self.requests, given // self.per_request)

    def _slots(self, rest_gib: float) -> int:
        if self.given is not None:
            return self.given
        budget = rest_gib * self.ratio / (1 + self.ratio)
        each = self.request_gib
        if self.rule in {StatePools.JOINT, StatePools.PADDED} and self.drafted:
            held = each * (1 + self.drafted) * self.spare
            return int((budget - held) // (each * (1 + self.drafted / self.per_request)))
        return int((budget - each * self.spare) // each)

    def _divided(self, rest_gib: float) -> Share:
        each = self.request_gib * (1 + self.drafted)
        slots = (
            self.given
            if self.given is not None
            else int(rest_gib * self.ratio / (1 + self.ratio) // each)
        )
        return Share(left_gib=rest_gib - slots * each, taken_gib=slots * each, slots=slots)


@frozen(kw_only=True, eq=False, repr=False)
class Sharing(Value):
    """How a server's attention is shared out: over `ranks`, in `replicas`, with `requests` at once on each."""

    ranks: int
    replicas: int
    requests: int | None


def state_pool(
    settings: Settings, *, model: Model, rule: Counting, guess: Speculation, sharing: Sharing
) -> StatePool | None:
    """How a model's states are sized; `None` when no layer has one."""
    if model.state is None or rule.states is StatePools.ABSENT:
        return None
    state = model.state
    bits = _STATE_BITS.get(settings.word("mamba-ssm-dtype") or _by_variable(settings))
    if bits is not None:
        state = evolve(state, state_bits=bits)
    layers = _most_layers(settings, model)
    return StatePool(
        rule=rule.states,
        request_bytes=state_bytes(state, layers=layers, ranks=sharing.ranks),
        ratio=settings.number("mamba-full-memory-ratio") or FULL_RATIO,
        given=_given(settings, rule, sharing),
        drafted=guess.verify_width if guess.algorithm is not None else 0,
        requests=sharing.requests or 0,
        per_request=slots_per_request(settings, model=model, rule=rule),
        flag=None if _is_share(settings, rule) else _SLOTS_FLAG,
    )


_FORMAT_VARIABLE, _VARIABLE_SINCE = "SGLANG_MAMBA_SSM_DTYPE", "0.5.9"
"""The flag overwrites it; up to 0.5.8.post1 the flag's default does too (0.5.8 server_args.py, line 2391)."""


def _by_variable(settings: Settings) -> str:
    asked = settings.profile.env.get(_FORMAT_VARIABLE, "")
    return asked if at_least(settings.profile.engine.version, _VARIABLE_SINCE) else ""


# Until then each stage of a pipeline is sized for the states of all layers (0.5.17 kv_cache_configurator.py, line 1821).
_BY_STAGE_SINCE = "0.5.17"


def _most_layers(settings: Settings, model: Model) -> int:
    stages = [each.state for each in counts_of_stages(settings.profile, model)]
    by_stage = at_least(settings.profile.engine.version, _BY_STAGE_SINCE)
    return max(stages) if by_stage else sum(stages)


_UNSET_REQUESTS = 512
"""Slots of 0.5.6 without a radix cache and without a number of requests (model_runner.py, line 1466)."""


_SLOTS_FLAG = "max-mamba-cache-size"


def _is_share(settings: Settings, rule: Counting) -> bool:
    """Whether a share of the rest decides whatever is asked for."""
    return rule.states is StatePools.DIVIDED and not settings.on("disable-radix-cache")


def _given(settings: Settings, rule: Counting, sharing: Sharing) -> int | None:
    asked = settings.whole(_SLOTS_FLAG)
    without_radix = settings.on("disable-radix-cache")
    if _is_share(settings, rule):
        return None
    if asked is not None:
        return asked // sharing.replicas
    if without_radix and settings.profile.serve.max_running_requests is not None:
        return sharing.requests
    if rule.states is StatePools.GIVEN or (rule.states is StatePools.DIVIDED and without_radix):
        return _UNSET_REQUESTS // sharing.replicas
    return None


def slots_per_request(settings: Settings, *, model: Model, rule: Counting) -> int:
    """Slots a running request may hold; a pool of states admits no more requests than slots over this."""
    if settings.on("disable-radix-cache"):
        return 1
    strategy = settings.word("mamba-radix-cache-strategy", "mamba-scheduler-strategy") or "auto"
    overlapped = not settings.on("disable-overlap-schedule")
    if strategy == "auto":
        buffered = rule.extra_buffer and overlapped and _buffers(settings, model)
        strategy = "extra_buffer" if buffered else "no_buffer"
    if strategy == "no_buffer":
        return _BASE_SLOTS
    if not overlapped:
        return _BASE_SLOTS + _PLAIN
    return _BASE_SLOTS + (_LAZY if strategy == "extra_buffer_lazy" else _OVERLAPPED)


def _buffers(settings: Settings, model: Model) -> bool:
    """Whether the model's kind of state has an extra buffer with its default kernels."""
    kernels = settings.word("linear-attn-backend") or "triton"
    if model.state is None or kernels != "triton":
        return False
    since = _BUFFERED_SINCE.get(model.state.kind)
    late = since is not None and at_least(settings.profile.engine.version, since)
    return late or model.state.kind in _BUFFERED_KINDS
