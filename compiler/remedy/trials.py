"""Planning again with other settings, once for each set of them, and how far from a goal that leads."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from attrs import define, field

from compiler.memory.outcome import spare_gib, spare_tokens
from compiler.plan import Plan
from compiler.profile import Profile
from compiler.remedy.change import Budget, Goal
from compiler.remedy.objections import Objection, Rules


Replan = Callable[[Profile], Plan]


@define(kw_only=True)
class Trials:
    """The plans that were made on the way to an answer; levers share them.

    Attributes:
        objection: why a plan is refused for whatever reason; nothing is offered that it objects to.
    """

    replan: Replan
    objection: Objection = field(factory=Rules)
    _made: dict[Hashable, Plan] = field(factory=dict, init=False)

    @property
    def count(self) -> int:
        """How many plans were made."""
        return len(self._made)

    def plan(self, profile: Profile) -> Plan:
        """The plan of a profile that differs from the others in what levers move, and in nothing else."""
        key = (profile.serve, profile.memory, profile.speculative, profile.parallel, profile.gpus)
        if key not in self._made:
            self._made[key] = self.replan(profile)
        return self._made[key]


def margin(plan: Plan, goal: Goal, *, budgets: Budget = Budget.BOTH) -> float:
    """How far some budgets are above what a goal asks, as a share of what they need; negative where one is short.

    The scale only guides a search. A plan whose memory is not known is short of every goal.
    """
    memory = plan.memory
    if memory is None:
        return -1.0
    shares: list[float] = []
    if Budget.POOL in budgets:
        shares.append(spare_tokens(memory, worst=goal.pool) / memory.pool.required_tokens)
    if Budget.RESERVE in budgets:
        shares.append(spare_gib(memory, worst=goal.reserve) / memory.free_before_load_gib.best)
    return min(shares)


def holds(plan: Plan, goal: Goal, *, budgets: Budget = Budget.BOTH) -> bool:
    """Whether some budgets reach a goal."""
    return margin(plan, goal, budgets=budgets) >= 0


def shortfall(plan: Plan, goal: Goal) -> str:
    """What is short of a goal, in words: `the pool is 98,871 tokens short`."""
    memory = plan.memory
    if memory is None:
        return "its memory is not known"
    tokens, gib = spare_tokens(memory, worst=goal.pool), spare_gib(memory, worst=goal.reserve)
    said = [
        f"the pool is {-tokens:,.0f} tokens short" if tokens < 0 else "",
        f"the reserve is {max(-gib, 0.01):.2f} GiB short" if gib < 0 else "",
    ]
    return " and ".join(filter(None, said))
