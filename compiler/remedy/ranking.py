"""Which change is offered first: one order for refusals and for `fit`."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Plan
from compiler.remedy.change import Cost, Remedy
from compiler.remedy.moves import memory_of


HALF = 0.5
"""Who gives up more of a promise than that asks for another service."""
LESS = 0.8
"""The share of what is given up otherwise; where it is more, nobody takes another change for it."""


def rank(plan: Plan, remedy: Remedy) -> tuple[bool, bool, Outcome, int, int, int]:
    """A change to a plan comes before those of a higher rank; `fit --help` says the order in words."""
    after = remedy.plan
    return (
        given_up(plan, after) > HALF,
        given_up(plan, after) > 0,
        memory_outcome(memory_of(after)),
        remedy.cost,
        after.profile.gpus.count,
        len(remedy.settings),
    )


def undominated(plan: Plan, remedies: Sequence[Remedy]) -> list[Remedy]:
    """Without what gives up more of the promise than another that gives up a part of it, is as sure, and costs nothing more."""
    return [
        each
        for each in remedies
        if not any(_beats(other, each, plan) for other in remedies if other is not each)
    ]


def _beats(one: Remedy, other: Remedy, plan: Plan) -> bool:
    if not 0 < given_up(plan, one.plan) < given_up(plan, other.plan):
        return False
    more = [each.cost for each in one.levers if each not in other.levers]
    sure = memory_outcome(memory_of(one.plan)) <= memory_outcome(memory_of(other.plan))
    return sure and all(each is Cost.NOTHING for each in more)


def given_up(before: Plan, after: Plan) -> float:
    """The share of the promised tokens that a change gives up; none is 0."""
    return 1 - _promised(after) / _promised(before)


def mostly_given_up(before: Plan, after: Plan) -> str:
    """That most of a promise is given up, and how much; empty where it is not."""
    share = given_up(before, after)
    return f"{share * 100:.0f} % of the promise is given up" if share > HALF else ""


def _promised(plan: Plan) -> int:
    serve = plan.profile.serve
    return serve.concurrency * serve.tokens
