"""A lever and a plan in; the smallest of its moves that reaches a goal out, or why none does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from attrs import evolve

from compiler.bisection import Margins, least, margin
from compiler.memory.outcome import MEMORY_CODES
from compiler.plan import Plan
from compiler.remedy.change import Budget, Change, Goal, Lever, Moves, Remedy, Unhelpful
from compiler.remedy.guessing import nearly_enough
from compiler.remedy.pairs import Pair
from compiler.remedy.trials import Trials, holds, margins, shortfall


_FEW = 4
NOT_KNOWN = "its memory is not known then"


def try_lever(lever: Lever, plan: Plan, trials: Trials, *, goal: Goal) -> Remedy | Unhelpful:
    """The smallest move that reaches the goal and that no rule refuses.

    Each budget that a lever eases is better, or the same, with each further move, so there is one edge to find; the
    other budget is worst off beyond it, so it is looked at just there.
    """
    moves = lever.moves(plan) if plan.memory is not None else NOT_KNOWN
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
        allowed = _allowed(moves, number, trials, goal)
        if allowed is None:
            return Unhelpful(setting=lever.setting, tried=str(change), why=against)
        change = allowed
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


def _allowed(moves: Moves, number: int, trials: Trials, goal: Goal) -> Change | None:
    """The smallest move from one that is refused on which is not, be it another way, and reaches the goal too.

    What refuses the first is a bound that the lever moves away from, or has nothing to do with it and refuses the last.
    """

    def reaches(change: Change) -> bool:
        return holds(trials.balance(change.profile), goal) and (
            trials.objection(change.profile) is None
        )

    if moves.instead is not None:
        ways = (
            way(each)
            for each in range(number, moves.count + 1)
            for way in (moves.at, moves.instead)
        )
        return next((each for each in ways if reaches(each)), None)

    def admitted(each: int) -> Margins:
        return margin(good=trials.objection(moves.at(each).profile) is None)

    found = least(low=number + 1, high=moves.count, margins=admitted)
    return moves.at(found) if found and reaches(moves.at(found)) else None


def _too_little(lever: Lever, moves: Moves, trials: Trials, goal: Goal) -> Unhelpful:
    last = moves.at(moves.count)
    against = None if moves.instead is None else trials.objection(last.profile)
    if moves.instead is not None and against and against.partition(",")[0] not in MEMORY_CODES:
        last = moves.instead(moves.count)
    balance = trials.balance(last.profile)
    return Unhelpful(
        setting=lever.setting,
        tried=f"even {last}" if moves.count > 1 else str(last),
        why=f"{shortfall(balance, goal)} still",
    )


def try_pair(pair: Pair, plan: Plan, trials: Trials, *, goals: Sequence[Goal]) -> Remedy | None:
    """Changes of which the first mends what it can and the second the rest, with a third if need be; the first goal reached."""
    several = (
        _ended(pair, begun, plan, trials, goal)
        for goal in goals
        for begun in _begin(pair.first, plan, trials, goal)
    )
    return next((each for each in several if each is not None), None)


def _ended(pair: Pair, begun: Change, plan: Plan, trials: Trials, goal: Goal) -> Remedy | None:
    """What the rest of a pair makes of its beginning."""
    before = trials.plan(begun.profile)
    tried = try_lever(pair.second, before, trials, goal=goal)
    ended = tried if isinstance(tried, Remedy) else _then(pair, tried, trials, goal)
    if ended is None:
        return None
    middle = tried.mended if isinstance(tried, Unhelpful) else None
    steps = (before,) if middle is None else (before, trials.plan(middle.profile))
    moved = zip(ended.levers, steps, strict=True)
    return Remedy(
        settings=(*begun.settings, *ended.settings),
        gives=pair.gives(plan, ended.plan),
        loses=(
            pair.first.loses(plan, ended.plan),
            *(_price(each, ended.plan, now=plan, before=step) for each, step in moved),
        ),
        plan=ended.plan,
        cost=max(pair.first.cost, ended.cost),
        levers=(pair.first, *ended.levers),
    )


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


def _begin(lever: Lever, plan: Plan, trials: Trials, goal: Goal) -> Iterator[Change]:
    """The smallest move that mends one budget and leaves the other short, and that another way where there is one.

    A single move that eases anything is one, too.
    """
    tried = try_lever(lever, plan, trials, goal=goal)
    if isinstance(tried, Remedy) or plan.memory is None:
        return
    moves = lever.moves(plan)
    if tried.mended is not None:
        yield tried.mended
        return
    if isinstance(moves, str) or trials.held(moves.at(1)):
        return
    if lever.eases is Budget.POOL and holds(plan.balance, goal, budgets=Budget.POOL):
        return  # it mends nothing
    number = None
    if moves.count > 1:
        number = _least(moves, trials, goal, Budget.POOL, before=plan)
    # Of few moves the last may do most of it, and the second lever the rest.
    if number is None and moves.count <= _FEW:
        number = moves.count if _eases(moves.at(moves.count), plan, trials, goal) else None
    if number is not None:
        yield moves.at(number)
        yield from () if moves.instead is None else (moves.instead(number),)


def _eases(change: Change, plan: Plan, trials: Trials, goal: Goal) -> bool:
    after, now = margins(trials.balance(change.profile), goal), margins(plan.balance, goal)
    return any(there > here for there, here in zip(after, now, strict=True))
