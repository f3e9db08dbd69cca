"""PLAN.md: what a reviewer reads. A promise, both budgets line by line, what was found, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.judged import Judged, Verdict
from compiler.memory.outcome import MEMORY_CODES, Outcome, memory_outcome
from compiler.plan import Line, Memory, Plan
from compiler.quantities import Duration, counted
from compiler.ranges import Range, said
from compiler.render.beside import (
    between,
    but_alone,
    second_sentences,
    sharers,
    unseen_sentences,
)
from compiler.render.systemd import source
from compiler.render.templates import fill
from compiler.value import Value


VERDICTS = {
    Verdict.PASS: "the promise holds over the whole range of what is not known",
    Verdict.UNCERTAIN: "the promise holds by the best estimate, not over the whole range",
    Verdict.UNKNOWN: "memory is not judged: something was not described",
    Verdict.REFUSED: "the promise does not hold",
}

BUT_UNPRICED = "; what is not priced below is left out of it, and takes of the reserve's margin"


@frozen(kw_only=True, eq=False, repr=False)
class Row(Value):
    """One row of a budget's table."""

    item: str
    low: str
    best: str
    high: str
    evidence: str
    formula: str


@frozen(kw_only=True, eq=False, repr=False)
class Setting(Value):
    """One row of the promise's table: what was asked for, and what comes of it."""

    what: str
    promised: str
    planned: str


def render_review(several: Sequence[Judged]) -> str:
    """The text of PLAN.md for one profile on all its targets; memory is the same on each of them."""
    return fill("plan.md.j2", **review_values(several))


def review_values(several: Sequence[Judged]) -> dict[str, object]:
    """What the template of the review prints."""
    first = several[0]
    plan = first.planned
    memory = plan.memory
    return {
        "source": source(plan),
        "name": plan.profile_name,
        "description": plan.profile.description,
        "verdict": first.verdict.value,
        "meaning": f"{_meaning(first.verdict, memory)}{but_alone(several)}",
        "deployment": _deployment(plan),
        "promise": tuple(_promise(plan)),
        "pool_steps": tuple(memory.pool.best_formula) if memory else (),
        "pool": _pool_sentence(plan, memory) if memory else None,
        "cells": cell_sentences(memory) if memory else (),
        "static": tuple(map(budget_row, memory.static)) if memory else (),
        "reserve": tuple(reserve_rows(memory)) if memory else (),
        "margin": margin_sentence(memory) if memory else None,
        "unpriced": memory.unpriced if memory else (),
        "findings": tuple(_finding(each) for each in first.diagnostics),
        "changes": tuple(_changes(first.diagnostics, of_memory=True)),
        "advice": tuple(_changes(first.diagnostics, of_memory=False)),
        "beside": (
            *(_finding(each.found) for each in between(several)),
            *unseen_sentences(several),
        ),
        "shared": bool(sharers(several)),
        "second": tuple(second_sentences(several)),
        "accepted": tuple(sorted(plan.profile.accept.items())),
        "assumptions": plan.assumptions,
        "services": tuple(_service(each) for each in several),
    }


def _meaning(verdict: Verdict, memory: Memory | None) -> str:
    """What a verdict says, and what it leaves out."""
    if memory is None or verdict in (Verdict.UNKNOWN, Verdict.REFUSED):
        return VERDICTS[verdict]
    short = memory_outcome(memory) > Outcome.UNCERTAIN
    said = f"by the best estimate {_short(memory)}; accepted" if short else VERDICTS[verdict]
    return f"{said}{BUT_UNPRICED if memory.unpriced else ''}"


def _short(memory: Memory) -> str:
    """What is short by the best estimate."""
    tokens = memory.pool.required_tokens - memory.pool.tokens.best
    gib = -memory.reserve.margin_gib.best
    said = (
        f"the pool is {counted(tokens, 'token')} short" if tokens > 0 else "",
        f"the reserve is {gib:.2f} GiB short" if gib > 0 else "",
    )
    return " and ".join(filter(None, said))


def _deployment(plan: Plan) -> str:
    engine, gpus, parallel = plan.profile.engine, plan.profile.gpus, plan.profile.parallel
    build = f" with the build `{engine.build}`" if engine.build else ""
    layout = f"tensor parallel {parallel.tensor}"
    for name, size in (
        ("pipeline", parallel.pipeline),
        ("data", parallel.data),
        ("expert", parallel.expert),
    ):
        layout += f", {name} parallel {size}" if size > 1 else ""
    return (
        f"`{plan.profile.model.id}` on {gpus.count} x `{gpus.kind}`, {layout}, "
        f"{engine.name} {engine.version}{build}{_speculation(plan)}"
    )


def _speculation(plan: Plan) -> str:
    speculative = plan.profile.speculative
    if speculative is None:
        return ""
    draft = f" with `{speculative.draft}`" if speculative.draft else ""
    return f", {speculative.algorithm}{draft}"


