"""One profile with everything known about it but its fraction: what all of its sizes share, worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from attrs import field, frozen

from compiler.engines.engine import Facts, KnownBoot
from compiler.engines.sglang import boots
from compiler.engines.sglang.drafts import draft_weights_gib
from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.layouts import layouts
from compiler.engines.sglang.loading import as_loaded, quantizes_late
from compiler.engines.sglang.pool import Hypothesis, Layout
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.splits import split_of
from compiler.facts import Gpu, Model
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import Split
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


# A log prints GiB with two decimals.
ROUNDING_GIB = 0.005


@frozen(kw_only=True, eq=False, repr=False)
class Ground(Value):
    """What sizing needs, with nothing missing but the fraction.

    Attributes:
        layouts: how a rest becomes a pool, for each way the server may count its draft, likeliest first.
    """

    settings: Settings
    facts: Facts
    gpu: Gpu
    model: Model
    launch: Launch
    layouts: tuple[Layout, ...]
    _carried: dict[str, tuple[Hypothesis, ...]] = field(factory=dict, init=False, eq=False)

    @property
    def profile(self) -> Profile:
        """The profile."""
        return self.settings.profile

    @cached_property
    def split(self) -> Split:
        """How weights are split over ranks."""
        return split_of(self.settings, self.launch)

    @property
    def has_log(self) -> bool:
        """Whether a log of this very start says what the weights are."""
        measured = self.facts.measured
        return measured.free_before_gib is not None and measured.free_after_gib is not None

    def free_gib(self, known: KnownBoot | None) -> Range:
        """Free memory before the load: of the log, of the boot's own log, or of the catalogue."""
        measured = self.facts.measured.free_before_gib
        if measured is not None:
            return Range.exactly(measured)
        if known is not None and known.boot.free_before_load_gib is not None:
            logged = known.boot.free_before_load_gib
            return Range(logged - ROUNDING_GIB, logged, logged + ROUNDING_GIB)
        if self.gpu.free_before_load_gib is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return self.gpu.free_before_load_gib

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

    @cached_property
    def unquantized_gib(self) -> Range | None:
        """What a checkpoint takes that is quantized while loading; `None` for any other."""
        loaded = self.facts.model
        if loaded is None or loaded is self.model or not quantizes_late(self.settings):
            return None
        return weights_gib(loaded, split=self.split)

    def carried(self, known: KnownBoot) -> tuple[Hypothesis, ...]:
        """Weights from the recorded pool: what they must have been for it to come out as it did."""
        name = known.boot.name
        if name not in self._carried:
            self._carried[name] = tuple(self._carry(known))
        return self._carried[name]

    def _carry(self, known: KnownBoot) -> Iterator[Hypothesis]:
        boot = known.boot
        of_boot = boots.layouts_of(known, settings=self.settings, gpu=self.gpu, model=self.model)
        alike = (self.profile.engine.build, self.launch.guess.algorithm) == (
            boot.build,
            boot.algorithm,
        )
        free = self.free_gib(known)
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


def make_ground(settings: Settings, facts: Facts, *, started: Launch) -> Ground:
    """Put together what sizing needs; GPU and model are known."""
    if facts.gpu is None or facts.model is None:
        raise ValueError("nothing to size without a GPU and a model")
    model = as_loaded(facts.model, settings)
    return Ground(
        settings=settings,
        facts=facts,
        gpu=facts.gpu,
        model=model,
        launch=started,
        layouts=layouts(settings, started, model=model, release=facts.release),
    )
