"""A lever and a plan in; the smallest of its moves that reaches a goal out, or why none does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import evolve

from compiler.bisection import Margins, least, margin
from compiler.plan import Plan
from compiler.remedy.change import Budget, Change, Goal, Lever, Moves, Remedy, Unhelpful
from compiler.remedy.guessing import nearly_enough
from compiler.remedy.pairs import Pair
from compiler.remedy.trials import Trials, holds, margins, shortfall


_FEW = 4


def try_lever(lever: Lever, plan: Plan, trials: Trials, *, goal: Goal) -> Remedy | Unhelpful:
    """The smallest move that reaches the goal and that no rule refuses.

    Each budget that a lever eases is better, or the same, with each further move, so there is one edge to find; the
    other budget is worst off beyond it, so it is looked at just there.
    """
    moves = lever.moves(plan)
    if isinstance(moves, str):
        return Unhelpful(setting=lever.setting, why=moves)
    held = trials.held(moves.at(1))
    if held is not None:
        return Unhelpful(setting=lever.setting, why=held)
    if lever.eases not in (Budget.BOTH, Budget.NONE) and holds(
        plan.balance, goal, budgets=lever.eases
    ):
        budget = str(lever.eases.name).lower()
        return Unhelpful(setting=lever.setting, why=f"the {budget} is not what is short")
    number = _least(moves, trials, goal, lever.eases, before=plan)
    if number is None:
        return _too_little(lever, moves, trials, goal)
    change = moves.at(number)
    balance = trials.balance(change.profile)
    if not holds(balance, goal):
        return Unhelpful(
            setting=lever.setting,
            tried=str(change),
            why=f"{shortfall(balance, goal)} then",
            mended=change,
        )
    against = trials.objection(change.profile)
    if against is not None:
        further = _unopposed(moves, number, trials, goal)
        if further is None:
            return Unhelpful(setting=lever.setting, tried=str(change), why=against)
        change = moves.at(further)
    after = trials.plan(change.profile)
    return Remedy(
        settings=change.settings,
        gives=lever.gives(plan, after),
        loses=(lever.loses(plan, after),),
        plan=after,
        cost=lever.cost,
        levers=(lever,),
    )


def _least(
    moves: Moves, trials: Trials, goal: Goal, budgets: Budget, *, before: Plan
) -> int | None:
    """The smallest move at which some budgets reach a goal. Few moves are all looked at: they need not have one edge."""

    def over(number: int) -> Margins:
        return margins(trials.balance(moves.at(number).profile), goal, budgets=budgets)

    if budgets is Budget.NONE:
        return 1  # no budget is short; what refuses it says how far to go
    if moves.count <= _FEW:
        return next((each for each in range(1, moves.count + 1) if min(over(each)) >= 0), None)
    here = margins(before.balance, goal, budgets=budgets)
    if min(here) >= 0:
        return least(low=1, high=moves.count, margins=over)
    hint = None if moves.frees_gib is None else math.ceil(-here[-1] / moves.frees_gib)
    guess = nearly_enough(moves, before, trials, goal)
    return least(low=1, high=moves.count, margins=over, below=here, hint=hint, guess=guess)


def _unopposed(moves: Moves, number: int, trials: Trials, goal: Goal) -> int | None:
    """The smallest move beyond one that is refused which is not, and reaches the goal too.

    What refuses the first is a bound that the lever moves away from, or has nothing to do with it and refuses the last.
    """

    def admitted(each: int) -> Margins:
        return margin(good=trials.objection(moves.at(each).profile) is None)

    found = least(low=number + 1, high=moves.count, margins=admitted)
    return found if found and holds(trials.balance(moves.at(found).profile), goal) else None


def _too_little(lever: Lever, moves: Moves, trials: Trials, goal: Goal) -> Unhelpful:
    last = moves.at(moves.count)
    balance = trials.balance(last.profile)
    return Unhelpful(
        setting=lever.setting,
        tried=f"even {last}" if moves.count > 1 else str(last),
        why=f"{shortfall(balance, goal)} still",
    )


def try_pair(pair: Pair, plan: Plan, trials: Trials, *, goals: Sequence[Goal]) -> Remedy | None:
    """Changes of which the first mends what it can and the second the rest, with a third if need be; the first goal reached."""
    first, second = pair.first, pair.second
    for goal in goals:
        begun = _begin(first, plan, trials, goal)
        if begun is None:
            continue
        before = trials.plan(begun.profile)
        tried = try_lever(second, before, trials, goal=goal)
        ended = tried if isinstance(tried, Remedy) else _then(pair, tried, trials, goal)
        if ended is not None:
            middle = tried.mended if isinstance(tried, Unhelpful) else None
            steps = (before,) if middle is None else (before, trials.plan(middle.profile))
            moved = zip(ended.levers, steps, strict=True)
            return Remedy(
                settings=(*begun.settings, *ended.settings),
                gives=pair.gives(plan, ended.plan),
                loses=(
                    first.loses(plan, ended.plan),
                    *(_price(each, ended.plan, now=plan, before=step) for each, step in moved),
                ),
                plan=ended.plan,
                cost=max(first.cost, ended.cost),
                levers=(first, *ended.levers),
            )
    return None


def _price(lever: Lever, after: Plan, *, now: Plan, before: Plan) -> str:
    """What a lever costs that is moved behind others, `before` with those alone."""
    return lever.loses(now if lever.from_now(now, after) else before, after)


def _then(pair: Pair, ended: Unhelpful, trials: Trials, goal: Goal) -> Remedy | None:
    """The second lever with the first of those after it that mends what it leaves short."""
    middle = ended.mended
    if middle is None:
        return None
    for third in pair.then:
        tried = try_lever(third, trials.plan(middle.profile), trials, goal=goal)
        if isinstance(tried, Remedy):
            return evolve(
                tried,
                settings=(*middle.settings, *tried.settings),
                cost=max(pair.second.cost, third.cost),
                levers=(pair.second, third),
            )
    return None


def _begin(lever: Lever, plan: Plan, trials: Trials, goal: Goal) -> Change | None:
    """The smallest move that mends one budget and leaves the other short; a single move that eases anything is one, too."""
    tried = try_lever(lever, plan, trials, goal=goal)
    if isinstance(tried, Remedy):
        return None
    moves = lever.moves(plan)
    if tried.mended is not None or isinstance(moves, str) or trials.held(moves.at(1)):
        return tried.mended
    if lever.eases is Budget.POOL and holds(plan.balance, goal, budgets=Budget.POOL):
        return None  # it mends nothing
    if moves.count == 1:
        return _if_better(moves.at(1), plan, trials, goal)
    number = _least(moves, trials, goal, Budget.POOL, before=plan)
    if number is not None:
        return moves.at(number)
    # Of few moves the last may do most of it, and the second lever the rest.
    return _if_better(moves.at(moves.count), plan, trials, goal) if moves.count <= _FEW else None


def _if_better(change: Change, plan: Plan, trials: Trials, goal: Goal) -> Change | None:
    after, now = margins(trials.balance(change.profile), goal), margins(plan.balance, goal)
    return change if any(there > here for there, here in zip(after, now, strict=True)) else None
