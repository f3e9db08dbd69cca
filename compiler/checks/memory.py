"""Whether both budgets hold: the pool the promise, the reserve what must fit beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic, Label, Severity, error, present, warning
from compiler.memory.outcome import (
    ADVISED_CODES,
    LOAD_CODE,
    POOL_CODES,
    RESERVE_CODES,
    Outcome,
    load_outcome,
    pool_outcome,
    reserve_outcome,
)
from compiler.origins import Origins
from compiler.plan import Memory, Plan
from compiler.quantities import counted
from compiler.ranges import Range, said
from compiler.rules import rule


_POOL_SUMMARY: Mapping[Outcome, str] = {
    Outcome.UNCERTAIN: "the KV pool may be too small for the promised context",
    Outcome.LIKELY_SHORT: "the KV pool is likely too small for the promised context",
    Outcome.TOO_SMALL: "the KV pool is too small for the promised context",
}
_RESERVE_SUMMARY: Mapping[Outcome, str] = {
    Outcome.UNCERTAIN: "the reserve may be too small for what must fit beside the pool",
    Outcome.LIKELY_SHORT: "the reserve is likely too small for what must fit beside the pool",
    Outcome.TOO_SMALL: "the reserve is too small for what must fit beside the pool",
}
_LARGEST_LINES = 4
_WORTH_SAYING_GIB = 0.01
"""What is less is nothing with two decimals."""


UNLOADABLE = "weights-too-large"
"""The finding that others follow from."""
FOLLOWING = ADVISED_CODES | {"reserve-unpriced"}
"""Those: both budgets are short of what is not even loaded, and a pool of nothing lets one request run."""


@rule(UNLOADABLE, LOAD_CODE)
def weights(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The weights must fit on a GPU while they load."""
    memory = plan.memory
    result = Outcome.PASSES if memory is None else load_outcome(memory)
    if memory is None or memory.load_gib is None or result is Outcome.PASSES:
        return
    free, need = _gib(memory.free_before_load_gib), _gib(memory.load_gib)
    primary = where.primary("model.id", text=f"{need} a GPU")
    secondary = present(
        where.label("gpus.kind", f"{free} free before the load"),
        where.label("parallel.tensor", "splits what can be split"),
    )
    notes = (f"free before load {free}, the load needs {need}",)
    if result is Outcome.TOO_SMALL:
        yield error(
            UNLOADABLE,
            "the weights do not fit on the GPU",
            primary,
            secondary=secondary,
            notes=notes,
            help=(
                "use more GPUs with tensor parallelism, GPUs with more memory, or a checkpoint of fewer bits: no fraction helps",
            ),
            path="model.id",
        )
    else:
        yield warning(
            LOAD_CODE,
            "the weights may not fit on the GPU while they load",
            primary,
            secondary=secondary,
            notes=notes,
            help=(
                "a checkpoint that is stored in the bits it runs in needs no more while it loads than after that",
                "where it is seen to load, `poolproof measure` records that start, which settles it",
            ),
            path="model.id",
        )