def _promise(plan: Plan) -> Iterator[Setting]:
    serve, memory, effective = plan.profile.serve, plan.memory, plan.effective
    yield Setting(
        what="context of one request, tokens",
        promised=serve.context if isinstance(serve.context, str) else f"{serve.context:,}",
        planned=f"{effective.context:,}" if effective else "not known",
    )
    yield Setting(
        what="requests of that context at once",
        promised=str(serve.concurrency),
        planned=str(effective.concurrency) if effective else "not known",
    )
    if plan.required_tokens is not None:
        yield Setting(
            what="KV pool, tokens"
            if plan.profile.parallel.data == 1
            else "KV pool of each replica, tokens",
            promised=f"{plan.required_tokens:,}",
            planned=said(memory.pool.tokens, ",.0f")
            if memory
            else f"not known; {_comparing(plan)} compares it",
        )
    if memory is not None:
        yield Setting(
            what="static fraction",
            promised=f"{plan.profile.memory.fraction}",
            planned=f"{memory.fraction:g}",
        )
    yield Setting(
        what="requests running at once",
        promised=_limit(plan),
        planned=_running(plan),
    )


def _limit(plan: Plan) -> str:
    asked, parallel = plan.profile.serve.max_running_requests, plan.profile.parallel
    if asked is None:
        return "engine's default"
    whole = parallel.data > 1 and parallel.limit_shares == 1
    return f"{asked} on each of {parallel.data} replicas" if whole else str(asked)


def _running(plan: Plan) -> str:
    """All of the server's, and those of each pool where there are several."""
    if plan.running_requests is None:
        return "not known"
    replicas = plan.profile.parallel.data
    of_each = f", {plan.running_each} on each of {replicas} replicas" if replicas > 1 else ""
    return f"{plan.running_requests}{of_each}{_by_states(plan)}"


def _by_states(plan: Plan) -> str:
    """What bounds them where it is a pool that no setting names."""
    states = plan.bounding_states
    if states is None:
        return ""
    return f", by {counted(states.slots, 'slot')} of states, {states.per_request} a request"


def _pool_sentence(plan: Plan, memory: Memory) -> str:
    pool, replicas = memory.pool, plan.profile.parallel.data
    of_each = f" of each of {replicas} replicas" if replicas > 1 else ""
    return (
        f"One request of full context needs {pool.request_tokens:,} slots, the promise {pool.required_tokens:,}{of_each}. "
        f"The pool holds {said(pool.tokens, ',.0f')} tokens ({pool.evidence.value})."
    )


def cell_sentences(memory: Memory) -> tuple[str, ...]:
    """What a token may cost, where that is not known."""
    choices = memory.pool.cell_choices
    return (
        tuple(f"{cell:,} B a token if {why}" for cell, why in choices.items())
        if len(choices) > 1
        else ()
    )


def reserve_rows(memory: Memory) -> Iterator[Row]:
    """The lines of the reserve, then what it needs in all and what there is for it."""
    yield from (budget_row(line) for line in memory.reserve_lines)
    yield _row("needed in all", memory.reserve.needed_gib)
    yield _row("left beside weights and pool", memory.reserve.available_gib)


def budget_row(line: Line) -> Row:
    """A line of a budget as text, GiB to a hundredth."""
    return _row(line.item, line.gib, evidence=line.evidence.value, formula=line.formula)


def _row(item: str, gib: Range, *, evidence: str = "", formula: str = "") -> Row:
    return Row(
        item=item,
        low=f"{gib.low:.2f}",
        best=f"{gib.best:.2f}",
        high=f"{gib.high:.2f}",
        evidence=evidence,
        formula=formula,
    )


def margin_sentence(memory: Memory) -> str:
    """What is left of the reserve, said so that a first reader knows what it is."""
    margin = memory.reserve.margin_gib
    figures = f"{margin.best:.2f} GiB ({margin.low:.2f} to {margin.high:.2f})"
    return f"The reserve's margin, what it has more than it needs: {figures}."


def _finding(each: Diagnostic) -> str:
    return f"{each.severity.value} `{each.code}`: {each.told}"


def _changes(found: Sequence[Diagnostic], *, of_memory: bool) -> Iterator[str]:
    """The lines of the advice that changes the verdict, or of all the other, but for commands to run."""
    for each in found:
        if (each.code in MEMORY_CODES) is of_memory:
            yield from each.mends


def _service(judged: Judged) -> tuple[str, ...]:
    plan = judged.plan
    if plan is None or plan.service is None:
        raise ValueError(f"{judged.profile_name} has no target to write for")
    service = plan.service
    return (
        plan.target_name or "",
        f"{service.unit}.service",
        str(Duration(service.start_timeout_s)),
        f"{service.restarts} in {Duration(service.start_limit_interval_s)}",
    )


def _comparing(plan: Plan) -> str:
    """What compares the pool when the server runs."""
    if plan.probe is None:
        return "nothing"
    return "the probe of another node" if plan.untold else "the probe"
