"""Which change is offered first: one order for refusals and for `fit`."""

from __future__ import annotations

from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Plan
from compiler.remedy.change import Remedy
from compiler.remedy.moves import memory_of


HALF = 0.5
"""Who gives up more of a promise than that asks for another service."""


def rank(plan: Plan, remedy: Remedy) -> tuple[bool, bool, Outcome, int, int]:
    """A change to a plan comes before those of a higher rank; `fit --help` says the order in words."""
    after = remedy.plan
    return (
        given_up(plan, after) > HALF,
        given_up(plan, after) > 0,
        memory_outcome(memory_of(after)),
        remedy.cost,
        len(remedy.settings),
    )


def given_up(before: Plan, after: Plan) -> float:
    """The share of the promised tokens that a change gives up; none is 0."""
    return 1 - _promised(after) / _promised(before)


def _promised(plan: Plan) -> int:
    serve = plan.profile.serve
    return serve.concurrency * serve.tokens
