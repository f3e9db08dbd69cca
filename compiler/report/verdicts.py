"""One line a service: its verdict and the numbers that decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.accept import accepted_of
from compiler.diagnostics import Diagnostic, error_codes, printable
from compiler.judged import Judged, Verdict
from compiler.memory.outcome import MEMORY_CODES
from compiler.plan import Plan
from compiler.ranges import Range


def verdict_lines(judged: Sequence[Judged], *, beside: Sequence[Diagnostic] = ()) -> Iterator[str]:
    """The verdict of each service, aligned; an error `beside` them, such as one of the file they are of, refuses all."""
    names = [_name(each) for each in judged]
    wide = max((len(name) for name in names), default=0)
    for name, each in zip(names, judged, strict=True):
        yield f"{name.ljust(wide)}  {_said(each, beside=beside)}".rstrip()


def tree_lines(beside: Sequence[Diagnostic], judged: Sequence[Judged]) -> Iterator[str]:
    """What refuses a tree and none of its services that are shown."""
    told = {code for each in judged for code in error_codes(each.neighbours)}
    codes = [code for code in error_codes(beside) if code not in told]
    if codes:
        yield f"the tree  refused by {', '.join(codes)}: see the errors"


def verdict_line(judged: Judged) -> str:
    """The verdict of one service and its numbers."""
    return _said(judged, wide=0)


def _said(judged: Judged, *, wide: int = 9, beside: Sequence[Diagnostic] = ()) -> str:
    """The worst first: what refuses a service whose memory passes, be it between it and others; then the verdict on memory."""
    codes = error_codes((*beside, *judged.diagnostics, *judged.neighbours))
    if judged.plan is None and not codes:
        return judged.verdict.value
    if judged.plan is None:
        return f"refused by {', '.join(codes)}; not planned: see the errors"
    others = [code for code in codes if code not in MEMORY_CODES]
    if not others and (not codes or judged.verdict is Verdict.REFUSED):
        return f"{judged.verdict.value:<{wide}}  {_numbers(judged)}".rstrip()
    return refused_by(others or codes, judged.verdict, _numbers(judged))


def refused_by(codes: Sequence[str], verdict: Verdict, numbers: str) -> str:
    """The codes of errors that a verdict about memory says nothing of, before that verdict and its numbers."""
    said = ", ".join(filter(None, (verdict.value, numbers)))
    return f"refused by {', '.join(codes)}; memory: {said}"


def prediction_lines(judged: Judged, *, promised: str = "") -> Iterator[str]:
    """What a launch command comes to: its verdict, what is `promised`, the arithmetic, and what is not known."""
    plan = judged.plan
    yield _said(judged, wide=0)
    if plan is None:
        return
    yield from (f"  promised: {each}" for each in (promised,) if each)
    if plan.memory is not None:
        # A finding about the pool has the same steps among its notes.
        told = {note for each in judged.diagnostics for note in each.notes}
        yield from (f"  {step}" for step in plan.memory.pool.best_formula if step not in told)
        yield from (f"  not priced: {each}" for each in plan.memory.unpriced)
    yield from (f"  assumed: {each}" for each in plan.assumptions)


def _name(judged: Judged) -> str:
    name = printable(judged.profile_name)
    return name if judged.target_name is None else f"{name} on {judged.target_name}"


def _numbers(judged: Judged) -> str:
    return "" if judged.plan is None else memory_numbers(judged.plan)


def memory_numbers(plan: Plan) -> str:
    """What is accepted of them, and both budgets on one line: what there is, for what is needed; nothing where memory is not known."""
    if plan.memory is None:
        return ""
    pool, reserve = plan.memory.pool, plan.memory.reserve
    return (
        f"{_accepted(plan)}pool {_tokens(pool.tokens)} for {pool.required_tokens:,} tokens ({pool.evidence.value}{_spread(plan)}); "
        f"reserve {_gib(reserve.available_gib)} for {_gib(reserve.needed_gib)} GiB"
    )


def _accepted(plan: Plan) -> str:
    """What of its memory is short or not sure, and accepted: `accepted: pool-likely-short; `."""
    codes = accepted_of(plan)
    return f"accepted: {', '.join(codes)}; " if codes else ""


def _spread(plan: Plan) -> str:
    """How much of the promise each pool must hold, where there are several."""
    promised, parallel = plan.profile.serve.concurrency, plan.profile.parallel
    each = parallel.share(promised)
    if each == promised:
        return "" if parallel.data == 1 else f", on each of {parallel.data} replicas"
    return f", {each} of {promised} requests on each of {parallel.data} replicas"


def _tokens(known: Range) -> str:
    return f"{known.best:,.0f}" if known.is_exact else f"{known.low:,.0f}..{known.high:,.0f}"


def _gib(known: Range) -> str:
    low, high = f"{known.low:.1f}", f"{known.high:.1f}"
    return low if low == high else f"{low}..{high}"
