"""A plan in; changes out that move the fraction as far as the other budget bears, and something else just far enough.

A pair of levers ends where its first has mended one budget. Here the fraction mends neither alone: what is given up beside it
is the less, the further it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.bisection import Margins, most
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, Budget, Change, Cost, Goal, Lever, Remedy
from compiler.remedy.levers import (
    FEWER_REQUESTS,
    LESS_AT_ONCE,
    LOWER_FRACTION,
    RAISE_FRACTION,
    SHORTER_CONTEXT,
)
from compiler.remedy.saying import reserve_moves
from compiler.remedy.search import try_lever
from compiler.remedy.trials import Trials, holds, margins
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Stretch(Value):
    """The fraction one way, and what may be moved beside it.

    Attributes:
        bears: the budget that says how far the fraction goes; the other one is short.
    """

    fraction: Lever
    bears: Budget
    short: Budget
    beside: tuple[Lever, ...]


_STRETCHES = (
    Stretch(
        fraction=RAISE_FRACTION,
        bears=Budget.RESERVE,
        short=Budget.POOL,
        beside=(SHORTER_CONTEXT, LESS_AT_ONCE),
    ),
    Stretch(
        fraction=LOWER_FRACTION, bears=Budget.POOL, short=Budget.RESERVE, beside=(FEWER_REQUESTS,)
    ),
)


def stretched(
    plan: Plan, trials: Trials, goals: Sequence[Goal], *, found: Sequence[Remedy]
) -> Iterator[Remedy]:
    """For each lever the change that reaches the first goal that is reached at all.

    `found` are the changes that there are already: nothing of a promise is given up where all of it can be kept cheaply, and
    beside a lever that is enough alone only what is certain is of interest.
    """
    cheap = any(each.cost <= Cost.START for each in found)
    alone = {each.levers[0]: each for each in found if len(each.levers) == 1}
    for stretch in _STRETCHES:
        for lever in stretch.beside:
            if not lever.applies(plan) or (cheap and lever.cost is Cost.PROMISE):
                continue
            known = alone.get(lever)
            if known is None or lever.cost is Cost.PROMISE:
                wanted = goals
            elif holds(known.plan.balance, CERTAIN):
                continue
            else:
                wanted = (CERTAIN,)
            several = (_stretched(stretch, lever, plan, trials, goal) for goal in wanted)
            found_here = next((each for each in several if each is not None), None)
            if found_here is not None:
                yield found_here


def _stretched(
    stretch: Stretch, lever: Lever, plan: Plan, trials: Trials, goal: Goal
) -> Remedy | None:
    if holds(plan.balance, goal, budgets=stretch.short):
        return None
    change = _furthest(stretch, plan, trials, goal)
    if change is None:
        return None
    before = trials.plan(change.profile)
    tried = try_lever(lever, before, trials, goal=goal)
    if not isinstance(tried, Remedy):
        return None
    after = tried.plan
    return Remedy(
        settings=(*change.settings, *tried.settings),
        gives=f"{lever.gives(plan, after)}; {reserve_moves(plan, after)}",
        loses=(stretch.fraction.loses(plan, after), lever.loses(plan, after)),
        plan=after,
        cost=max(stretch.fraction.cost, lever.cost),
        levers=(stretch.fraction, lever),
    )


def _furthest(stretch: Stretch, plan: Plan, trials: Trials, goal: Goal) -> Change | None:
    moves = stretch.fraction.moves(plan)
    if isinstance(moves, str) or trials.held(moves.at(1)) is not None:
        return None

    def over(number: int) -> Margins:
        return margins(trials.balance(moves.at(number).profile), goal, budgets=stretch.bears)

    number = most(low=1, high=moves.count, margins=over)
    return None if not number else moves.at(number)
