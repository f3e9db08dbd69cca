"""One profile with everything known about it, at one fraction: what both budgets are worked out from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

from attrs import frozen

from compiler.engines.engine import Facts, KnownBoot, Measured
from compiler.engines.sglang import boots
from compiler.engines.sglang.drafts import draft_weights_gib
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.layouts import layouts
from compiler.engines.sglang.loading import as_loaded, quantizes_late
from compiler.engines.sglang.pool import Hypothesis, Layout, combine
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.splits import split_of
from compiler.facts import Evidence, Gpu, Model
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import Split
from compiler.profile import Profile
from compiler.ranges import Range, most
from compiler.value import Value


# A log prints GiB with two decimals.
_ROUNDING_GIB = 0.005
# What may be gone between that line and the measurement of the pool: code of kernels that is loaded on first use, small
# tensors, and another rank that has less. A bound we reason about; twenty public logs of discrete GPUs show 0.00 to 0.08.
_UNLOGGED_GIB = 0.1


@frozen(kw_only=True, eq=False, repr=False)
class Case(Value):
    """What sizing needs, with nothing missing.

    Attributes:
        layouts: how a rest becomes a pool, for each way the server may count its draft, likeliest first.
        known: the recorded boot that says most about this profile.
        fraction: as it is given; `budget_fraction` is what the release makes of it.
    """

    settings: Settings
    facts: Facts
    gpu: Gpu
    model: Model
    launch: Launch
    layouts: tuple[Layout, ...]
    known: KnownBoot | None
    fraction: float

    @property
    def profile(self) -> Profile:
        """The profile."""
        return self.settings.profile

    @property
    def budget_fraction(self) -> float:
        """The share of the free memory that weights and pool really get."""
        return self.fraction * self.launch.fraction_scale

    @cached_property
    def split(self) -> Split:
        """How weights are split over ranks."""
        return split_of(self.settings, self.launch)

    @property
    def has_log(self) -> bool:
        """Whether a log of this very start says what the weights are."""
        measured = self.facts.measured
        return measured.free_before_gib is not None and measured.free_after_gib is not None

    @property
    def is_measured(self) -> bool:
        """Whether the boot is of exactly these settings."""
        if self.known is None or self.has_log:
            return False
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
        """Free memory before the load: of the log, of the boot's own log, or of the catalogue."""
        measured = self.facts.measured.free_before_gib
        if measured is not None:
            return Range.exactly(measured)
        if self.known is not None and self.known.boot.free_before_load_gib is not None:
            logged = self.known.boot.free_before_load_gib
            return Range(logged - _ROUNDING_GIB, logged, logged + _ROUNDING_GIB)
        if self.gpu.free_before_load_gib is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return self.gpu.free_before_load_gib

    def worlds(self) -> tuple[Hypothesis, ...]:
        """Every way things may be, the likeliest first."""
        return tuple(self._make_worlds())

    def _make_worlds(self) -> Iterator[Hypothesis]:
        if self.has_log:
            yield from combine(_logged(self.facts.measured), self.layouts)
        elif self.known is not None:
            yield from self._carried(self.known)
        else:
            yield from combine(self._derived(), self.layouts)

    def _derived(self) -> Iterator[tuple[float, float]]:
        """Free memory and weights from the tensors, the likeliest first, then the least and the most of the rest.

        The two are not known for reasons of their own, so that their doubts add up as squares do.
        """
        weights, free, fraction = self.weights_gib, self.free_gib, self.budget_fraction
        yield free.best, weights.best
        for card, load in (
            (free.low - free.best, weights.high - weights.best),
            (free.high - free.best, weights.low - weights.best),
        ):
            doubt = math.hypot(card * fraction, load)
            share = 1.0 if doubt == 0.0 else abs(card * fraction) / doubt
            other = 1.0 if doubt == 0.0 else abs(load) / doubt
            yield free.best + card * share, weights.best + load * other

    @cached_property
    def weights_gib(self) -> Range:
        """What the weights take, GiB, from the checkpoint's headers or the catalogue's shapes."""
        measure = self.facts.weights
        if measure is None:
            weights = weights_gib(self.model, split=self.split)
        else:
            weights = measure(self.split)
        if self.launch.rule.draft_inside:
            weights += draft_weights_gib(self.launch.guess, self.model, split=self.split)
        return weights

    @property
    def load_gib(self) -> Range:
        """The most the load needs at once: a checkpoint that is quantized while loading is there whole before that."""
        after = self.weights_gib
        if self.has_log or self.known is not None:
            needed = [world.weights_gib for world in self.worlds()]
            after = Range(min(needed), needed[0], max(needed))
        loaded = self.facts.model
        if loaded is None or loaded is self.model or not quantizes_late(self.settings):
            return after
        # Whether they are there at the same time differs: one log has room for less, another ran out of memory.
        whole = most((after, weights_gib(loaded, split=self.split)))
        return Range(after.low, whole.best, whole.high)

    def _carried(self, known: KnownBoot) -> Iterator[Hypothesis]:
        """Weights from the recorded pool: what they must have been for it to come out as it did."""
        boot = known.boot
        of_boot = boots.layouts_of(known, settings=self.settings, gpu=self.gpu, model=self.model)
        alike = (self.profile.engine.build, self.launch.guess.algorithm) == (
            boot.build,
            boot.algorithm,
        )
        free = self.free_gib
        for each in dict.fromkeys((free.best, free.low, free.high)):
            budget = each * boot.fraction * self.launch.fraction_scale
            for layout in self.layouts:
                for theirs in of_boot:
                    if alike and theirs.cell.pricing != layout.cell.pricing:
                        continue
                    # A recorded pool is a whole number of pages: the rest was up to one more.
                    for part in (0.5, 0.0, 1.0):
                        rest = theirs.rest_gib(boot.pool_tokens + part * theirs.page)
                        yield Hypothesis(free_gib=each, weights_gib=budget - rest, layout=layout)

    def tokens(self, world: Hypothesis) -> int:
        """The pool in one world; a boot of exactly these settings knows it in all of them."""
        if self.known is not None and self.is_measured:
            return self.known.boot.pool_tokens
        return world.tokens(self.budget_fraction)

    def state_requests(self, world: Hypothesis) -> int | None:
        """Most requests at once that the pool of states admits; `None` when no layer has a state."""
        states = world.layout.states
        slots = world.layout.slots(world.rest_gib(self.budget_fraction))
        if states is None or slots is None or states.request_bytes == 0:
            return None
        return max(0, slots // states.per_request)


def _logged(measured: Measured) -> Iterator[tuple[float, float]]:
    """Free memory and weights of a log; the ends of the range are the digits it does not print."""
    before, after = measured.free_before_gib or 0.0, measured.free_after_gib or 0.0
    for slip, gone in ((0.0, 0.0), (-_ROUNDING_GIB, _UNLOGGED_GIB), (_ROUNDING_GIB, 0.0)):
        free = before - slip
        yield free, free - (after + slip) + gone


def make_case(settings: Settings, facts: Facts, *, started: Launch, fraction: float) -> Case:
    """Put together what sizing needs; GPU and model are known."""
    if facts.gpu is None or facts.model is None:
        raise ValueError("nothing to size without a GPU and a model")
    gpu, model, profile = facts.gpu, as_loaded(facts.model, settings), settings.profile
    return Case(
        settings=settings,
        facts=facts,
        gpu=gpu,
        model=model,
        launch=started,
        layouts=layouts(settings, started, model=model, release=facts.release),
        known=boots.nearest(profile, started, facts.boots, fraction=fraction),
        fraction=fraction,
    )
