"""A plan in that keeps its promise; the fraction to begin with out, where all that is asked is a promise."""

from __future__ import annotations

import math

from attrs import evolve

from compiler.memory.cards import UNIFIED_MOST
from compiler.plan import Plan
from compiler.planner import THOUSANDTHS
from compiler.profile import AUTO
from compiler.remedy.change import CERTAIN
from compiler.remedy.moves import memory_of, thousandths_of, with_fraction
from compiler.remedy.room import most_that_passes
from compiler.remedy.scales import Most
from compiler.remedy.trials import Trials, holds


def usual_fraction(plan: Plan, trials: Trials) -> float | None:
    """What the engine would pick, or as near to it as promise and reserve surely hold; `None` where no fraction does.

    The least fraction that keeps the promise leaves the rest of the GPU idle, while a larger pool keeps prefixes. Where the
    host uses the same memory, no more is taken than leaves it enough, but for a promise that needs it.
    """
    wished = _picked(plan, trials)
    if plan.gpu is not None and plan.gpu.unified:
        wished = min(wished, round(UNIFIED_MOST * THOUSANDTHS))
    usual = with_fraction(plan.profile, max(memory_of(plan).fraction, wished / THOUSANDTHS)).profile
    if not holds(trials.balance(usual), CERTAIN) or trials.objection(usual) is not None:
        surest = most_that_passes(Most.POOL, plan, trials)
        if surest is None or not holds(surest.plan.balance, CERTAIN):
            return None
        usual = surest.plan.profile
    return usual.memory.fraction if isinstance(usual.memory.fraction, float) else None


def picked_fraction(plan: Plan, trials: Trials) -> float:
    """What the engine would pick by itself, in whole thousandths."""
    return _picked(plan, trials) / THOUSANDTHS


def _picked(plan: Plan, trials: Trials) -> int:
    own = trials.plan(evolve(plan.profile, memory=evolve(plan.profile.memory, fraction=AUTO)))
    if own.memory is None:
        return math.floor(thousandths_of(plan))
    return math.floor(own.memory.fraction * THOUSANDTHS)
