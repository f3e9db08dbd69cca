"""The static budget: how many tokens the KV pool will hold, over everything we do not know for sure.

The formula is the engine's own (SGLang 0.5.11 model_executor/pool_configurator.py and model_runner_kv_cache_mixin.py):

    rest   = free_after_load - free_before_load x (1 - fraction)  =  free_before_load x fraction - weights
    tokens = floor(rest / cell), whole pages, at most --max-total-tokens

Three things may be unknown: the free memory before the load, the weights, and how a private build prices its draft.
Each combination is one hypothesis; a range is what they give from least to most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from compiler.facts import Boot
from compiler.memory.weights import GIB
from compiler.ranges import Range
from compiler.value import Value


LAYER_SCALED = "layer-scaled"
EXACT = "exact"
NONE = "none"

PRICING: Mapping[str, str] = {
    LAYER_SCALED: "the draft's layers are priced like the target's",
    EXACT: "the draft is priced by its own heads",
    NONE: "the draft's layers are not priced at all",
}
"""The ways a release or build may count the draft in a token's bytes."""


@frozen(kw_only=True, eq=False, repr=False)
class Cell(Value):
    """Bytes one token costs of the budget under one pricing, and what it then really takes.

    Attributes:
        priced_bytes: what the engine divides by.
        target_bytes, draft_bytes: the entries it then allocates in the two pools.
    """

    pricing: str
    priced_bytes: int
    target_bytes: int
    draft_bytes: int

    @property
    def draft_share_bytes(self) -> int:
        """What of the price is meant for the draft."""
        return self.priced_bytes - self.target_bytes


@frozen(kw_only=True, eq=False, repr=False)
class Hypothesis(Value):
    """One way the world may be: all the pool formula needs, without a doubt in it."""

    free_gib: float
    weights_gib: float
    cell: Cell

    def rest_gib(self, fraction: float) -> float:
        """What the static budget leaves for the pool, GiB."""
        return self.free_gib * fraction - self.weights_gib

    def tokens(self, fraction: float, *, page: int, limit: int | None) -> int:
        """Slots of the pool."""
        tokens = int(max(0.0, self.rest_gib(fraction)) * GIB) // self.cell.priced_bytes
        if limit is not None:
            tokens = min(tokens, limit)
        return tokens // page * page

    def left_gib(self, tokens: int) -> float:
        """What is left on the card beside the weights and both pools, GiB.

        This is the reserve, with what the pricing gives back (a draft priced above its size) or takes (a draft not
        priced).
        """
        pools = tokens * (self.cell.target_bytes + self.cell.draft_bytes) / GIB
        return self.free_gib - self.weights_gib - pools


def draft_cells(
    *,
    target_bytes: int,
    target_layers: int,
    draft_bytes: int,
    draft_layers: int,
    pricings: Iterable[str],
) -> tuple[Cell, ...]:
    """The cell under each pricing; the layer scale is speculative/dflash_utils.py, lines 51-89."""
    priced = {
        LAYER_SCALED: -(-target_bytes * (target_layers + draft_layers) // target_layers),
        EXACT: target_bytes + draft_bytes,
        NONE: target_bytes,
    }
    return tuple(
        Cell(
            pricing=pricing,
            priced_bytes=priced[pricing],
            target_bytes=target_bytes,
            draft_bytes=draft_bytes,
        )
        for pricing in pricings
    )


@frozen(kw_only=True, eq=False, repr=False)
class Weights(Value):
    """What is known of the weights: their range from the tensors, or a boot that fixes them.

    Attributes:
        derived_gib: from the tensors; used when there is no boot.
        boot: a boot of the same model, GPU and layout.
        boot_cells: the cells that boot may have had, likeliest first.
        same_pricing: whether the boot priced its draft as the profile's server will, whichever way that is.
    """

    derived_gib: Range
    boot: Boot | None = None
    boot_cells: tuple[Cell, ...] = ()
    same_pricing: bool = False

    def candidates(self, *, free_gib: float, pricing: str) -> tuple[float, ...]:
        """Weights in GiB, the likeliest first."""
        if self.boot is None:
            known = self.derived_gib
            return (known.best, known.low, known.high)
        budget_gib = free_gib * self.boot.fraction
        return tuple(
            budget_gib - self.boot.pool_tokens * cell.priced_bytes / GIB
            for cell in self.boot_cells
            if not self.same_pricing or cell.pricing == pricing
        )


def hypotheses(free_gib: Range, cells: tuple[Cell, ...], weights: Weights) -> Iterator[Hypothesis]:
    """Every combination, the likeliest first; `cells` are given likeliest first."""
    for free in dict.fromkeys((free_gib.best, free_gib.low, free_gib.high)):
        for cell in cells:
            for weights_gib in weights.candidates(free_gib=free, pricing=cell.pricing):
                yield Hypothesis(free_gib=free, weights_gib=weights_gib, cell=cell)


def spread(figures: Iterable[float]) -> Range:
    """The range of figures given likeliest first."""
    several = tuple(figures)
    return Range(min(several), several[0], max(several))
