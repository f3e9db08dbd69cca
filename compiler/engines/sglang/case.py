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
from compiler.facts import Boot, Evidence, Gpu, Model
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
        return split_of(self.settings, self.launch, gpu=self.gpu)

    @property
    def has_log(self) -> bool:
        """Whether a log of this very start says what the weights are."""
        measured = self.facts.measured
        return measured.free_before_gib is not None and measured.free_after_gib is not None

    @cached_property
    def is_measured(self) -> bool:
        """Whether the boot is of exactly these settings."""
        if self.known is None or self.known.boot.shipped or self.has_log:
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
        """Free memory before the load: of the log, of the log of a boot of our own, or of the catalogue."""
        measured = self.facts.measured.free_before_gib
        if measured is not None:
            return Range.exactly(measured)
        own = None if self.known is None or self.known.boot.shipped else self.known.boot
        logged = None if own is None else self._logged_of(own)
        if logged is not None:
            return logged
        if self.gpu.free_before_load_gib is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return self.gpu.free_before_load_gib

    @cached_property
    def worlds(self) -> tuple[Hypothesis, ...]:
        """Every way things may be, the likeliest first."""
        return tuple(self._make_worlds())

    def _make_worlds(self) -> Iterator[Hypothesis]:
        if self.has_log:
            yield from combine(_logged(self.facts.measured), self.layouts)
        elif self.known is not None:
            yield from self._carried(self.known)
        else:
            doubts = _together(self.free_gib, self.weights_gib, fraction=self.budget_fraction)
            yield from combine(doubts, self.layouts)

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
            needed = [world.weights_gib for world in self.worlds]
            after = Range(min(needed), needed[0], max(needed))
        loaded = self.facts.model
        if loaded is None or loaded is self.model or not quantizes_late(self.settings):
            return after
        # Whether they are there at the same time differs: one log has room for less, another ran out of memory.
        whole = most((after, weights_gib(loaded, split=self.split)))
        return Range(after.low, whole.best, whole.high)

    def _carried(self, known: KnownBoot) -> Iterator[Hypothesis]:
        """Weights from the recorded pool: what they must have been for it to come out as it did."""
        start = boots.start_of(known, settings=self.settings, gpu=self.gpu, model=self.model)
        if start is None:
            return
        boot, rule = known.boot, self.launch.rule
        alike = (self.profile.engine.build, self.launch.guess.algorithm, rule.since) == (
            boot.build,
            boot.algorithm,
            start.launch.rule.since,
        )
        for free, budget in self._budgets(boot, start):
            for layout in self.layouts:
                for theirs in start.layouts:
                    if alike and theirs.cell.pricing != layout.cell.pricing:
                        continue
                    # A recorded pool is a whole number of pages: the rest was up to one more.
                    for part in (0.5, 0.0, 1.0):
                        rest = theirs.rest_gib(boot.pool_tokens + part * theirs.page)
                        yield Hypothesis(free_gib=free, weights_gib=budget - rest, layout=layout)

    def _budgets(self, boot: Boot, start: boots.Start) -> Iterator[tuple[float, float]]:
        """Our free memory, and the boot's static budget with our draft in it, GiB, the likeliest first."""
        fraction = boot.fraction * start.launch.fraction_scale
        drafts = self._drafts_moved(start)
        if boot.shipped:
            # Two cards: neither is known, each for reasons of its own. What is gone between load and pool may differ too.
            theirs = self._logged_of(boot) or self.free_gib
            budget = Range(*(each * fraction for each in (theirs.low, theirs.best, theirs.high)))
            budget += drafts + Range(-_UNLOGGED_GIB, 0.0, _UNLOGGED_GIB)
            yield from _together(self.free_gib, budget, fraction=self.budget_fraction)
            return
        for free in dict.fromkeys((self.free_gib.best, self.free_gib.low, self.free_gib.high)):
            for moved in dict.fromkeys((drafts.best, drafts.low, drafts.high)):
                yield free, free * fraction + moved

    def _drafts_moved(self, start: boots.Start) -> Range:
        """What our draft weighs more than the boot's, where they are loaded before the pool is sized; GiB."""
        ours, theirs = boots.loaded_first(self.launch), boots.loaded_first(start.launch)
        if ours == theirs:
            return Range.exactly(0.0)
        added, gone = (
            Range.exactly(0.0)
            if each is None
            else draft_weights_gib(each, self.model, split=self.split)
            for each in (ours, theirs)
        )
        return added + Range(-gone.high, -gone.best, -gone.low)

    @staticmethod
    def _logged_of(boot: Boot) -> Range | None:
        logged = boot.free_before_load_gib
        if logged is None:
            return None
        return Range(logged - _ROUNDING_GIB, logged, logged + _ROUNDING_GIB)

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


def _together(free: Range, weights: Range, *, fraction: float) -> Iterator[tuple[float, float]]:
    """Free memory and weights, the likeliest first, then the least and the most of the rest that they leave.

    The two are not known for reasons of their own, so that their doubts add up as squares do.
    """
    yield free.best, weights.best
    for card, load in (
        (free.low - free.best, weights.high - weights.best),
        (free.high - free.best, weights.low - weights.best),
    ):
        doubt = math.hypot(card * fraction, load)
        share = 1.0 if doubt == 0.0 else abs(card * fraction) / doubt
        other = 1.0 if doubt == 0.0 else abs(load) / doubt
        yield free.best + card * share, weights.best + load * other


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
        known=boots.nearest(profile, started, facts.boots, fraction=fraction, model=model),
        fraction=fraction,
    )
