"""The static budget: how many tokens the KV pool will hold in one world, and what a world is.

The formula is the engine's own (0.5.11 model_executor/pool_configurator.py and model_runner_kv_cache_mixin.py):

    rest   = free_after_load - free_before_load x (1 - fraction)  =  free_before_load x fraction - weights
    rest  -= what is taken first, for images, adapters, or requests, and the states of layers that have one
    tokens = floor(rest / cell), whole pages, at most --max-total-tokens

What may be unknown: the free memory before the load, the weights, and how a private build prices its draft. Each
combination is one hypothesis; a range is what they give from least to most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from compiler.engines.sglang.states import StatePool
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
        priced_bytes: what the engine divides by; a fraction where a window's pool is a share of the other.
        target_bytes, draft_bytes: the entries it then allocates in the pools of target and draft.
        unpriced_target_bytes: of the target's entries, those the price leaves out.
    """

    pricing: str
    priced_bytes: float
    target_bytes: float
    draft_bytes: float
    unpriced_target_bytes: float = 0.0

    @property
    def draft_share_bytes(self) -> float:
        """What of the price is meant for the draft."""
        return self.priced_bytes - (self.target_bytes - self.unpriced_target_bytes)

    @property
    def beyond_bytes(self) -> float:
        """What it takes beyond the price; less than nothing where it takes less."""
        return self.target_bytes + self.draft_bytes - self.priced_bytes


@frozen(kw_only=True, eq=False, repr=False)
class Layout(Value):
    """How a rest becomes a pool, with nothing unknown but the rest.

    Attributes:
        taken: what is taken off the rest first, and filled, by its name, GiB: buffers of adapters, the cache of images, pools
            that are sized by requests.
        owed_gib: what pools of a fixed size take beyond that, once the rest is dealt out, GiB.
        states: the pool of states; `None` when no layer has one.
        added: slots that the release adds without memory for them.
        limit: `--max-total-tokens`, in slots of this pool.
    """

    cell: Cell
    page: int = 1
    taken: tuple[tuple[str, float], ...] = ()
    owed_gib: float = 0.0
    states: StatePool | None = None
    added: int = 0
    limit: int | None = None

    @property
    def taken_gib(self) -> float:
        """All that is taken off the rest before tokens and states are counted."""
        return sum(gib for _, gib in self.taken) if self.taken else 0.0

    def tokens(self, rest_gib: float) -> int:
        """Slots of the pool; 0 when nothing is left."""
        rest = rest_gib - self.taken_gib
        if self.states is not None:
            rest = self.states.split(rest).left_gib
        if rest <= 0:
            return 0
        if not self.cell.priced_bytes:
            return (self.limit or 0) // self.page * self.page
        tokens = int(int(rest * GIB) // self.cell.priced_bytes) + self.added
        if self.limit is not None:
            tokens = min(tokens, self.limit)
        return tokens // self.page * self.page

    def rests_gib(self, tokens: float) -> Iterator[float]:
        """The rests that give so many slots: what a recorded pool says about the world it was in."""
        left = (tokens - self.added) * self.cell.priced_bytes / GIB
        rests = (left,) if self.states is None else self.states.wholes_gib(left)
        yield from (each + self.taken_gib for each in rests)

    def slots(self, rest_gib: float) -> int | None:
        """Slots for states; `None` when no layer has one."""
        return None if self.states is None else self.states.split(rest_gib - self.taken_gib).slots

    def states_gib(self, rest_gib: float) -> float:
        """What the states take, GiB."""
        if self.states is None:
            return 0.0
        return max(0.0, self.states.split(rest_gib - self.taken_gib).taken_gib)


@frozen(kw_only=True, eq=False, repr=False)
class Hypothesis(Value):
    """One way the world may be: all the pool formula needs, without a doubt in it.

    Attributes:
        weights_gib: all that stands between the two measurements of free memory, the draft's where it is loaded then.
    """

    free_gib: float
    weights_gib: float
    layout: Layout

    @property
    def cell(self) -> Cell:
        """What a token costs."""
        return self.layout.cell

    def rest_gib(self, fraction: float) -> float:
        """What the static budget leaves for the pool, GiB."""
        return self.free_gib * fraction - self.weights_gib

    def tokens(self, fraction: float) -> int:
        """Slots of the pool."""
        return self.layout.tokens(self.rest_gib(fraction))

    def left_gib(self, tokens: int, *, fraction: float) -> float:
        """What is left on the card beside the weights and all pools, GiB.

        This is the reserve, with what the pricing gives back (a draft priced above its size) or takes (a draft not
        priced).
        """
        pools = tokens * (self.cell.target_bytes + self.cell.draft_bytes) / GIB
        rest = self.rest_gib(fraction)
        # Where the rest is too small for it the server ends there, for want of a pool.
        taken = min(self.layout.taken_gib, max(0.0, rest)) + self.layout.owed_gib
        return self.free_gib - self.weights_gib - taken - pools - self.layout.states_gib(rest)


def spread(figures: Iterable[float]) -> Range:
    """The range of figures given likeliest first."""
    several = tuple(figures)
    return Range(min(several), several[0], max(several))


def together(free: Range, weights: Range, *, fraction: float) -> Iterator[tuple[float, float]]:
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


def combine(
    budgets: Iterable[tuple[float, float]], layouts: Iterable[Layout]
) -> Iterator[Hypothesis]:
    """Every budget (free memory and weights, GiB) with every layout, both likeliest first."""
    several = tuple(layouts)
    for free, weights in budgets:
        for layout in several:
            yield Hypothesis(free_gib=free, weights_gib=weights, layout=layout)


def share_pricing(ours: Iterable[Layout], theirs: Iterable[Layout]) -> bool:
    """Whether a draft is counted in the same way in one of each."""
    found = {each.cell.pricing for each in ours}
    return not found.isdisjoint(each.cell.pricing for each in theirs)
