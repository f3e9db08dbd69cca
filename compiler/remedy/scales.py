"""Everything that one setting may be: a plan in, the numbered values of what may be asked the most of out."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from attrs import frozen

from compiler.plan import Plan
from compiler.planner import THOUSANDTHS
from compiler.quantities import counted
from compiler.remedy.change import Budget, Change
from compiler.remedy.moves import (
    CONTEXT_STEP,
    asked_each,
    memory_of,
    with_concurrency,
    with_context,
    with_fraction,
    with_running,
)
from compiler.value import Value


_MOST_REQUESTS = 4096
"""More running requests than that are not tried."""
_NOT_LOOKED_AT = "larger numbers were not looked at"


class Most(StrEnum):
    """What may be asked the most of."""

    CONTEXT = "context"
    CONCURRENCY = "concurrency"
    POOL = "pool"


@frozen(kw_only=True, eq=False, repr=False)
class Scale(Value):
    """Everything that one setting may be, numbered from 1; both budgets hold less well the further up.

    Attributes:
        now: the one that the profile asks for; beyond the last where none may be.
        budgets: those that go down with it; the pool goes up with the fraction.
        bound: why nothing beyond the last is tried.
    """

    count: int
    now: int
    at: Callable[[int], Change]
    budgets: Budget = Budget.BOTH
    bound: str


def _context(plan: Plan) -> Scale:
    """In whole hundreds, with the longest of all and what is asked for now beside them: that is an answer, too."""
    limits = [each.context for each in (plan.model, plan.draft) if each is not None]
    longest, now = min(limits), plan.profile.serve.tokens
    who = "the model and its draft declare" if plan.draft is not None else "the model declares"
    bound = f"{who} no more"
    if now > longest:  # what a variable or a scaling may allow: the rules know
        bound = f"{who} {longest:,}, and the profile goes beyond that already"
    values = sorted({*range(CONTEXT_STEP, max(longest, now), CONTEXT_STEP), longest, now})
    return Scale(
        count=len(values),
        now=values.index(now) + 1,
        at=lambda number: with_context(plan.profile, values[number - 1]),
        bound=bound,
    )


def _concurrency(plan: Plan) -> Scale:
    running = plan.running_requests
    if plan.states is not None and plan.profile.memory.fraction == "fit":
        running = None  # the states of as many as are promised have room
    return Scale(
        count=running or _MOST_REQUESTS,
        now=plan.profile.serve.concurrency,
        at=lambda number: with_concurrency(plan.profile, number),
        bound=f"no more than {counted(running, 'request', does='run')} at once"
        if running
        else _NOT_LOOKED_AT,
    )


def requests(plan: Plan) -> Scale:
    """Running requests on each replica, from those that are promised on: of all that come to as many on each, the most."""
    parallel = plan.profile.parallel
    fewest = parallel.share(plan.profile.serve.concurrency)

    def at(number: int) -> Change:
        each = fewest - 1 + number
        return with_running(plan.profile, parallel.limit_of(each + 1) - 1)

    return Scale(
        count=_MOST_REQUESTS - fewest + 1,
        now=max((asked_each(plan) or 0) - fewest + 1, 1),
        at=at,
        bound=_NOT_LOOKED_AT,
    )


def _fraction(plan: Plan) -> Scale:
    """In thousandths, with the one in effect beside them."""
    now = memory_of(plan).fraction
    values = sorted({*(each / THOUSANDTHS for each in range(1, THOUSANDTHS)), now})
    return Scale(
        count=len(values),
        now=values.index(now) + 1,
        at=lambda number: with_fraction(plan.profile, values[number - 1]),
        budgets=Budget.RESERVE,
        bound="it is the highest with three decimals",
    )


SCALES: dict[Most, Callable[[Plan], Scale]] = {
    Most.CONTEXT: _context,
    Most.CONCURRENCY: _concurrency,
    Most.POOL: _fraction,
}
