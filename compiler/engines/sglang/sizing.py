"""Both budgets of one GPU: the static one with the pool, and the reserve."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.engine import Facts, Sized
from compiler.engines.sglang import limits, promise, wording
from compiler.engines.sglang.case import Case, make_case
from compiler.engines.sglang.launch import launch, requested_running_requests
from compiler.engines.sglang.loading import as_loaded
from compiler.engines.sglang.pool import PRICING, Hypothesis, spread
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.reserve import Server, reserve_lines
from compiler.engines.sglang.speculation import speculation
from compiler.facts import Evidence
from compiler.memory.weights import GIB
from compiler.plan import Line, Memory, Pool, Reserve
from compiler.profile import Profile
from compiler.ranges import total


Worlds = tuple[Hypothesis, ...]


def size(profile: Profile, facts: Facts, *, fraction: float) -> Sized:
    """Size one GPU, or say what nobody described."""
    unknowns = limits.unknowns(profile, facts)
    settings = limits.settings(profile, facts)
    rule = counting(profile.engine.version)
    if unknowns or facts.gpu is None or facts.model is None or rule is None:
        guess = speculation(settings, model=facts.model, draft=facts.draft)
        page = profile.memory.page_size or 1
        one = promise.request_tokens(profile, width=guess.verify_width, page=page)
        return Sized(
            memory=None,
            required_tokens=one * profile.serve.concurrency,
            verify_width=guess.verify_width,
            running_requests=requested_running_requests(profile),
            attention_backend=profile.engine.attention_backend,
            unknowns=unknowns,
            assumptions=limits.assumptions(profile, facts),
        )
    started = launch(
        settings,
        rule=rule,
        gpu=facts.gpu,
        model=as_loaded(facts.model, settings),
        draft=facts.draft,
    )
    case = make_case(settings, facts, started=started, fraction=fraction)
    worlds = case.worlds
    memory = memory_of(case, worlds)
    return Sized(
        memory=memory,
        required_tokens=memory.pool.required_tokens,
        verify_width=case.launch.verify_width,
        running_requests=_rows(case, worlds),
        attention_backend=case.launch.backend,
        prefill_chunk=case.launch.chunk,
        assumptions=limits.assumptions(profile, facts),
    )


def automatic_fraction(profile: Profile, facts: Facts) -> float | None:
    """The fraction the engine picks when none is given."""
    rule = counting(profile.engine.version)
    if facts.gpu is None or facts.model is None or rule is None:
        return None
    started = launch(
        limits.settings(profile, facts),
        rule=rule,
        gpu=facts.gpu,
        model=facts.model,
        draft=facts.draft,
    )
    return started.automatic_fraction


def memory_of(case: Case, worlds: Worlds) -> Memory:
    """The static budget, then the reserve that it leaves."""
    lines = reserve_lines(_server(case, worlds))
    left = (world.left_gib(case.tokens(world), fraction=case.budget_fraction) for world in worlds)
    return Memory(
        fraction=case.fraction,
        free_before_load_gib=case.free_gib,
        pool=_pool(case, worlds),
        static=tuple(_static(case, worlds)),
        reserve=Reserve(
            available_gib=spread(left),
            needed_gib=total(line.gib for line in lines),
        ),
        reserve_lines=lines,
        load_gib=case.load_gib,
        unpriced=limits.unpriced(case.profile, case.launch, case.facts),
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
        cell_bytes=round(best.cell.priced_bytes),
        cell_choices={
            round(world.cell.priced_bytes): PRICING[world.cell.pricing] for world in worlds
        },
        rest_gib=spread(world.rest_gib(case.budget_fraction) for world in worlds),
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
        evidence=Evidence.DERIVED if case.evidence is Evidence.DERIVED else Evidence.CARRIED,
        formula=wording.weights_formula(case, best),
    )
    if best.layout.states is not None:
        yield Line(
            item="states",
            gib=spread(
                world.layout.states_gib(world.rest_gib(case.budget_fraction)) for world in worlds
            ),
            evidence=case.evidence,
            formula=wording.states_formula(case, best),
        )
    yield Line(
        item="KV pool",
        gib=spread(case.tokens(world) * world.cell.target_bytes / GIB for world in worlds),
        evidence=case.evidence,
        formula=f"{tokens:,} tokens x {best.cell.target_bytes:,.0f} B",
    )
    if case.launch.guess.draft_layers:
        share = [case.tokens(world) * world.cell.draft_share_bytes / GIB for world in worlds]
        yield Line(
            item="draft's share of the pool budget",
            gib=spread(share),
            evidence=Evidence.ASSUMED if len(case.layouts) > 1 else case.evidence,
            formula=wording.draft_share_formula(best, tokens=tokens),
        )


def _rows(case: Case, worlds: Worlds) -> int:
    best = worlds[0]
    return case.launch.table_rows(case.tokens(best), state_requests=case.state_requests(best))


def _server(case: Case, worlds: Worlds) -> Server:
    rows = _rows(case, worlds)
    return Server(
        launch=case.launch,
        gpu=case.gpu,
        model=case.model,
        rows=rows,
        batches=case.launch.captured_batches(rows),
        split=case.split,
    )
