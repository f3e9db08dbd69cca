"""The help of a refusal: the smallest changes that pass the whole check, found by planning again.

Made after the checks: a rule judges a plan and may not plan another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve

from compiler.accept import WAIVER_CODES, is_accepted
from compiler.diagnostics import Diagnostic, listed
from compiler.memory.outcome import (
    LIMIT_CODE,
    LOAD_CODE,
    MEMORY_CODES,
    POOL_CODES,
    RESERVE_CODES,
    Outcome,
    load_outcome,
    memory_outcome,
    pool_outcome,
    reserve_outcome,
)
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Budget, Cost, Goal, Remedy, Unhelpful
from compiler.remedy.levers import LESS_AT_ONCE, MORE_GPUS, levers_of
from compiler.remedy.moves import memory_of
from compiler.remedy.objections import Rules, forced_in
from compiler.remedy.pairs import pairs_of
from compiler.remedy.ranking import given_up, mostly_given_up, rank, undominated
from compiler.remedy.search import try_lever, try_pair
from compiler.remedy.stretched import stretched
from compiler.remedy.trials import Replan, Trials, holds
from compiler.remedy.waivers import stale_waivers


def advise(
    plan: Plan,
    found: tuple[Diagnostic, ...],
    *,
    replan: Replan,
    standing: tuple[Diagnostic, ...] = (),
    left_out: frozenset[str] = frozenset(),
    where: Origins | None = None,
) -> tuple[Diagnostic, ...]:
    """The findings about memory with what mends them; the others as they are.

    What is offered passes the whole check, but for waivers: an `[accept]` that is wrong says by itself what mends it, and one
    that waives nothing after a change is told beside that. `standing` are the errors that the plan does not show, `left_out`
    the codes that say nothing about it; nothing is offered that is set by force, as `where` knows.
    """
    left_out |= WAIVER_CODES
    standing = tuple(each for each in standing if each.is_error)
    trials = Trials(
        replan=replan,
        rules=Rules(standing=standing, left_out=left_out),
        forced={} if where is None else forced_in(where),
    )
    silent = MEMORY_CODES | left_out
    others = [each for each in (*standing, *found) if each.is_error and each.code not in silent]
    return tuple(_advised(each, plan, trials, others) for each in found)


def _advised(
    each: Diagnostic, plan: Plan, trials: Trials, others: Sequence[Diagnostic]
) -> Diagnostic:
    if plan.memory is None or any(note.startswith("accepted: ") for note in each.notes):
        return each
    if each.code in POOL_CODES.values():
        remedies = ranked(plan, pool_remedies(plan, trials))
    elif each.code in RESERVE_CODES.values() and _may_stand(plan, pool_outcome(plan.memory)):
        remedies = ranked(plan, reserve_remedies(plan, trials))
    elif each.code == LIMIT_CODE and memory_outcome(plan.memory) <= Outcome.UNCERTAIN:
        return _limited(each, plan, trials, others)
    elif each.code == LOAD_CODE:
        return evolve(each, help=(*_loadable(plan, trials), *each.help))
    else:
        return each
    return evolve(each, help=_help(each.code, remedies, plan, others))


def _may_stand(plan: Plan, pool: Outcome) -> bool:
    """Whether the pool refuses nothing: it holds by the best estimate, or what is likely short is accepted."""
    return pool <= Outcome.UNCERTAIN or is_accepted(plan, POOL_CODES[pool])


def _loadable(plan: Plan, trials: Trials) -> Iterator[str]:
    """The fewest GPUs on which the load surely fits, where the promise holds there, too."""
    moves = MORE_GPUS.moves(plan)
    if isinstance(moves, str):
        return
    for number in range(1, moves.count + 1):
        change = moves.at(number)
        after = trials.plan(change.profile)
        fits = after.memory is not None and load_outcome(after.memory) is Outcome.PASSES
        if fits and trials.held(change) is None and trials.objection(change.profile) is None:
            yield f"`{change}` leaves room for the load"
            return


def _limited(
    each: Diagnostic, plan: Plan, trials: Trials, others: Sequence[Diagnostic]
) -> Diagnostic:
    """What lets as many run as are promised, or promises no more than run, and why the rest does not."""
    levers = [one for one in levers_of(plan) if one.eases is Budget.NONE or one is LESS_AT_ONCE]
    tried = [try_lever(one, plan, trials, goal=LIKELY) for one in levers]
    vain = [one for one in tried if isinstance(one, Unhelpful) and one.tried is not None]
    if any(one.why.startswith(LIMIT_CODE) for one in vain):
        return each  # two limits are low, which it says by itself
    remedies = ranked(plan, (one for one in tried if isinstance(one, Remedy)))
    whole = any(one.cost is not Cost.PROMISE for one in remedies)
    why = () if whole else tuple(f"`{one.tried}` is not enough: {one.why}" for one in vain)
    return evolve(each, help=(*why, *_help(each.code, remedies, plan, others)))


def _help(
    code: str, remedies: tuple[Remedy, ...], plan: Plan, others: Sequence[Diagnostic]
) -> tuple[str, ...]:
    name = plan.profile_name
    more = f"for more: {f'poolproof fit {name}, ' if name else ''}poolproof explain {code}"
    if not remedies and others:
        return (f"first mend `{others[0].code}`: no single setting mends both", more)
    if not remedies:
        return (f"{_tried(code, plan)}; two changes together may, or more GPUs", more)
    width = max(len(str(each)) for each in remedies)
    lines = [
        f"{str(each).ljust(width)}  {_gives(each, plan)}{_waived(each, plan)}" for each in remedies
    ]
    which = "this" if len(remedies) == 1 else "any one of these"
    does = _does(code, plan, remedies)
    return ("\n".join([f"{which} {does} (figures are best estimates)", *lines]), more)


def _tried(code: str, plan: Plan) -> str:
    """What was tried in vain: there is more that may be changed, and nobody looked."""
    budget = Budget.POOL if code in POOL_CODES.values() else Budget.RESERVE
    levers = dict.fromkeys(
        each.setting
        for each in levers_of(plan)
        if budget in each.advised and not isinstance(each.moves(plan), str)
    )
    tried = listed([f"`{each}`" for each in levers]) or "nothing"
    rest = "were tried, and none alone mends" if len(levers) > 1 else "was tried, and does not mend"
    return f"{tried} {rest} {plan.profile_name or 'it'}"


def _gives(remedy: Remedy, plan: Plan) -> str:
    """What it gives, whether that is sure, and whether most of the promise is given up for it."""
    sure = memory_outcome(memory_of(remedy.plan)) is Outcome.PASSES
    dear = mostly_given_up(plan, remedy.plan)
    return f"{remedy.gives}{'' if sure else ', uncertain'}{f'; {dear}' if dear else ''}"


def _does(code: str, plan: Plan, remedies: Sequence[Remedy]) -> str:
    """What changes do; beside a pool whose shortness is accepted the promise is not kept by them."""
    if code in RESERVE_CODES.values() and pool_outcome(memory_of(plan)) > Outcome.UNCERTAIN:
        return "mends the reserve"
    smaller = [given_up(plan, each.plan) > 0 for each in remedies]
    if all(smaller):
        return "keeps a smaller promise"
    return "keeps the promise, or a smaller one" if any(smaller) else "keeps the promise"


def _waived(remedy: Remedy, before: Plan) -> str:
    """The waivers that waive something now, and nothing after the change."""
    if not before.profile.accept:
        return ""
    now = stale_waivers(before)
    stale = [f"`{each}`" for each in stale_waivers(remedy.plan) if each not in now]
    return f"; then remove {listed(stale)}" if stale else ""


def ranked(plan: Plan, remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The best first, as `fit` has them."""
    return tuple(sorted(remedies, key=lambda each: rank(plan, each)))


