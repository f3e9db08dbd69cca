"""Both budgets of one GPU: the static one with the pool, and the reserve."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import Facts, Sized
from compiler.engines.sglang import launch, limits, promise, wording
from compiler.engines.sglang.case import Case, make_case
from compiler.engines.sglang.pool import PRICING, Hypothesis, spread
from compiler.engines.sglang.reserve import Server, reserve_lines
from compiler.facts import Evidence
from compiler.memory.weights import GIB
from compiler.plan import Line, Memory, Pool, Reserve
from compiler.profile import Profile
from compiler.ranges import total


Worlds = tuple[Hypothesis, ...]


def size(profile: Profile, facts: Facts, *, fraction: float) -> Sized:
    """Size one GPU, or say what nobody described."""
    unknowns = limits.unknowns(profile, facts)
    width = launch.verify_width(profile, facts.draft)
    if unknowns or facts.gpu is None or facts.model is None:
        page = profile.memory.page_size or 1
        one = promise.request_tokens(profile, width=width, page=page)
        return Sized(
            memory=None,
            required_tokens=one * profile.serve.concurrency,
            verify_width=width,
            running_requests=launch.requested_running_requests(profile),
            attention_backend=profile.engine.attention_backend,
            unknowns=unknowns,
            assumptions=limits.assumptions(profile, facts),
        )
    case = make_case(profile, facts, gpu=facts.gpu, model=facts.model, fraction=fraction)
    memory = memory_of(case, facts)
    return Sized(
        memory=memory,
        required_tokens=memory.pool.required_tokens,
        verify_width=width,
        running_requests=case.launch.table_rows(memory.pool.tokens.best),
        attention_backend=case.launch.backend,
        prefill_chunk=case.launch.chunk,
        assumptions=limits.assumptions(profile, facts),
    )


def memory_of(case: Case, facts: Facts) -> Memory:
    """The static budget, then the reserve that it leaves."""
    worlds = case.worlds()
    pool = _pool(case, worlds)
    lines = reserve_lines(_server(case, pool))
    return Memory(
        fraction=case.fraction,
        free_before_load_gib=case.free_gib,
        pool=pool,
        static=tuple(_static(case, worlds)),
        reserve=Reserve(
            available_gib=spread(world.left_gib(case.tokens(world)) for world in worlds),
            needed_gib=total(line.gib for line in lines),
        ),
        reserve_lines=lines,
        unpriced=limits.unpriced(case.profile, case.launch, facts.release),
    )


def _pool(case: Case, worlds: Worlds) -> Pool:
    best = worlds[0]
    one = promise.request_tokens(
        case.profile, width=case.launch.verify_width, page=case.launch.page
    )
    return Pool(
        required_tokens=one * case.profile.serve.concurrency,
        request_tokens=one,
        tokens=spread(case.tokens(world) for world in worlds),
        cell_bytes=best.cell.priced_bytes,
        cell_choices={world.cell.priced_bytes: PRICING[world.cell.pricing] for world in worlds},
        rest_gib=spread(world.rest_gib(case.fraction) for world in worlds),
        evidence=case.evidence,
        best_formula=wording.pool_formula(case, best),
        boot=case.known.boot if case.known else None,
    )


def _static(case: Case, worlds: Worlds) -> Iterator[Line]:
    best = worlds[0]
    tokens = case.tokens(best)
    yield Line(
        item="weights",
        gib=spread(world.weights_gib for world in worlds),
        evidence=Evidence.CARRIED if case.known else Evidence.DERIVED,
        formula=wording.weights_formula(case, best),
    )
    yield Line(
        item="KV pool",
        gib=spread(case.tokens(world) * world.cell.target_bytes / GIB for world in worlds),
        evidence=case.evidence,
        formula=f"{tokens:,} tokens x {best.cell.target_bytes:,} B",
    )
    if case.draft is not None:
        share = [case.tokens(world) * world.cell.draft_share_bytes / GIB for world in worlds]
        yield Line(
            item="draft's share of the pool budget",
            gib=spread(share),
            evidence=Evidence.ASSUMED if len(case.pricings) > 1 else case.evidence,
            formula=wording.draft_share_formula(best, tokens=tokens),
        )


def _server(case: Case, pool: Pool) -> Server:
    rows = case.launch.table_rows(pool.tokens.best)
    return Server(
        launch=case.launch,
        model=case.model,
        draft=case.draft,
        rows=rows,
        batches=case.launch.captured_batches(rows),
    )
