"""About which move of a promise is enough: where a search for it begins.

A move of a promise with the fraction "fit" takes ten times as long to weigh as a fraction. So it is asked which fraction the
reserve bears at most, and how many tokens its pool holds; the reserve that the move leaves may bear another one.
"""

from __future__ import annotations

import math

from compiler.bisection import Margins, most
from compiler.plan import Balance, Plan
from compiler.planner import THOUSANDTHS
from compiler.profile import Profile
from compiler.remedy.change import Budget, Goal, Moves
from compiler.remedy.moves import memory_of, thousandths_of, with_fraction
from compiler.remedy.trials import Trials, margins


_ROUNDS = 2


def nearly_enough(moves: Moves, plan: Plan, trials: Trials, goal: Goal) -> int | None:
    """The number of the move; `None` where nothing tells."""
    if moves.sparing is None:
        return None
    required = memory_of(plan).pool.required_tokens
    if plan.profile.memory.fraction != "fit":
        return moves.nearest(moves.sparing(required - _tokens(plan.balance, goal), None))
    number, profile, near = 1, plan.profile, round(thousandths_of(plan))
    for _ in range(_ROUNDS):
        highest = _highest(profile, trials, goal, near=near)
        if highest is None:
            return None
        balance = trials.balance(with_fraction(profile, highest / THOUSANDTHS).profile)
        admitted = None if balance is None else balance.admitted
        number = moves.nearest(moves.sparing(required - _tokens(balance, goal), admitted))
        near, profile = highest, moves.at(number).profile
    return number


def _tokens(balance: Balance | None, goal: Goal) -> float:
    """What a pool holds, as a goal counts it."""
    (spare,) = margins(balance, goal, budgets=Budget.POOL)
    return spare if balance is None else spare + balance.required_tokens


def _highest(profile: Profile, trials: Trials, goal: Goal, *, near: int) -> int | None:
    """The highest fraction that the reserve bears, in thousandths."""

    def over(thousandths: int) -> Margins:
        balance = trials.balance(with_fraction(profile, thousandths / THOUSANDTHS).profile)
        return margins(balance, goal, budgets=Budget.RESERVE)

    balance = trials.balance(with_fraction(profile, near / THOUSANDTHS).profile)
    if balance is None or balance.free_gib.best <= 0:
        return None
    (spare_gib,) = margins(balance, goal, budgets=Budget.RESERVE)
    higher = math.floor(spare_gib / balance.free_gib.best * THOUSANDTHS)
    return most(low=1, high=THOUSANDTHS - 1, margins=over, guess=near + higher)