def pool_remedies(plan: Plan, trials: Trials) -> list[Remedy]:
    """What makes the pool hold the promise over its whole range, and the reserve at least by the best estimate."""
    both = (CERTAIN, LIKELY)
    found = [*_remedies(plan, trials, Budget.POOL, alone=LIKELY, together=both)]
    found += stretched(plan, trials, both, found=found)
    return undominated(plan, found)


def reserve_remedies(plan: Plan, trials: Trials) -> tuple[Remedy, ...]:
    """What makes the reserve hold, over its whole range if anything does; the pool no worse than it is."""
    memory = memory_of(plan)
    pool = pool_outcome(memory)
    certain, likely = Goal(pool=pool), Goal(pool=pool, reserve=Outcome.UNCERTAIN)
    found = tuple(_remedies(plan, trials, Budget.RESERVE, alone=certain, together=(certain,)))
    if found or reserve_outcome(memory) <= Outcome.UNCERTAIN:
        return found
    return tuple(_remedies(plan, trials, Budget.RESERVE, alone=likely, together=(likely,)))


def _remedies(
    plan: Plan, trials: Trials, budget: Budget, *, alone: Goal, together: Sequence[Goal]
) -> Iterator[Remedy]:
    """One remedy a lever that a refusal of a budget shows; where it is not certain alone, the pairs it begins, too.

    A pair takes the first of its goals that it reaches; beside a lever that is enough alone, only what is certain.
    """
    for lever in levers_of(plan):
        if budget not in lever.advised:
            continue
        tried = try_lever(lever, plan, trials, goal=alone)
        if isinstance(tried, Remedy):
            yield tried
            if holds(tried.plan.balance, CERTAIN):
                continue
        for pair in pairs_of(plan):
            if pair.first is lever and budget in pair.advised:
                goals = (CERTAIN,) if isinstance(tried, Remedy) else together
                both = try_pair(pair, plan, trials, goals=goals)
                if both is not None:
                    yield both
