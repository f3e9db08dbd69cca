"""How far one thing may go with the rest as it is: what a promise could ask for, and what a plan that passes has to spare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from attrs import frozen

from compiler.bisection import most
from compiler.memory.outcome import spare_gib, spare_tokens
from compiler.plan import Plan
from compiler.planner import THOUSANDTHS
from compiler.remedy.change import CERTAIN, LIKELY, Budget, Change, Cost, Goal, Remedy
from compiler.remedy.moves import (
    CONTEXT_STEP,
    memory_of,
    with_concurrency,
    with_context,
    with_fraction,
    with_requests,
)
from compiler.remedy.trials import Trials, holds, margin, shortfall
from compiler.value import Value


_MOST_REQUESTS = 4096
"""More running requests than that are not tried."""


class Most(StrEnum):
    """What may be asked the most of."""

    CONTEXT = "context"
    CONCURRENCY = "concurrency"
    POOL = "pool"


@frozen(kw_only=True, eq=False, repr=False)
class Scale(Value):
    """Everything that one setting may be, numbered from 1; both budgets hold less well the further up.

    Attributes:
        budgets: those that go down with it; the pool goes up with the fraction.
        bound: why nothing beyond the last is tried.
    """

    count: int
    at: Callable[[int], Change]
    budgets: Budget = Budget.BOTH
    bound: str


@frozen(kw_only=True, eq=False, repr=False)
class Room(Value):
    """How far a setting may go.

    Attributes:
        written: the setting with the last value at which the promise holds.
        beyond: what is short at the next one, or why there is none.
    """

    written: str
    beyond: str


@frozen(kw_only=True, eq=False, repr=False)
class Spare(Value):
    """What a plan that keeps its promise has to spare.

    Attributes:
        goal: how well it keeps it.
        rooms: how far each setting may go; of a promise that surely holds only.
    """

    goal: Goal
    tokens: float
    gib: float
    rooms: tuple[Room, ...]


def the_most(asked: Most, plan: Plan, trials: Trials) -> tuple[Remedy, ...]:
    """The most of one thing at which the promise surely holds, then the most by the best estimate, where that is more.

    Nothing when the rest does not allow it: a pool that is as large as it can be may still be short.
    """
    scale = _SCALES[asked](plan)
    found: dict[int, Remedy] = {}
    for goal in (CERTAIN, LIKELY):
        number = _furthest(scale, trials, goal)
        if number is None or number in found:
            continue
        change = scale.at(number)
        if holds(trials.plan(change.profile), goal):
            found[number] = Remedy(
                settings=change.settings,
                gives=_beyond(scale, number, trials, goal),
                loses=(),
                plan=trials.plan(change.profile),
                cost=Cost.NOTHING,
                levers=(),
            )
    return tuple(found.values())


def spare(plan: Plan, trials: Trials) -> Spare:
    """What a plan has to spare, by the better of the two goals that it reaches."""
    goal = CERTAIN if holds(plan, CERTAIN) else LIKELY
    memory = memory_of(plan)
    return Spare(
        goal=goal,
        tokens=spare_tokens(memory, worst=goal.pool),
        gib=spare_gib(memory, worst=goal.reserve),
        rooms=tuple(_rooms(plan, trials)) if goal is CERTAIN else (),
    )


def _rooms(plan: Plan, trials: Trials) -> Iterator[Room]:
    for make in (*_SCALES.values(), _requests):
        scale = make(plan)
        number = _furthest(scale, trials, CERTAIN)
        if number is not None:
            yield Room(
                written=str(scale.at(number)), beyond=_beyond(scale, number, trials, CERTAIN)
            )


def _furthest(scale: Scale, trials: Trials, goal: Goal) -> int | None:
    return most(
        low=1,
        high=scale.count,
        margin=lambda number: margin(
            trials.plan(scale.at(number).profile), goal, budgets=scale.budgets
        ),
    )


def _beyond(scale: Scale, number: int, trials: Trials, goal: Goal) -> str:
    if number == scale.count:
        return scale.bound
    return f"beyond that {shortfall(trials.plan(scale.at(number + 1).profile), goal)}"


def _context(plan: Plan) -> Scale:
    limits = [each.context for each in (plan.model, plan.draft) if each is not None]
    longest = min(limits)
    return Scale(
        count=-(-longest // CONTEXT_STEP),
        at=lambda number: with_context(plan.profile, min(number * CONTEXT_STEP, longest)),
        bound="the model and its draft declare no more",
    )


def _concurrency(plan: Plan) -> Scale:
    running = plan.running_requests or _MOST_REQUESTS
    return Scale(
        count=running,
        at=lambda number: with_concurrency(plan.profile, number),
        bound=f"no more than {running} requests run at once",
    )


def _requests(plan: Plan) -> Scale:
    fewest = plan.profile.serve.concurrency
    return Scale(
        count=_MOST_REQUESTS - fewest + 1,
        at=lambda number: with_requests(plan.profile, fewest - 1 + number),
        bound="no more are tried",
    )


def _fraction(plan: Plan) -> Scale:
    return Scale(
        count=THOUSANDTHS - 1,
        at=lambda number: with_fraction(plan.profile, number),
        budgets=Budget.RESERVE,
        bound="no higher one is tried",
    )


_SCALES: dict[Most, Callable[[Plan], Scale]] = {
    Most.CONTEXT: _context,
    Most.CONCURRENCY: _concurrency,
    Most.POOL: _fraction,
}
