"""The figures that a verdict and its findings are about, by the names that they have in PLAN.md and plan.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.memory.outcome import POOL_CODES, RESERVE_CODES
from compiler.why.influence import Source


VERDICT = frozenset({"verdict", "meaning"})
"""What says the verdict."""
_OF_POOL = ("pool", "pool.required_tokens", "pool.best", "pool.low")
_OF_RESERVE = ("margin", "reserve_margin_gib.best", "reserve_margin_gib.low")
FIGURES = (*_OF_POOL, *_OF_RESERVE)
"""What the verdict hangs on, in either file."""
JUDGED = {
    **dict.fromkeys(POOL_CODES.values(), _OF_POOL),
    **dict.fromkeys(RESERVE_CODES.values(), _OF_RESERVE),
}
"""By finding, what of it that one judges."""


def of_figures(
    influence: Mapping[str, tuple[Source, ...]], *, of: Sequence[str] | None = None
) -> tuple[Source, ...]:
    """What the pool and the reserve depend on, or one of them, in either file."""
    names = FIGURES if of is None else of
    several = [source for name in names for source in influence.get(name, ())]
    return tuple(dict.fromkeys(several))
