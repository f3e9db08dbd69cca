"""A lever and a plan in; the smallest of its moves that reaches a goal out, or why none does."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.bisection import least
from compiler.plan import Plan
from compiler.remedy.change import Budget, Change, Goal, Lever, Moves, Remedy, Unhelpful
from compiler.remedy.levers import Pair
from compiler.remedy.trials import Trials, holds, margin, shortfall


def try_lever(lever: Lever, plan: Plan, trials: Trials, *, goal: Goal) -> Remedy | Unhelpful:
    """The smallest move that reaches the goal.

    Each budget that a lever eases is better, or the same, with each further move, so there is one edge to find; the
    other budget is worst off beyond it, so it is looked at just there.
    """
    moves = lever.moves(plan)
    if isinstance(moves, str):
        return Unhelpful(setting=lever.setting, why=moves)
    if lever.eases is not Budget.BOTH and holds(plan, goal, budgets=lever.eases):
        budget = str(lever.eases.name).lower()
        return Unhelpful(setting=lever.setting, why=f"the {budget} is not what is short")
    number = least(
        low=1,
        high=moves.count,
        margin=lambda each: margin(trials.plan(moves.at(each).profile), goal, budgets=lever.eases),
    )
    if number is None:
        return _too_little(lever, moves, trials, goal)
    change = moves.at(number)
    after = trials.plan(change.profile)
    if not holds(after, goal):
        return Unhelpful(
            setting=lever.setting,
            why=f"{change}: {shortfall(after, goal)} then",
            mended=change,
            plan=after,
        )
    return Remedy(
        settings=change.settings,
        gives=lever.gives(plan, after),
        loses=(lever.loses(plan, after),),
        plan=after,
        cost=lever.cost,
    )


def _too_little(lever: Lever, moves: Moves, trials: Trials, goal: Goal) -> Unhelpful:
    last = moves.at(moves.count)
    after = trials.plan(last.profile)
    even = f"even {last}" if moves.count > 1 else str(last)
    return Unhelpful(setting=lever.setting, why=f"{even}: {shortfall(after, goal)} still")


def try_pair(pair: Pair, plan: Plan, trials: Trials, *, goals: Sequence[Goal]) -> Remedy | None:
    """Two changes where the first mends what it can and the second the rest; the first goal that they reach."""
    first, second = pair.first, pair.second
    for goal in goals:
        begun = _begin(first, plan, trials, goal)
        if begun is None:
            continue
        before = trials.plan(begun.profile)
        ended = try_lever(second, before, trials, goal=goal)
        if isinstance(ended, Remedy):
            return Remedy(
                settings=(*begun.settings, *ended.settings),
                gives=pair.gives(plan, ended.plan),
                loses=(first.loses(plan, ended.plan), *ended.loses),
                plan=ended.plan,
                cost=max(first.cost, second.cost),
            )
    return None


def _begin(lever: Lever, plan: Plan, trials: Trials, goal: Goal) -> Change | None:
    """The move that mends a budget and leaves the other short; of a lever with one move, that one, if it eases anything."""
    tried = try_lever(lever, plan, trials, goal=goal)
    if isinstance(tried, Remedy):
        return None
    if tried.mended is not None:
        return tried.mended
    moves = lever.moves(plan)
    if isinstance(moves, str) or moves.count != 1:
        return None
    only = moves.at(1)
    eased = margin(trials.plan(only.profile), goal) > margin(plan, goal)
    return only if eased else None
