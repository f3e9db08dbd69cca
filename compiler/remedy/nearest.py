"""A plan in; the fewest requests at once that have to be given up when cheaper levers make up for the rest, out.

A context is not searched so: it has hundreds of steps, each with a search below it, and `fit` would take four times as long
as it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from compiler.bisection import Margins, least, margin
from compiler.plan import Plan
from compiler.remedy.change import Cost, Goal, Moves, Remedy, Unhelpful
from compiler.remedy.levers import (
    FEWER_REQUESTS,
    LESS_AT_ONCE,
    LOWER_FRACTION,
    RAISE_FRACTION,
    SMALLER_CHUNK,
    SMALLER_GRAPHS,
)
from compiler.remedy.pairs import Pair, pairs_of
from compiler.remedy.ranking import HALF, LESS, given_up
from compiler.remedy.search import try_lever, try_pair
from compiler.remedy.trials import Trials, holds


_CHEAP = (RAISE_FRACTION, LOWER_FRACTION, SMALLER_GRAPHS, FEWER_REQUESTS, SMALLER_CHUNK)
_FEW = 8


def nearest(
    plan: Plan, trials: Trials, goals: Sequence[Goal], *, found: Sequence[Remedy]
) -> Iterator[Remedy]:
    """What gives up less of the promise than a smaller one alone does, and not more than half of it.

    Nothing where the whole of it can be kept cheaply.

    `found` are the changes that there are already.
    """
    if any(each.cost <= Cost.START for each in found):
        return
    moves = LESS_AT_ONCE.moves(plan)
    if isinstance(moves, str) or trials.held(moves.at(1)) is not None:
        return
    seen = {frozenset(each.settings) for each in found}
    promised = plan.profile.serve.concurrency  # each move gives up one more of them
    last = moves.count
    for goal in goals:
        if holds(plan.balance, goal):
            continue  # no budget is short that cheaper levers could make up for
        alone = try_lever(LESS_AT_ONCE, plan, trials, goal=goal)
        worth = int(_worth(plan, alone) * promised)
        if isinstance(alone, Remedy):
            worth = min(worth, promised - alone.plan.profile.serve.concurrency - 1)
        last = min(last, worth)
        number, remedy = _least(moves, plan, trials, goal, last=last)
        if remedy is not None and frozenset(remedy.settings) not in seen:
            seen.add(frozenset(remedy.settings))
            yield remedy
        if number is not None:
            last = number - 1  # what is less certain is of interest only where it gives up less


def _worth(plan: Plan, alone: Remedy | Unhelpful) -> float:
    """The share of the promise that a change beside others may give up: what it saves must be worth them."""
    return HALF if isinstance(alone, Unhelpful) else min(HALF, LESS * given_up(plan, alone.plan))


def _least(
    moves: Moves, plan: Plan, trials: Trials, goal: Goal, *, last: int
) -> tuple[int | None, Remedy | None]:
    """The smallest move up to `last` with which cheap levers reach the goal, and what they do together."""
    if last < 1:
        return None, None

    @cache
    def made(number: int) -> Remedy | None:
        return _made_up(trials.plan(moves.at(number).profile), trials, goal)

    def over(number: int) -> Margins:
        return margin(good=made(number) is not None)

    if last <= _FEW:
        number = next((each for each in range(1, last + 1) if made(each) is not None), None)
    else:
        number = least(low=1, high=last, margins=over)
    rest = None if number is None else made(number)
    if number is None or rest is None:
        return None, None
    return number, Remedy(
        settings=(*moves.at(number).settings, *rest.settings),
        gives=f"less of the promise is given up; {LESS_AT_ONCE.gives(plan, rest.plan)}",
        loses=(LESS_AT_ONCE.loses(plan, rest.plan), *rest.loses),
        plan=rest.plan,
        cost=max(LESS_AT_ONCE.cost, rest.cost),
        levers=(LESS_AT_ONCE, *rest.levers),
    )


def _made_up(plan: Plan, trials: Trials, goal: Goal) -> Remedy | None:
    """The cheap levers that mend a plan, one or two."""
    for lever in _CHEAP:
        alone = try_lever(lever, plan, trials, goal=goal)
        if isinstance(alone, Remedy):
            return alone
    several = (try_pair(pair, plan, trials, goals=(goal,)) for pair in _cheap_pairs(plan))
    return next((each for each in several if each is not None), None)


def _cheap_pairs(plan: Plan) -> Iterator[Pair]:
    return (each for each in pairs_of(plan) if max(each.first.cost, each.second.cost) <= Cost.START)
