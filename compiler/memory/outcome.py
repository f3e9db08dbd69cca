"""How a need compares with what there is, when either is a range."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from compiler.plan import Balance, Memory
from compiler.ranges import Range


class Outcome(IntEnum):
    """From good to bad; the worst of several is their maximum."""

    PASSES = 0
    """Enough even at the low end."""
    UNCERTAIN = 1
    """Enough by the best estimate."""
    LIKELY_SHORT = 2
    """Enough at the high end only."""
    TOO_SMALL = 3
    """Not enough over the whole range."""


POOL_CODES: Mapping[Outcome, str] = {
    Outcome.UNCERTAIN: "pool-uncertain",
    Outcome.LIKELY_SHORT: "pool-likely-short",
    Outcome.TOO_SMALL: "pool-too-small",
}
RESERVE_CODES: Mapping[Outcome, str] = {
    Outcome.UNCERTAIN: "reserve-uncertain",
    Outcome.LIKELY_SHORT: "reserve-likely-short",
    Outcome.TOO_SMALL: "reserve-too-small",
}
MEMORY_CODES = frozenset((*POOL_CODES.values(), *RESERVE_CODES.values()))
"""The findings that a verdict about memory is made of; every other one leaves it as it is."""
LIMIT_CODE = "concurrency-beyond-limit"
LOAD_CODE = "weights-uncertain"
ADVISED_CODES = MEMORY_CODES | {LIMIT_CODE, LOAD_CODE}
"""Those of which changes are tried, so that what mends them is offered; the others say it by themselves."""


def outcome(need: float, there: Range) -> Outcome:
    """Where `need` stands in the range of what is there."""
    if need <= there.low:
        return Outcome.PASSES
    if need <= there.best:
        return Outcome.UNCERTAIN
    if need <= there.high:
        return Outcome.LIKELY_SHORT
    return Outcome.TOO_SMALL


def pool_outcome(memory: Memory) -> Outcome:
    """Whether the pool holds the promise."""
    return outcome(memory.pool.required_tokens, memory.pool.tokens)


def reserve_outcome(memory: Memory) -> Outcome:
    """Whether what the fraction leaves free holds what must fit there."""
    return outcome(0.0, memory.reserve.margin_gib)


BUDGETS = ((pool_outcome, POOL_CODES), (reserve_outcome, RESERVE_CODES))
"""What judges each budget, and the code of what it finds."""


def load_outcome(memory: Memory) -> Outcome:
    """Whether what is free holds the weights while they load; never just likely."""
    need, free = memory.load_gib, memory.free_before_load_gib
    if need is None or need.best <= free.high:
        return Outcome.PASSES
    return Outcome.TOO_SMALL if need.low > free.high else Outcome.UNCERTAIN


def spare_tokens(balance: Balance, *, worst: Outcome) -> float:
    """What the pool holds beside the promise; not negative just where `pool_outcome` is at most `worst`, no certain loss."""
    there = balance.tokens
    if worst is Outcome.LIKELY_SHORT:  # which is accepted
        return there.high - balance.required_tokens
    return (there.low if worst is Outcome.PASSES else there.best) - balance.required_tokens


def spare_gib(balance: Balance, *, worst: Outcome) -> float:
    """What the reserve has left over, GiB; not negative just where `reserve_outcome` is at most `worst`, a good one."""
    margin = balance.reserve.margin_gib
    return margin.low if worst is Outcome.PASSES else margin.best


def memory_outcome(memory: Memory) -> Outcome:
    """The worse of both budgets."""
    return max(pool_outcome(memory), reserve_outcome(memory))
