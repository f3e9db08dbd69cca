"""One profile with everything known about it, at one fraction: what both budgets are worked out from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.engines.engine import Facts, KnownBoot, Measured
from compiler.engines.sglang import boots
from compiler.engines.sglang.doubts import ROUNDING_GIB
from compiler.engines.sglang.ground import Ground
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.pool import Hypothesis, combine, spread, together
from compiler.engines.sglang.weighing import UNLOGGED_GIB
from compiler.facts import Evidence, Model
from compiler.profile import Profile
from compiler.ranges import Range, most
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.buffers import StateSlots


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Case(Value):
    """What sizing needs, with nothing missing.

    Attributes:
        known: the recorded boot that says most about this profile.
        fraction: as it is given; `budget_fraction` is what the release makes of it.
    """

    ground: Ground
    known: KnownBoot | None
    fraction: float

    @property
    def facts(self) -> Facts:
        """What is known."""
        return self.ground.facts

    @property
    def model(self) -> Model:
        """The model as it is loaded."""
        return self.ground.model

    @property
    def launch(self) -> Launch:
        """What the server runs with."""
        return self.ground.launch

    @property
    def profile(self) -> Profile:
        """The profile."""
        return self.ground.profile

    @property
    def has_log(self) -> bool:
        """Whether a log of this very start says what the weights are."""
        return self.ground.weighing.has_log

    @property
    def budget_fraction(self) -> float:
        """The share of the free memory that weights and pool really get."""
        return self.fraction * self.launch.fraction_scale

    @cached_property
    def is_measured(self) -> bool:
        """Whether the boot is of exactly these settings."""
        if self.known is None or self.known.boot.shipped or self.has_log:
            return False
        if self.known.boot.fraction != self.fraction:
            return False  # which most differ in, and which is soon seen
        return not boots.differences(
            self.profile, self.launch, self.known.boot, fraction=self.fraction
        )

    @property
    def evidence(self) -> Evidence:
        """How the pool is known."""
        if self.has_log:
            return Evidence.CARRIED
        if self.known is None:
            return Evidence.DERIVED
        return Evidence.MEASURED if self.is_measured else Evidence.CARRIED

    @property
    def free_gib(self) -> Range:
        """Free memory before the load."""
        return self.ground.weighing.free_gib(self.known)

    @cached_property
    def worlds(self) -> tuple[Hypothesis, ...]:
        """Every way things may be, the likeliest first."""
        if self.has_log:
            return tuple(combine(_logged(self.facts.measured), self.ground.layouts))
        if self.known is not None:
            return self.ground.weighing.carried(self.known, fraction=self.budget_fraction)
        doubts = together(
            self.free_gib, self.ground.weighing.weights_gib, fraction=self.budget_fraction
        )
        return tuple(combine(doubts, self.ground.layouts))

    @cached_property
    def pools(self) -> tuple[int, ...]:
        """The tokens of the pool in each world; a boot of exactly these settings knows them in all of them."""
        if self.known is not None and self.is_measured:
            return (self.known.boot.pool_tokens,) * len(self.worlds)
        fraction = self.budget_fraction
        return tuple(world.tokens(fraction) for world in self.worlds)

    @property
    def least_pool(self) -> int:
        """The least of `pools`: of the worlds of one layout only that with the least rest is worked out."""
        if self.is_measured or self.ground.has_states:
            return min(self.pools)  # whole slots of states may leave less of a greater rest
        fraction, rests = self.budget_fraction, dict[int, float]()
        for world in self.worlds:
            rest, layout = world.rest_gib(fraction), id(world.layout)
            rests[layout] = min(rest, rests.get(layout, rest))
        return min(
            layout.tokens(rests[id(layout)])
            for layout in self.ground.layouts
            if id(layout) in rests
        )

    @property
    def weights_gib(self) -> Range:
        """What the load leaves on the card, the draft's where it is loaded then."""
        if self.has_log or self.known is not None:
            return spread(world.weights_gib for world in self.worlds)
        return self.ground.weighing.weights_gib

    @property
    def load_gib(self) -> Range:
        """The most the load needs at once: a checkpoint that is quantized while loading is there whole before that."""
        after = self.weights_gib
        before = self.ground.weighing.unquantized_gib
        if before is None or self._was_loaded:
            return after
        # Whether they are there at the same time differs: one log has room for less, another ran out of memory.
        whole = most((after, before))
        return Range(after.low, whole.best, whole.high)

    @property
    def _was_loaded(self) -> bool:
        """Whether a boot of our own shows that this release loads these weights on these cards; how, differs between releases."""
        if self.known is None or self.known.boot.shipped or self.known.boot.flags is None:
            return False
        boot, engine = self.known.boot, self.profile.engine
        return (boot.version, boot.build) == (engine.version, engine.build)

    def states(self, world: Hypothesis) -> StateSlots | None:
        """The pool of states; `None` when no layer has one."""
        states = world.layout.states
        slots = world.layout.slots(world.rest_gib(self.budget_fraction))
        if states is None or slots is None or states.request_bytes == 0:
            return None
        from compiler.buffers import StateSlots  # noqa: PLC0415 - few plans have any

        return StateSlots(slots=slots, per_request=states.per_request, flag=states.flag)

    @cached_property
    def _shares(self) -> tuple[StateSlots, ...]:
        """The pool of states in each world; none when no layer has one."""
        if not self.ground.has_states:
            return ()
        return tuple(states for world in self.worlds if (states := self.states(world)))

    @property
    def admitted(self) -> int | None:
        """Requests whose states surely have room; `None` when no layer has one."""
        return min((each.requests for each in self._shares), default=None)

    @property
    def spare_slots(self) -> int | None:
        """Slots of states that are surely there beside those of the promise; `None` where no larger budget has more."""
        pools = [each.states for each in self.ground.layouts]
        if any(each is None or each.given is not None or not each.request_bytes for each in pools):
            return None
        promised = self.profile.parallel.share(self.profile.serve.concurrency)
        asked = self.launch.running_requests
        wanted = promised if asked is None else min(promised, asked)
        return min((each.slots - wanted * each.per_request for each in self._shares), default=None)


def _logged(measured: Measured) -> Iterator[tuple[float, float]]:
    """Free memory and weights of a log; the ends of the range are the digits it does not print."""
    before, after = measured.free_before_gib or 0.0, measured.free_after_gib or 0.0
    for slip, gone in ((0.0, 0.0), (-ROUNDING_GIB, UNLOGGED_GIB), (ROUNDING_GIB, 0.0)):
        free = before - slip
        yield free, free - (after + slip) + gone


def make_case(ground: Ground, *, fraction: float) -> Case:
    """A fraction, and the recorded boot that says most about it."""
    known = boots.nearest(
        ground.profile, ground.launch, ground.weighing.matching, fraction=fraction
    )
    return Case(ground=ground, known=known, fraction=fraction)
