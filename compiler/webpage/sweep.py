"""What pool and reserve become over a range of fractions and of contexts, all else as the profile says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from attrs import evolve, frozen

from compiler.plan import Balance, Plan
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


Weigh = Callable[[Profile], Balance | None]
"""What both budgets of a profile with other settings come to."""

# Below half, the weights of most models do not fit at all.
_FRACTIONS = tuple(each / 100 for each in range(50, 99, 2))
_CONTEXTS = 16
_SEEN = 0.005
"""Less than a pixel of a chart, as a share of its height."""


@frozen(kw_only=True, eq=False, repr=False)
class Point(Value):
    """One place of a sweep: `at` is its fraction or its context."""

    at: float
    pool_tokens: Range
    required_tokens: int
    available_gib: Range
    needed_gib: Range


@frozen(kw_only=True, eq=False, repr=False)
class Sweep(Value):
    """Both sweeps of a plan; the points lie in order, and those that have no pool at all are left out.

    Between two of them everything is a straight line, as far as a drawing shows.
    """

    by_fraction: tuple[Point, ...]
    by_context: tuple[Point, ...]


def sweep(plan: Plan, *, weigh: Weigh) -> Sweep:
    """Weigh a service over fractions and contexts; without a memory plan there is nothing to sweep."""
    if plan.memory is None:
        return Sweep(by_fraction=(), by_context=())
    profile = evolve(
        plan.profile, memory=evolve(plan.profile.memory, fraction=plan.memory.fraction)
    )
    return Sweep(
        by_fraction=tuple(
            _points(_FRACTIONS, plan.memory.fraction, profile, _with_fraction, weigh)
        ),
        by_context=tuple(
            _points(
                _contexts(plan), float(plan.profile.serve.tokens), profile, _with_context, weigh
            )
        ),
    )


def _points(
    places: Sequence[float],
    own: float,
    profile: Profile,
    change: Callable[[Profile, float], Profile],
    weigh: Weigh,
) -> Iterator[Point]:
    """The points that a drawing needs: all at which a line bends, and few where it is straight."""

    @cache
    def at(place: float) -> Point | None:
        balance = weigh(change(profile, place))
        if balance is None or balance.tokens.high <= 0:
            return None
        return Point(
            at=place,
            pool_tokens=balance.tokens,
            required_tokens=balance.required_tokens,
            available_gib=balance.reserve.available_gib,
            needed_gib=balance.reserve.needed_gib,
        )

    def asked(low: int, high: int) -> Iterator[float]:
        middle = (low + high) // 2
        if middle == low:
            return
        whole = high - low == len(places) - 1  # two straight halves may still make a corner
        if whole or not _straight(*(at(places[each]) for each in (low, middle, high))):
            yield from asked(low, middle)
            yield places[middle]
            yield from asked(middle, high)

    needed = sorted({places[0], *asked(0, len(places) - 1), places[-1], own})
    yield from (point for each in needed if (point := at(each)) is not None)


def _straight(low: Point | None, middle: Point | None, high: Point | None) -> bool:
    """Whether the middle one lies on the line between the others, as far as a drawing shows."""
    if low is None or middle is None or high is None:
        return low is middle is high
    share = (middle.at - low.at) / (high.at - low.at)
    return all(
        abs(b - (a + share * (c - a))) <= _SEEN * max(abs(a), abs(b), abs(c))
        for a, b, c in zip(_figures(low), _figures(middle), _figures(high), strict=True)
    )


def _figures(point: Point) -> tuple[float, ...]:
    ranges = (point.pool_tokens, point.available_gib, point.needed_gib)
    return (
        point.required_tokens,
        *(figure for each in ranges for figure in (each.low, each.best, each.high)),
    )


def _contexts(plan: Plan) -> list[float]:
    """From a quarter of the promise to twice of it, or to what the model was made for where that is less."""
    own = plan.profile.serve.tokens
    native = plan.model.context if plan.model is not None else None
    most = max(own, min(2 * own, native or 2 * own))
    least = own // 4
    step = max(1, (most - least) // (_CONTEXTS - 1))
    return [float(each) for each in range(least, most + 1, step)]


def _with_fraction(profile: Profile, at: float) -> Profile:
    return evolve(profile, memory=evolve(profile.memory, fraction=at))


def _with_context(profile: Profile, at: float) -> Profile:
    return evolve(profile, serve=evolve(profile.serve, context=int(at)))
