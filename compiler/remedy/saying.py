"""Plans before and after a change in; what levers say of both budgets out."""

from __future__ import annotations

from compiler.plan import Plan
from compiler.ranges import Range
from compiler.remedy.moves import memory_of


def tokens(plan: Plan) -> float:
    """Slots of the pool, by the best estimate."""
    return memory_of(plan).pool.tokens.best


def pool(plan: Plan) -> str:
    """The pool, in tokens."""
    return f"pool {tokens(plan):,.0f}"


def span(known: Range) -> str:
    """A range of GiB."""
    return f"{known.low:.1f} to {known.high:.1f} GiB"


def reserve_needs(after: Plan) -> str:
    """What is needed of the reserve after it."""
    return f"needs {span(memory_of(after).reserve.needed_gib)}"


def reserve_moves(before: Plan, after: Plan) -> str:
    """The reserve before and after, and what is needed of it."""
    old, new = memory_of(before).reserve, memory_of(after).reserve
    need = f"{new.needed_gib.low:.1f} to {new.needed_gib.high:.1f}"
    return f"reserve {old.available_gib.best:.2f} -> {new.available_gib.best:.2f} GiB for {need}"