@rule(*POOL_CODES.values())
def pool(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each pool must hold its share of `serve.concurrency` requests of `serve.context` tokens."""
    memory = plan.memory
    if memory is None or pool_outcome(memory) is Outcome.PASSES:
        return
    result = pool_outcome(memory)
    yield Diagnostic(
        code=POOL_CODES[result],
        severity=_severity(result),
        summary=_POOL_SUMMARY[result],
        primary=where.primary("serve.context", text=_need_text(plan, memory)),
        secondary=_pool_places(plan, memory, where),
        notes=(*memory.pool.best_formula, _shortfall(memory), _reserve_note(memory)),
        path="serve.context",
    )


@rule(*RESERVE_CODES.values())
def reserve(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """What the fraction leaves must hold graphs, buffers, the draft and a prefill step."""
    memory = plan.memory
    if memory is None or reserve_outcome(memory) is Outcome.PASSES:
        return
    result, there = reserve_outcome(memory), memory.reserve
    yield Diagnostic(
        code=RESERVE_CODES[result],
        severity=_severity(result),
        summary=_RESERVE_SUMMARY[result],
        primary=where.primary(
            "memory.fraction",
            text=f"leaves {_gib(there.available_gib)} for {_gib(there.needed_gib)}",
        ),
        secondary=present(
            where.label(
                "serve.max_running_requests",
                f"{counted(plan.running_each or 0, 'request', does='size')} graphs and buffers",
            ),
            where.label("memory.chunked_prefill", "sizes the activations of a prefill step"),
        ),
        notes=(
            f"free before load {_gib(memory.free_before_load_gib)}, less weights and pool, leaves {_gib(there.available_gib)}",
            *_beyond(memory),
            *_largest(memory),
            f"the reserve's margin is {_gib(there.margin_gib)}; where it is short the server dies at start or in a long prefill",
            *(f"not priced: {each}" for each in memory.unpriced),
        ),
        path="memory.fraction",
    )


@rule("reserve-unpriced")
def unpriced(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """What the reserve pays for and nobody put a figure on is said, not left out."""
    memory = plan.memory
    if memory is None or not memory.unpriced:
        return
    yield warning(
        "reserve-unpriced",
        "the reserve also pays for what has no figure here",
        where.primary(
            "memory.fraction",
            text=f"leaves the reserve a margin of {_gib(memory.reserve.margin_gib)} over what has a figure",
        ),
        notes=tuple(f"not priced: {each}" for each in memory.unpriced),
        help=("leave more reserve than the plan asks for, or watch the first long prefill",),
        path="memory.fraction",
    )


@rule("boot-set-aside")
def set_aside(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A recorded boot that cannot be of this server is said, since the plan is less exact without it."""
    memory = plan.memory
    if memory is None or not memory.set_aside:
        return
    for name, why in memory.set_aside.items():
        yield warning(
            "boot-set-aside",
            f"the recorded boot `{name}` is set aside: it cannot be of this model on these GPUs",
            where.primary("model.id", text="its weights come from elsewhere"),
            secondary=present(where.label("gpus.kind", "of the same GPUs")),
            notes=(why,),
            help=(f"record the start of `{name}` anew, or remove it",),
            path="model.id",
        )


def _severity(result: Outcome) -> Severity:
    return Severity.WARNING if result is Outcome.UNCERTAIN else Severity.ERROR


def _need_text(plan: Plan, memory: Memory) -> str:
    promised, parallel = plan.profile.serve.concurrency, plan.profile.parallel
    each, needed = parallel.share(promised), f"{memory.pool.required_tokens:,} slots"
    if each < promised:
        needed += f" on each of {parallel.data} replicas"
    whose = "" if each == promised else f" of {promised}"
    if each == 1:
        return f"one full request{whose} needs {needed}"
    return f"{each}{whose} full requests need {needed}"


def _pool_places(plan: Plan, memory: Memory, where: Origins) -> tuple[Label, ...]:
    known = memory.pool
    *others, last = (f"{cell:,}" for cell in known.cell_choices)
    choices = f"{', '.join(others)}, or {last}"
    several = len(known.cell_choices) > 1 and not known.tokens.is_exact
    asked_fit = plan.profile.memory.fraction == "fit"
    return present(
        where.label("serve.concurrency", "requests of full context at the same time")
        if plan.profile.serve.concurrency > 1
        else None,
        where.label("parallel.data", "each has a pool, and an even share of the requests")
        if plan.profile.serve.concurrency > 1 and plan.profile.parallel.data > 1
        else None,
        where.label(
            "memory.fraction",
            f"{'comes to ' + format(memory.fraction, 'g') + ', ' if asked_fit else ''}gives a pool of {_tokens(known.tokens)}",
        ),
        where.label("memory.max_pool_tokens", "caps the pool"),
        where.label("memory.kv_dtype", "sets the bytes of a token"),
        where.label(
            "engine.build", f"not known how it prices the draft's layers: {choices} B a token"
        )
        if several
        else None,
    )


def _tokens(known: Range) -> str:
    return said(known, ",.0f", unit=" tokens")


def _gib(known: Range) -> str:
    return said(known, ".2f", unit=" GiB")


def _shortfall(memory: Memory) -> str:
    known = memory.pool
    short = known.required_tokens - known.tokens.best
    if short > 0:
        return f"needed {known.required_tokens:,}; short by {short:,.0f}"
    worst = known.required_tokens - known.tokens.low
    return f"needed {known.required_tokens:,}; enough by the best estimate, short by {worst:,.0f} at worst"


def _reserve_note(memory: Memory) -> str:
    there = memory.reserve
    text = f"{_gib(there.available_gib)} for {_gib(there.needed_gib)}"
    if reserve_outcome(memory) is Outcome.PASSES:
        return f"the reserve is not the short side: {text}"
    return (
        f"the reserve is short too: {text}"
        if reserve_outcome(memory) > Outcome.UNCERTAIN
        else f"the reserve: {text}"
    )


def _beyond(memory: Memory) -> Iterator[str]:
    """Where the reserve went that no line of it tells of."""
    line = memory.beyond
    if line is not None and line.gib.best >= _WORTH_SAYING_GIB:
        yield f"taken from it by {line.item}: {_gib(line.gib)} = {line.formula}"


def _largest(memory: Memory) -> Iterator[str]:
    for line in sorted(memory.reserve_lines, key=lambda each: -each.gib.high)[:_LARGEST_LINES]:
        yield f"{line.item}: {_gib(line.gib)} = {line.formula}"
