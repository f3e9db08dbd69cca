"""One profile with everything known about it, at one fraction: what both budgets are worked out from."""

from __future__ import annotations

from attrs import frozen

from compiler.engines.engine import Facts, KnownBoot
from compiler.engines.sglang import boots, limits
from compiler.engines.sglang.launch import Launch, drafts_blocks, kv_bytes, launch
from compiler.engines.sglang.pool import (
    LAYER_SCALED,
    Cell,
    Hypothesis,
    Weights,
    draft_cells,
    hypotheses,
)
from compiler.facts import Draft, Evidence, Gpu, Model
from compiler.memory.attention import cell_bytes
from compiler.memory.tensors import weights_gib
from compiler.memory.weights import Split
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Case(Value):
    """What sizing needs, with nothing missing.

    Attributes:
        draft: the draft whose pool and weights count; `None` when none does.
        pricings: how the server may count that draft, likeliest first.
        known: the recorded boot that says most about this profile.
        is_measured: whether that boot is of exactly these settings.
    """

    profile: Profile
    gpu: Gpu
    model: Model
    draft: Draft | None
    launch: Launch
    pricings: tuple[str, ...]
    known: KnownBoot | None
    is_measured: bool
    fraction: float

    @property
    def evidence(self) -> Evidence:
        """How the pool is known."""
        if self.known is None:
            return Evidence.DERIVED
        return Evidence.MEASURED if self.is_measured else Evidence.CARRIED

    @property
    def free_gib(self) -> Range:
        """Free memory before the load, of the boot's own log where it has it."""
        if self.known is not None and self.known.boot.free_before_load_gib is not None:
            return Range.exactly(self.known.boot.free_before_load_gib)
        if self.gpu.free_before_load_gib is None:
            raise ValueError(f"nothing is known of the free memory of {self.gpu.id}")
        return self.gpu.free_before_load_gib

    def worlds(self) -> tuple[Hypothesis, ...]:
        """Every way things may be, the likeliest first."""
        known = self.known
        weights = Weights(
            derived_gib=weights_gib(
                self.model,
                split=Split(tensor=self.launch.ranks, expert=self.profile.parallel.expert),
            ),
            boot=known.boot if known else None,
            boot_cells=self._boot_cells(known) if known else (),
            same_pricing=known is not None and self._prices_alike(known),
        )
        cells = self._priced(self.launch.kv_bytes, self.draft, self.pricings)
        return tuple(hypotheses(self.free_gib, cells, weights))

    def tokens(self, world: Hypothesis) -> int:
        """The pool in one world; a boot of exactly these settings knows it in all of them."""
        if self.known is not None and self.is_measured:
            return self.known.boot.pool_tokens
        limit = self.profile.memory.max_pool_tokens
        return world.tokens(self.fraction, page=self.launch.page, limit=limit)

    def _boot_cells(self, known: KnownBoot) -> tuple[Cell, ...]:
        pricings = limits.draft_pricings(known.boot.algorithm, known.release)
        return self._priced(kv_bytes(known.boot.kv_dtype, self.model), known.draft, pricings)

    def _prices_alike(self, known: KnownBoot) -> bool:
        speculative = self.profile.speculative
        ours = (self.profile.engine.build, speculative.algorithm if speculative else None)
        return ours == (known.boot.build, known.boot.algorithm)

    def _priced(
        self, element_bytes: int, draft: Draft | None, pricings: tuple[str, ...]
    ) -> tuple[Cell, ...]:
        model, ranks = self.model, self.launch.attention_ranks
        target = cell_bytes(
            model.attention, layers=model.layers, element_bytes=element_bytes, ranks=ranks
        )
        if draft is None:
            return (
                Cell(pricing=LAYER_SCALED, priced_bytes=target, target_bytes=target, draft_bytes=0),
            )
        return draft_cells(
            target_bytes=target,
            target_layers=model.layers,
            draft_bytes=cell_bytes(
                draft.attention, layers=draft.layers, element_bytes=element_bytes, ranks=ranks
            ),
            draft_layers=draft.layers,
            pricings=pricings,
        )


def make_case(profile: Profile, facts: Facts, *, gpu: Gpu, model: Model, fraction: float) -> Case:
    """Put together what sizing needs."""
    algorithm = profile.speculative.algorithm if profile.speculative else None
    started = launch(profile, gpu=gpu, model=model, draft=facts.draft)
    known = boots.nearest(profile, started, facts.boots, fraction=fraction)
    differ = known is None or boots.differences(profile, started, known.boot, fraction=fraction)
    return Case(
        profile=profile,
        gpu=gpu,
        model=model,
        draft=facts.draft if drafts_blocks(profile) else None,
        launch=started,
        pricings=limits.draft_pricings(algorithm, facts.release),
        known=known,
        is_measured=not differ,
        fraction=fraction,
    )
