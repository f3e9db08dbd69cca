"""The help of a refusal: the smallest changes that pass, one per lever, found by planning again.

Made after the checks: a rule judges a plan and may not plan another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from compiler.checks.memory import POOL_CODES, RESERVE_CODES
from compiler.diagnostics import Diagnostic
from compiler.memory.outcome import Outcome, pool_outcome, reserve_outcome
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Budget, Goal, Remedy
from compiler.remedy.levers import LEVERS, PAIRS
from compiler.remedy.moves import memory_of
from compiler.remedy.search import try_lever, try_pair
from compiler.remedy.trials import Replan, Trials


def advise(plan: Plan, found: tuple[Diagnostic, ...], *, replan: Replan) -> tuple[Diagnostic, ...]:
    """The findings about memory with what mends them; the others as they are."""
    trials = Trials(replan=replan)
    return tuple(_advised(each, plan, trials) for each in found)


def _advised(each: Diagnostic, plan: Plan, trials: Trials) -> Diagnostic:
    if plan.memory is None or any(note.startswith("accepted: ") for note in each.notes):
        return each
    if each.code in POOL_CODES.values():
        return evolve(each, help=_help(each.code, tuple(pool_remedies(plan, trials)), plan))
    if each.code in RESERVE_CODES.values() and pool_outcome(plan.memory) <= Outcome.UNCERTAIN:
        return evolve(each, help=_help(each.code, reserve_remedies(plan, trials), plan))
    return each


def _help(code: str, remedies: tuple[Remedy, ...], plan: Plan) -> tuple[str, ...]:
    more = f"for more: poolproof fit {plan.profile_name}, poolproof explain {code}"
    if not remedies:
        return (f"no single setting mends {plan.profile_name}; promise less, or add GPUs", more)
    width = max(len(str(each)) for each in remedies)
    lines = [f"{str(each).ljust(width)}  {each.gives}" for each in remedies]
    lead = "this keeps the promise" if len(remedies) == 1 else "any one of these keeps the promise"
    return ("\n".join([f"{lead} (figures are best estimates)", *lines]), more)


def pool_remedies(plan: Plan, trials: Trials) -> Iterator[Remedy]:
    """What makes the pool hold the promise over its whole range, and the reserve at least by the best estimate."""
    yield from _remedies(plan, trials, Budget.POOL, alone=LIKELY, together=(CERTAIN, LIKELY))


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
    """One remedy a lever that a refusal of a budget shows; where it is not enough alone, the pair it begins.

    A pair takes the first of its goals that it reaches.
    """
    for lever in LEVERS:
        if budget not in lever.advised:
            continue
        tried = try_lever(lever, plan, trials, goal=alone)
        if isinstance(tried, Remedy):
            yield tried
            continue
        for pair in PAIRS:
            if pair.first is lever and budget in pair.advised:
                both = try_pair(pair, plan, trials, goals=together)
                if both is not None:
                    yield both
