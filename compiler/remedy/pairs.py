"""Which levers belong together: one row a pair, each tried where neither of its levers is enough alone."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from compiler.plan import Plan
from compiler.remedy.change import Budget, Lever
from compiler.remedy.levers import (
    FEWER_REQUESTS,
    LOWER_FRACTION,
    MORE_GPUS,
    MORE_REQUESTS,
    NARROW_CACHE,
    NO_DRAFT,
    RAISE_CAP,
    RAISE_FRACTION,
    SHORTER_CONTEXT,
    SMALLER_CHUNK,
    SMALLER_GRAPHS,
    SPREAD_ATTENTION,
)
from compiler.remedy.raw import fewer_adapters
from compiler.remedy.saying import reserve_moves
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Pair(Value):
    """Two levers that belong together: the first mends one budget at the price of the other, or half of it.

    Attributes:
        advised: the budgets whose refusal shows it.
        lead: what the two do, for the help of a refusal.
        then: where the second in its turn leaves the other budget short, what may mend that: the first that does.
    """

    first: Lever
    second: Lever
    then: tuple[Lever, ...] = ()
    advised: Budget = Budget.NONE
    lead: str

    def gives(self, before: Plan, after: Plan) -> str:
        """What they do together."""
        return f"{self.lead}; {reserve_moves(before, after)}"


_ROOM = (FEWER_REQUESTS, SMALLER_GRAPHS, SMALLER_CHUNK)
"""What makes room in the reserve that a higher fraction leaves short."""

_PAIRS = (
    Pair(first=RAISE_CAP, second=RAISE_FRACTION, advised=Budget.POOL, lead="the cap is not all"),
    Pair(
        first=RAISE_FRACTION,
        second=FEWER_REQUESTS,
        advised=Budget.POOL,
        lead="fewer requests make room",
    ),
    Pair(
        first=RAISE_FRACTION,
        second=SMALLER_CHUNK,
        advised=Budget.POOL,
        lead="slower starts make room",
    ),
    Pair(
        first=NARROW_CACHE,
        second=RAISE_FRACTION,
        then=_ROOM,
        advised=Budget.POOL,
        lead="a narrower cache, and the least for the pool",
    ),
    Pair(
        first=SPREAD_ATTENTION,
        second=RAISE_FRACTION,
        then=_ROOM,
        advised=Budget.POOL,
        lead="a pool in each group, and the least for it",
    ),
    Pair(
        first=MORE_REQUESTS,
        second=LOWER_FRACTION,
        lead="as many run as are promised, and a lower fraction leaves room for them",
    ),
    Pair(
        first=NARROW_CACHE,
        second=LOWER_FRACTION,
        lead="a narrower cache leaves room for a lower fraction",
    ),
    Pair(first=NARROW_CACHE, second=FEWER_REQUESTS, lead="a narrower cache, and fewer requests"),
    Pair(
        first=NO_DRAFT,
        second=RAISE_FRACTION,
        then=_ROOM,
        lead="no draft, and the least for the pool",
    ),
    Pair(
        first=LOWER_FRACTION,
        second=SHORTER_CONTEXT,
        lead="a lower fraction, and the context that its pool holds",
    ),
    Pair(first=MORE_GPUS, second=LOWER_FRACTION, lead="more GPUs leave room for a lower fraction"),
)


def pairs_of(plan: Plan) -> Iterator[Pair]:
    """Pairs, each tried where neither of its levers is enough alone: those of typed settings, then those of a plan's own levers."""
    yield from (each for each in _PAIRS if each.first.applies(plan))
    if plan.adapters is not None:
        yield Pair(
            first=LOWER_FRACTION,
            second=fewer_adapters(plan.adapters),
            advised=Budget.RESERVE,
            lead="a lower fraction, and fewer adapters in one batch make room for it",
        )
