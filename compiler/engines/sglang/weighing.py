"""What is free on a card and what the weights take of it: of tensors and drafts, of a log, or of what recorded boots say.

Nothing of it hangs on what is served or on how the rest is shared out: `ground` has one for all profiles that differ in that alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from compiler.engines.engine import Facts, KnownBoot
from compiler.engines.sglang import boots
from compiler.engines.sglang.allreduce import spared_gib, with_more
from compiler.engines.sglang.doubts import ROUNDING_GIB, doubt
from compiler.engines.sglang.drafts import given_up_gib, loaded_gib
from compiler.engines.sglang.features import handed_over_gib
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.loading import quantizes_late
from compiler.engines.sglang.offloading import offloaded_gib
from compiler.engines.sglang.pool import Hypothesis, Layout, share_pricing, together
from compiler.engines.sglang.settings import Settings, settings_of
from compiler.engines.sglang.speculation import Speculation
from compiler.engines.sglang.splits import split_of
from compiler.facts import Boot, Gpu, Model
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import Split
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


# What may be gone between that line and the measurement of the pool: code of kernels that is loaded on first use, small
# tensors, and another rank that has less. A bound we reason about; twenty public logs of discrete GPUs show 0.00 to 0.08.
UNLOGGED_GIB = 0.1
# A driver maps memory in pieces of 2 MiB (cuMemGetAllocationGranularity; PyTorch rounds its segments to the same,
# c10/cuda/CUDACachingAllocator.cpp, kRoundLarge), so two starts may read free memory one piece apart.
DRIVER_PAGE_GIB = 2 / 1024


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Weighing(Value):
    """What is known of a card before the pool is sized.

    Attributes:
        settings: with nothing of what is served, nor of how the rest is shared out.
        launch: likewise.
        layouts: how a rest becomes a pool, for each way the server may count its draft, likeliest first.
    """

    settings: Settings
    facts: Facts
    gpu: Gpu
    model: Model
    launch: Launch
    layouts: tuple[Layout, ...]
    _carried: dict[tuple[str, float | None], tuple[Hypothesis, ...]] = field(
        factory=dict, init=False, eq=False
    )

    @property
    def profile(self) -> Profile:
        """The profile, as far as it matters here."""
        return self.settings.profile

    @cached_property
    def matching(self) -> tuple[KnownBoot, ...]:
        """The recorded boots that fix its weights."""
        return tuple(known for known in self._alike if known.boot.name not in self.doubted)

    @cached_property
    def _alike(self) -> tuple[KnownBoot, ...]:
        return boots.matching(self.profile, self.facts.boots, model=self.model)

    @cached_property
    def doubted(self) -> Mapping[str, str]:
        """The boots that would fix them, and cannot be of this model on this card: name -> why, a clause; see `doubts`."""
        doubts = ((known.boot.name, self._doubt(known)) for known in self._alike)
        return {name: doubt for name, doubt in doubts if doubt is not None}

    def _doubt(self, known: KnownBoot) -> str | None:
        """Why a boot's figures cannot be; see `doubts`."""
        start = boots.start_of(known, self.facts, settings=self.settings, model=self.model)
        return doubt(
            known.boot,
            start,
            total_mib=self.gpu.total_mib,
            free=self.free_gib(known),
            tensors=self.weights_gib,
            drafts=Range.exactly(0.0) if start is None else self._drafts_moved(start),
        )

    @cached_property
    def split(self) -> Split:
        """How weights are split over ranks."""
        return split_of(self.settings, self.launch, gpu=self.gpu, model=self.model)

    @property
    def has_log(self) -> bool:
        """Whether a log of this very start says what the weights are."""
        measured = self.facts.measured
        return measured.free_before_gib is not None and measured.free_after_gib is not None

    def free_gib(self, known: KnownBoot | None) -> Range:
        """Free memory before the load: of the log, of the log of a boot of our own, or of the catalogue."""
        measured = self.facts.measured.free_before_gib
        if measured is not None:
            return Range.exactly(measured)
        own = None if known is None or known.boot.shipped else known
        logged = None if own is None else _logged_of(own.boot)
        if own is not None and logged is not None:
            return with_more(logged, self._spared_more_gib(own), self.gpu)
        parallel = self.profile.parallel
        alone = self.gpu.free_alone_gib if parallel.tensor * parallel.pipeline == 1 else None
        free = alone or self.gpu.free_before_load_gib
        if free is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return with_more(free, self._spared_gib, self.gpu) if self.gpu.shipped else free

    @cached_property
    def _spared_gib(self) -> float:
        return spared_gib(self.settings, self.gpu)

    def _spared_more_gib(self, known: KnownBoot) -> float:
        """What our start leaves free of a card that the recorded one did not, GiB."""
        start = boots.start_of(known, self.facts, settings=self.settings, model=self.model)
        if start is None:
            return 0.0
        return self._spared_gib - spared_gib(settings_of(start.profile, known.release), self.gpu)

    @cached_property
    def moved_gib(self) -> Range:
        """What of the weights stands in host memory, GiB."""
        return offloaded_gib(self.settings, self.model, split=self.split)

    @cached_property
    def weights_gib(self) -> Range:
        """What the weights take, GiB, from the checkpoint's headers or the catalogue's shapes, and what comes beside them."""
        measure = self.facts.weights
        if measure is None:
            weights = weights_gib(self.model, split=self.split)
        else:
            weights = measure(self.split)
        if self.launch.rule.draft_inside:
            weights += self._loaded_gib(self.launch.guess)
        weights += handed_over_gib(self.settings, self.launch)
        moved = self.moved_gib
        return Range(
            max(0.0, weights.low - moved.high),
            max(0.0, weights.best - moved.best),
            weights.high - moved.low,
        )

    @cached_property
    def released_gib(self) -> float:
        """What of the weights is freed once the pool is sized, GiB: the ends that the draft gives up."""
        if not self.launch.rule.draft_inside:
            return 0.0
        return given_up_gib(self.launch.guess, self.model, split=self.split).low

    def _loaded_gib(self, guess: Speculation) -> Range:
        """What a draft has loaded when the pool is sized, GiB."""
        return loaded_gib(guess, self.model, split=self.split, ranks=self.launch.attention_ranks)

    @cached_property
    def unquantized_gib(self) -> Range | None:
        """What a checkpoint takes that is quantized while loading; `None` for any other."""
        loaded = self.facts.model
        if loaded is None or loaded.quantization is not None or not quantizes_late(self.settings):
            return None
        return weights_gib(loaded, split=self.split)

    def carried(self, known: KnownBoot, *, fraction: float) -> tuple[Hypothesis, ...]:
        """Weights from the recorded pool: what they must have been for it to come out as it did.

        `fraction` is the share that weights and pool really get; between two cards it decides what is likely, and on the
        same ones whether this start reads the memory that the recorded one read.
        """
        again = self._is_of(known, fraction)
        key = (known.boot.name, fraction if known.boot.shipped or again else None)
        if key not in self._carried:
            self._carried[key] = tuple(self._carry(known, fraction))
        return self._carried[key]

    def _is_of(self, known: KnownBoot, fraction: float) -> bool:
        """Whether the share is the recorded start's own."""
        return fraction == known.boot.fraction * self.launch.fraction_scale

    def _carry(self, known: KnownBoot, fraction: float) -> Iterator[Hypothesis]:
        start = boots.start_of(known, self.facts, settings=self.settings, model=self.model)
        if start is None:
            return
        boot, rule = known.boot, self.launch.rule
        alike = (self.profile.engine.build, self.launch.guess.algorithm, rule.since) == (
            boot.build,
            boot.algorithm,
            start.launch.rule.since,
        )
        own = self.free_gib(known)
        doubt = own.high - own.low
        piece = 0.0 if alike and self._is_of(known, fraction) else DRIVER_PAGE_GIB
        priced_alike = alike and share_pricing(self.layouts, start.layouts)
        for free, budget in self._budgets(known, start, fraction):
            for layout in self.layouts:
                for theirs in start.layouts:
                    if priced_alike and theirs.cell.pricing != layout.cell.pricing:
                        continue
                    # A recorded pool is a whole number of pages: the rest was up to one more.
                    for part, slip in ((0.5, 0.0), (0.0, -piece), (1.0, piece)):
                        rests = theirs.rests_gib(boot.pool_tokens + part * theirs.page)
                        whole = [budget - rest - slip for rest in rests]
                        for weights in self._likely(whole, doubt_gib=doubt):
                            yield Hypothesis(free_gib=free, weights_gib=weights, layout=layout)

    def _likely(self, weights: Sequence[float], *, doubt_gib: float) -> Sequence[float]:
        """Those that are as near to the model's tensors as what is free is known, the middle one first.

        States take whole slots, so that several rests leave the same pool. Nothing tells these apart, and the middle is off
        by least, whichever it was.
        """
        if len(weights) == 1:
            return weights
        tensors = self.weights_gib
        low, high = tensors.low - doubt_gib, tensors.high + doubt_gib
        nearest = sorted(weights, key=lambda each: abs(each - tensors.best))
        near = [each for each in nearest if low <= each <= high]
        if not near:
            return nearest[:1]
        middle = sorted(near)[len(near) // 2]
        return sorted(near, key=lambda each: abs(each - middle))

    def _budgets(
        self, known: KnownBoot, start: boots.Start, fraction: float
    ) -> Iterator[tuple[float, float]]:
        """Our free memory, and the boot's static budget with our draft in it, GiB, the likeliest first."""
        boot, free = known.boot, self.free_gib(known)
        share = boot.fraction * start.launch.fraction_scale
        drafts, more = self._drafts_moved(start), self._spared_more_gib(known)
        if boot.shipped:
            # Two cards: neither is known, each for reasons of its own. What is gone between load and pool may differ too.
            theirs = _logged_of(boot) or with_more(free, -more, self.gpu)
            budget = Range(*(each * share for each in (theirs.low, theirs.best, theirs.high)))
            budget += drafts + Range(-UNLOGGED_GIB, 0.0, UNLOGGED_GIB)
            yield from together(free, budget, fraction=fraction)
            return
        for each in dict.fromkeys((free.best, free.low, free.high)):
            for moved in dict.fromkeys((drafts.best, drafts.low, drafts.high)):
                yield each, (each - more) * share + moved

    def _drafts_moved(self, start: boots.Start) -> Range:
        """What our draft weighs more than the boot's, where they are loaded before the pool is sized; GiB."""
        ours, theirs = boots.loaded_first(self.launch), boots.loaded_first(start.launch)
        if ours == theirs:
            return Range.exactly(0.0)
        added, gone = (
            Range.exactly(0.0) if each is None else self._loaded_gib(each)
            for each in (ours, theirs)
        )
        return added + Range(-gone.high, -gone.best, -gone.low)


def _logged_of(boot: Boot) -> Range | None:
    logged = boot.free_before_load_gib
    if logged is None:
        return None
    return Range(logged - ROUNDING_GIB, logged, logged + ROUNDING_GIB)
