"""A plan in; changes out that move the fraction as far as the other budget bears, and something else just far enough.

A pair of levers ends where its first has mended one budget. Here the fraction mends neither alone: what is given up beside it
is the less, the further it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from compiler.bisection import Margins, most
from compiler.plan import Plan
from compiler.profile import Profile
from compiler.remedy.change import CERTAIN, Budget, Change, Cost, Goal, Lever, Remedy
from compiler.remedy.levers import (
    FEWER_REQUESTS,
    LESS_AT_ONCE,
    LOWER_FRACTION,
    MORE_GPUS,
    NARROW_CACHE,
    RAISE_FRACTION,
    SHORTER_CONTEXT,
    SPREAD_ATTENTION,
)
from compiler.remedy.ranking import LESS, given_up
from compiler.remedy.saying import reserve_moves
from compiler.remedy.search import try_lever
from compiler.remedy.trials import Trials, holds, margins
from compiler.value import Value


_PROMISED = (SHORTER_CONTEXT, LESS_AT_ONCE)
_LARGER = (SPREAD_ATTENTION, NARROW_CACHE)
"""What makes a pool larger by far, and may leave little of a promise to be given up; the first that there is alone is tried."""


@frozen(kw_only=True, eq=False, repr=False)
class _Begun(Value):
    """Levers that were moved already, and the plan with them."""

    plan: Plan
    settings: tuple[tuple[str, str], ...] = ()
    levers: tuple[Lever, ...] = ()

    def with_(self, lever: Lever, change: Change, trials: Trials) -> _Begun:
        """The same with one more."""
        return _Begun(
            plan=trials.plan(change.profile),
            settings=(*self.settings, *change.settings),
            levers=(*self.levers, lever),
        )


def stretched(
    plan: Plan, trials: Trials, goals: Sequence[Goal], *, found: Sequence[Remedy]
) -> Iterator[Remedy]:
    """For each lever the change that reaches the first goal that is reached at all.

    `found` are the changes that there are already: nothing of a promise is given up where all of it can be kept cheaply, and
    fewer requests beside a lower fraction are of interest where they are not certain alone.
    """
    alone = {each.levers[0]: each for each in found if len(each.levers) == 1}
    fewer = alone.get(FEWER_REQUESTS)
    if fewer is None or not holds(fewer.plan.balance, CERTAIN):
        wanted = goals if fewer is None else (CERTAIN,)
        yield from _first(_fewer_requests(plan, trials, goal) for goal in wanted)
    if any(each.cost <= Cost.START for each in found):
        return
    least = 1.0
    for lever in _PROMISED:
        several = (_less_promised(None, lever, plan, trials, goal) for goal in goals)
        for each in _first(several):
            least = min(least, given_up(plan, each.plan))
            yield each
    whole = {one for each in found if not given_up(plan, each.plan) for one in each.levers}
    lever = LESS_AT_ONCE if plan.profile.serve.concurrency > 1 else SHORTER_CONTEXT
    first = next((each for each in _LARGER if each.applies(plan) and each not in whole), None)
    if first is not None:
        several = (_less_promised(first, lever, plan, trials, goal) for goal in goals)
        worth = LESS * least
        yield from (each for each in _first(several) if given_up(plan, each.plan) <= worth)


def fewer_gpus(
    plan: Plan, trials: Trials, goals: Sequence[Goal], *, found: Sequence[Remedy]
) -> Iterator[Remedy]:
    """Fewer GPUs than are enough with the fraction as it is, and the least fraction that makes up for it.

    Nothing where the whole of the promise can be kept cheaply; `found` are the changes that there are already.
    """
    if any(each.cost <= Cost.START for each in found):
        return
    enough = (each.plan.profile.gpus.count for each in found if each.levers == (MORE_GPUS,))
    fewer_than = min(enough, default=None)
    yield from _first(_fewer_gpus(plan, trials, goal, than=fewer_than) for goal in goals)


def _first(several: Iterator[Remedy | None]) -> Iterator[Remedy]:
    found = next((each for each in several if each is not None), None)
    if found is not None:
        yield found


def _fewer_requests(plan: Plan, trials: Trials, goal: Goal) -> Remedy | None:
    """The lowest fraction that the pool bears, and no fewer requests than the reserve needs then."""
    if holds(plan.balance, goal, budgets=Budget.RESERVE):
        return None
    lower = _furthest(LOWER_FRACTION, plan, trials, goal, bears=Budget.POOL)
    if lower is None:
        return None
    begun = _Begun(plan=plan).with_(LOWER_FRACTION, lower, trials)
    tried = try_lever(FEWER_REQUESTS, begun.plan, trials, goal=goal)
    return _remedy(plan, begun, tried) if isinstance(tried, Remedy) else None


def _fewer_gpus(plan: Plan, trials: Trials, goal: Goal, *, than: int | None) -> Remedy | None:
    moves = MORE_GPUS.moves(plan)
    if isinstance(moves, str) or trials.held(moves.at(1)) is not None:
        return None
    ways = (moves.at,) if moves.instead is None else (moves.at, moves.instead)
    for change in (way(number) for number in range(1, moves.count + 1) for way in ways):
        if than is not None and change.profile.gpus.count >= than:
            return None
        begun = _Begun(plan=plan).with_(MORE_GPUS, change, trials)
        raised = try_lever(RAISE_FRACTION, begun.plan, trials, goal=goal)
        if isinstance(raised, Remedy):
            return _remedy(plan, begun, raised)
    return None


def _less_promised(
    first: Lever | None, lever: Lever, plan: Plan, trials: Trials, goal: Goal
) -> Remedy | None:
    """The highest fraction that the reserve bears, what is promised at it, and the least fraction that holds that."""
    if holds(plan.balance, goal, budgets=Budget.POOL):
        return None
    begun = _Begun(plan=plan)
    if first is not None:
        moves = first.moves(plan)
        if isinstance(moves, str) or trials.held(moves.at(moves.count)) is not None:
            return None
        begun = begun.with_(first, moves.at(moves.count), trials)
        if begun.plan.memory is None:
            return None
    higher = _furthest(RAISE_FRACTION, begun.plan, trials, goal, bears=Budget.RESERVE)
    if higher is None:
        tried = try_lever(lever, begun.plan, trials, goal=goal) if first is not None else None
        return _remedy(plan, begun, tried) if isinstance(tried, Remedy) else None
    tried = try_lever(lever, trials.plan(higher.profile), trials, goal=goal)
    if not isinstance(tried, Remedy):
        return None
    if first is not None:  # time: three levers are enough of a change
        return _remedy(plan, begun.with_(RAISE_FRACTION, higher, trials), tried)
    less = Change(settings=tried.settings, profile=_promising(tried, begun.plan))
    settled = begun.with_(lever, less, trials)
    raised = try_lever(RAISE_FRACTION, settled.plan, trials, goal=goal)
    if isinstance(raised, Remedy):
        return _remedy(plan, settled, raised)
    return _remedy(plan, begun.with_(RAISE_FRACTION, higher, trials), tried)


def _promising(remedy: Remedy, plan: Plan) -> Profile:
    """The profile of a plan, with what a remedy promises."""
    return evolve(plan.profile, serve=remedy.plan.profile.serve)


def _remedy(plan: Plan, begun: _Begun, last: Remedy) -> Remedy:
    levers = (*begun.levers, *last.levers)
    after = last.plan
    promised = [each for each in levers if each.setting != RAISE_FRACTION.setting]
    return Remedy(
        settings=(*begun.settings, *last.settings),
        gives=f"{promised[-1].gives(plan, after)}; {reserve_moves(plan, after)}",
        loses=tuple(each.loses(plan, after) for each in levers),
        plan=after,
        cost=max(each.cost for each in levers),
        levers=levers,
    )


def _furthest(
    lever: Lever, plan: Plan, trials: Trials, goal: Goal, *, bears: Budget
) -> Change | None:
    moves = lever.moves(plan)
    if isinstance(moves, str) or trials.held(moves.at(1)) is not None:
        return None

    def over(number: int) -> Margins:
        return margins(trials.balance(moves.at(number).profile), goal, budgets=bears)

    number = most(low=1, high=moves.count, margins=over)
    return None if not number else moves.at(number)
