"""A plan in; every change that keeps its promise out, ranked, with the levers that do not help and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Cost, Goal, Lever, Remedy, Unhelpful
from compiler.remedy.levers import levers_of
from compiler.remedy.moves import memory_of
from compiler.remedy.nearest import nearest
from compiler.remedy.pairs import pairs_of
from compiler.remedy.ranking import HALF, given_up, rank, undominated
from compiler.remedy.search import try_lever, try_pair
from compiler.remedy.stretched import fewer_gpus, stretched
from compiler.remedy.trials import Trials, holds
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Fitting(Value):
    """What keeps the promise of a plan.

    Attributes:
        remedies: the changes that do and that nothing refuses, the best first, as `ranking` has it.
        unhelpful: the levers that do not alone, one for a setting.
    """

    remedies: tuple[Remedy, ...]
    unhelpful: tuple[Unhelpful, ...]


def fit(plan: Plan, trials: Trials, *, refused: bool) -> Fitting:
    """Try every lever, and the pairs whose levers are not enough alone; `refused` says that something refuses the plan.

    A lever is asked for a promise that holds over the whole range of what is not known; where none of its moves gives
    that, and the plan does not have it already, for one that holds by the best estimate.
    """
    # What passes already is only asked to be certain; what is refused for whatever reason, to pass.
    held = not refused and memory_outcome(memory_of(plan)) <= Outcome.UNCERTAIN
    goals = (CERTAIN,) if held else (CERTAIN, LIKELY)
    remedies: list[Remedy] = []
    unhelpful: list[Unhelpful] = []
    for lever in levers_of(plan):
        several = list(_try(lever, plan, trials, goals))
        helpful = [each for each in several if isinstance(each, Remedy)]
        remedies += helpful
        if not helpful:
            unhelpful += [each for each in several[-1:] if isinstance(each, Unhelpful)]
    remedies += _pairs(plan, trials, goals, alone=remedies)
    remedies += fewer_gpus(plan, trials, goals, found=remedies)
    remedies += stretched(plan, trials, goals, found=remedies)
    remedies += nearest(plan, trials, goals, found=remedies)
    remedies, outdone = _kept(remedies, undominated(plan, remedies))
    unhelpful += outdone
    if held:
        remedies, too_dear = _affordable(plan, remedies)
        unhelpful += too_dear
    ranked = sorted(remedies, key=lambda each: rank(plan, each))
    return Fitting(remedies=tuple(ranked), unhelpful=tuple(_once(unhelpful, ranked)))


def _once(unhelpful: Sequence[Unhelpful], remedies: Sequence[Remedy]) -> Iterator[Unhelpful]:
    """One line for a setting, whatever its levers: what was tried says more, and what helps alone is no such line."""
    helpful = {each.levers[0].setting for each in remedies if len(each.levers) == 1}
    told: dict[str, Unhelpful] = {}
    for each in unhelpful:
        known = told.setdefault(each.setting, each)
        if known.tried is None and each.tried is not None:
            told[each.setting] = each
    return (each for setting, each in told.items() if setting not in helpful)


def _affordable(plan: Plan, remedies: Sequence[Remedy]) -> tuple[list[Remedy], list[Unhelpful]]:
    """Without what gives up most of a promise that holds, unless there is nothing else."""
    kept = [each for each in remedies if given_up(plan, each.plan) <= HALF]
    return _kept(remedies, kept or remedies)


def _kept(
    remedies: Sequence[Remedy], kept: Sequence[Remedy]
) -> tuple[list[Remedy], list[Unhelpful]]:
    """Those that are kept, and what the others cost where each is of one lever."""
    left_out = [each for each in remedies if each not in kept and len(each.levers) == 1]
    return [*kept], [
        Unhelpful(setting=each.levers[0].setting, tried=str(each), why=each.loses[0])
        for each in left_out
    ]


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


def _pairs(
    plan: Plan, trials: Trials, goals: Sequence[Goal], *, alone: Sequence[Remedy]
) -> Iterator[Remedy]:
    """What two levers do that neither does as surely alone."""
    certain = {each.levers for each in alone if holds(each.plan.balance, CERTAIN)}
    likely = {each.levers for each in alone} - certain
    for pair in pairs_of(plan):
        parts = {(pair.first,), (pair.second,)}
        if parts & certain:
            continue
        wanted = (CERTAIN,) if parts & likely else goals
        together = try_pair(pair, plan, trials, goals=wanted)
        if together is not None:
            yield together
