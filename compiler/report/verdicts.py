"""One line a service: its verdict and the numbers that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.judged import Judged, Verdict
from compiler.language.shapes import printable
from compiler.plan import Memory
from compiler.ranges import Range


def verdict_lines(judged: Sequence[Judged]) -> Iterator[str]:
    """The verdict of each service, aligned."""
    names = [_name(each) for each in judged]
    wide = max((len(name) for name in names), default=0)
    for name, each in zip(names, judged, strict=True):
        said = "; ".join(filter(None, (_numbers(each), _beside(each))))
        yield f"{name.ljust(wide)}  {each.verdict.value:<9}  {said}".rstrip()


def _beside(judged: Judged) -> str:
    """The errors that the verdict, which is about memory, says nothing of."""
    if judged.plan is None:
        return "not planned: see the errors"
    errors = [each for each in judged.diagnostics if each.is_error]
    if not errors or judged.verdict is Verdict.REFUSED:
        return ""
    return f"refused by {', '.join(dict.fromkeys(each.code for each in errors))}"


def prediction_lines(judged: Judged) -> Iterator[str]:
    """What a launch command comes to: its verdict, the arithmetic, and what is not known."""
    yield f"{judged.verdict.value}  {_numbers(judged)}".rstrip()
    plan = judged.plan
    if plan is None:
        return
    if plan.memory is not None:
        yield from (f"  {step}" for step in plan.memory.pool.best_formula)
        yield from (f"  not priced: {each}" for each in plan.memory.unpriced)
    yield from (f"  assumed: {each}" for each in plan.assumptions)


def _name(judged: Judged) -> str:
    name = printable(judged.profile_name)
    return name if judged.target_name is None else f"{name} on {judged.target_name}"


def _numbers(judged: Judged) -> str:
    memory = judged.plan.memory if judged.plan else None
    return "" if memory is None else memory_numbers(memory)


def memory_numbers(memory: Memory) -> str:
    """Both budgets on one line: what there is, for what is needed."""
    pool, reserve = memory.pool, memory.reserve
    return (
        f"pool {_tokens(pool.tokens)} for {pool.required_tokens:,} tokens ({pool.evidence.value}); "
        f"reserve {_gib(reserve.available_gib)} for {_gib(reserve.needed_gib)} GiB"
    )


def _tokens(known: Range) -> str:
    return f"{known.best:,.0f}" if known.is_exact else f"{known.low:,.0f}..{known.high:,.0f}"


def _gib(known: Range) -> str:
    low, high = f"{known.low:.1f}", f"{known.high:.1f}"
    return low if low == high else f"{low}..{high}"
