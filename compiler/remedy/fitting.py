"""A plan in; every change that keeps its promise out, ranked, with the levers that do not help and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Cost, Goal, Lever, Remedy, Unhelpful
from compiler.remedy.levers import LEVERS, PAIRS
from compiler.remedy.moves import memory_of
from compiler.remedy.search import try_lever, try_pair
from compiler.remedy.trials import Trials
from compiler.value import Value


Objection = Callable[[Plan], str | None]
"""Why a plan is refused for another reason than its memory; `None` when it is not."""


@frozen(kw_only=True, eq=False, repr=False)
class Fitting(Value):
    """What keeps the promise of a plan.

    Attributes:
        remedies: the changes that do, the best first: those that surely do, then the cheapest, then the fewest.
        unhelpful: the levers that were tried and do not.
    """

    remedies: tuple[Remedy, ...]
    unhelpful: tuple[Unhelpful, ...]


def fit(plan: Plan, trials: Trials, *, objection: Objection) -> Fitting:
    """Try every lever, and the pairs whose levers are not enough alone.

    A lever is asked for a promise that holds over the whole range of what is not known; where none of its moves gives
    that, and the plan does not have it already, for one that holds by the best estimate.
    """
    goals = _goals(plan)
    remedies: list[Remedy] = []
    unhelpful: list[Unhelpful] = []
    for lever in LEVERS:
        several = [_without(each, objection) for each in _try(lever, plan, trials, goals)]
        helpful = [each for each in several if isinstance(each, Remedy)]
        remedies += helpful
        if not helpful:
            unhelpful += [each for each in several[-1:] if isinstance(each, Unhelpful)]
    enough = {each.levers for each in remedies}
    remedies += _pairs(plan, trials, goals, enough=enough, objection=objection)
    return Fitting(remedies=tuple(sorted(remedies, key=_rank)), unhelpful=tuple(unhelpful))


def _goals(plan: Plan) -> Sequence[Goal]:
    held = memory_outcome(memory_of(plan)) <= Outcome.UNCERTAIN
    return (CERTAIN,) if held else (CERTAIN, LIKELY)


def _try(
    lever: Lever, plan: Plan, trials: Trials, goals: Sequence[Goal]
) -> Iterator[Remedy | Unhelpful]:
    """What comes of one lever, goal by goal, up to one that it reaches; of the promise, all that differ.

    To promise less for certain may be to promise much less, and whoever asks shall see both.
    """
    seen: set[str] = set()
    for goal in goals:
        tried = try_lever(lever, plan, trials, goal=goal)
        if str(tried) not in seen:
            yield tried
        seen.add(str(tried))
        if isinstance(tried, Remedy) and lever.cost is not Cost.PROMISE:
            return


def _without(tried: Remedy | Unhelpful, objection: Objection) -> Remedy | Unhelpful:
    against = objection(tried.plan) if isinstance(tried, Remedy) else None
    if against is None or isinstance(tried, Unhelpful):
        return tried
    return Unhelpful(setting=tried.levers[0].setting, tried=str(tried), why=against)


def _pairs(
    plan: Plan,
    trials: Trials,
    goals: Sequence[Goal],
    *,
    enough: set[tuple[Lever, ...]],
    objection: Objection,
) -> Iterator[Remedy]:
    for pair in PAIRS:
        if (pair.first,) in enough or (pair.second,) in enough:
            continue
        together = try_pair(pair, plan, trials, goals=goals)
        if together is not None and objection(together.plan) is None:
            yield together


def _rank(remedy: Remedy) -> tuple[Outcome, int, int]:
    return memory_outcome(memory_of(remedy.plan)), remedy.cost, len(remedy.settings)
