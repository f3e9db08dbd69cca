"""What pool and reserve become over a range of fractions and of contexts, all else as the profile says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import evolve, frozen

from compiler.plan import Plan
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.value import Value


Replan = Callable[[Profile], Plan]
"""The plan of a profile with other settings."""

# Hundredths of the fraction that are planned; below, the weights of most models do not fit at all.
_LEAST_HUNDREDTH = 50
_MOST_HUNDREDTH = 98
_STEP_HUNDREDTHS = 2
_CONTEXTS = 16


@frozen(kw_only=True, eq=False, repr=False)
class Point(Value):
    """One plan of a sweep: `at` is its fraction or its context."""

    at: float
    pool_tokens: Range
    required_tokens: int
    available_gib: Range
    needed_gib: Range


@frozen(kw_only=True, eq=False, repr=False)
class Sweep(Value):
    """Both sweeps of a plan; the points lie in order, and those that have no pool at all are left out."""

    by_fraction: tuple[Point, ...]
    by_context: tuple[Point, ...]


def sweep(plan: Plan, *, replan: Replan) -> Sweep:
    """Plan a service over fractions and contexts; without a memory plan there is nothing to sweep."""
    if plan.memory is None:
        return Sweep(by_fraction=(), by_context=())
    profile = evolve(
        plan.profile, memory=evolve(plan.profile.memory, fraction=plan.memory.fraction)
    )
    return Sweep(
        by_fraction=tuple(
            _points(_fractions(plan.memory.fraction), profile, _with_fraction, replan)
        ),
        by_context=tuple(_points(_contexts(plan), profile, _with_context, replan)),
    )


def _points(
    places: Iterable[float],
    profile: Profile,
    change: Callable[[Profile, float], Profile],
    replan: Replan,
) -> Iterator[Point]:
    for at in places:
        memory = replan(change(profile, at)).memory
        if memory is not None and memory.pool.tokens.high > 0:
            yield Point(
                at=at,
                pool_tokens=memory.pool.tokens,
                required_tokens=memory.pool.required_tokens,
                available_gib=memory.reserve.available_gib,
                needed_gib=memory.reserve.needed_gib,
            )


def _fractions(own: float) -> list[float]:
    steps = range(_LEAST_HUNDREDTH, _MOST_HUNDREDTH + 1, _STEP_HUNDREDTHS)
    return sorted({each / 100 for each in steps} | {own})


def _contexts(plan: Plan) -> list[float]:
    """From a quarter of the promise to twice of it, or to what the model was made for where that is less."""
    own = plan.profile.serve.tokens
    native = plan.model.context if plan.model is not None else None
    most = max(own, min(2 * own, native or 2 * own))
    least = own // 4
    step = max(1, (most - least) // (_CONTEXTS - 1))
    return sorted({float(each) for each in range(least, most + 1, step)} | {float(own)})


def _with_fraction(profile: Profile, at: float) -> Profile:
    return evolve(profile, memory=evolve(profile.memory, fraction=at))


def _with_context(profile: Profile, at: float) -> Profile:
    return evolve(profile, serve=evolve(profile.serve, context=int(at)))
