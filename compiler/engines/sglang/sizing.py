"""Both budgets of one GPU: the static one with the pool, and the reserve."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from compiler.engines.engine import Facts
from compiler.engines.sglang import limits, promise, wording
from compiler.engines.sglang.adapters import adapters
from compiler.engines.sglang.case import Case, make_case
from compiler.engines.sglang.features import handing_assumption
from compiler.engines.sglang.ground import Ground, make_ground
from compiler.engines.sglang.launch import launch
from compiler.engines.sglang.loading import as_loaded
from compiler.engines.sglang.offloading import fetched_gib
from compiler.engines.sglang.pool import PRICING, spread
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.reserve import Server, reserve_lines
from compiler.engines.sglang.reserve.aiter import asks_unified
from compiler.engines.sglang.running import over_all, requested_requests
from compiler.engines.sglang.settings import settings_of
from compiler.engines.sglang.speculation import speculation
from compiler.engines.sized import Fixed, Sized, Sizer
from compiler.facts import Evidence
from compiler.memory.weights import GIB
from compiler.plan import Balance, Line, Memory, Pool, Reserve
from compiler.profile import Profile
from compiler.ranges import Range, total
from compiler.value import Value


_ANY_FRACTION, _ROUNDS = 0.9, 2
"""The worlds of any fraction are nearly those of another; those of the fraction that they lead to are nearer."""


def sizer(profile: Profile, facts: Facts) -> Sizer:
    """What sizes one GPU at a fraction, or says what nobody described; what no fraction changes is worked out once."""
    settings = settings_of(profile, facts.release)
    unknowns = limits.unknowns(settings, facts)
    rule = counting(profile.engine.version)
    if unknowns or facts.gpu is None or facts.model is None or rule is None:
        guess = speculation(settings, model=facts.model, draft=facts.draft)
        page = profile.memory.page_size or 1
        most = facts.request_tokens
        one = promise.request_tokens(profile, most, width=guess.verify_width, page=page)
        asked = over_all(requested_requests(profile, facts.model), profile)
        unsized = Sized(
            memory=None,
            required_tokens=one * profile.parallel.share(profile.serve.concurrency),
            verify_width=guess.verify_width,
            running_requests=asked,
            sized_for=asked,
            attention_backend=profile.engine.attention_backend,
            unknowns=unknowns,
            assumptions=(*limits.assumptions(settings, facts), *promise.dealt_out(profile)),
        )
        return Fixed(sized=unsized)
    started = launch(
        settings,
        rule=rule,
        gpu=facts.gpu,
        model=as_loaded(facts.model, settings),
        draft=facts.draft,
    )
    return _Sizer(ground=make_ground(settings, facts, started=started))


@frozen(kw_only=True, eq=False, repr=False)
class _Sizer(Value):
    """Sizes one GPU at a fraction; the reserve is priced once for each number of rows."""

    ground: Ground
    _priced: dict[int, tuple[tuple[Line, ...], Range]] = field(factory=dict, init=False)

    def __call__(self, fraction: float) -> Sized:
        ground, started = self.ground, self.ground.launch
        case = make_case(ground, fraction=fraction)
        rows = _rows(case)
        lines, needed = self._reserve(rows)
        memory = _memory(case, lines, _balance(case, needed))
        return Sized(
            memory=memory,
            required_tokens=memory.pool.required_tokens,
            verify_width=started.verify_width,
            running_requests=over_all(rows, case.profile),
            sized_for=over_all(started.running_requests, case.profile),
            states=case.states(case.worlds[0]),
            attention_backend=started.backend,
            prefill_chunk=started.chunk,
            unfolds=started.unfolding.unfolds,
            adapters=adapters(ground.settings),
            assumptions=(
                *_assumptions(ground),
                *promise.dealt_out(case.profile, pool=memory.pool, rows=rows),
            ),
        )

    def balance(self, fraction: float) -> Balance:
        case = make_case(self.ground, fraction=fraction)
        _, needed = self._reserve(_rows(case))
        return _balance(case, needed)

    def least_spare(self, fraction: float) -> tuple[float, ...]:
        case = make_case(self.ground, fraction=fraction)
        tokens = case.least_pool - self.ground.required_tokens
        slots = case.spare_slots if self.ground.has_states else None
        return (tokens,) if slots is None else (tokens, slots)

    def nearly_least(self) -> float | None:
        ground = self.ground
        if ground.has_states:
            return None  # whole slots of them make steps, which take as long as asking does
        rests = {
            id(each): next(iter(each.rests_gib(ground.required_tokens))) for each in ground.layouts
        }
        fraction, scale = _ANY_FRACTION, ground.launch.fraction_scale
        for _ in range(_ROUNDS):
            worlds = make_case(ground, fraction=fraction).worlds
            if any(each.free_gib <= 0 for each in worlds):
                return None
            shares = (
                (rests[id(each.layout)] + each.weights_gib) / each.free_gib for each in worlds
            )
            fraction = max(shares, default=0.0) / scale
        return fraction

    def _reserve(self, rows: int) -> tuple[tuple[Line, ...], Range]:
        if rows not in self._priced:
            lines = _reserve_lines(self.ground, rows)
            self._priced[rows] = lines, total(line.gib for line in lines)
        return self._priced[rows]


def _assumptions(ground: Ground) -> Iterator[str]:
    """What is taken for granted at every fraction."""
    yield from limits.assumptions(ground.settings, ground.facts)
    handing = handing_assumption(ground.settings, ground.launch)
    if handing is not None:
        yield handing
    for name, why in ground.weighing.doubted.items():
        yield f"the recorded boot `{name}` is set aside: {why}"


def automatic_fraction(profile: Profile, facts: Facts) -> float | None:
    """The fraction the engine picks when none is given."""
    rule = counting(profile.engine.version)
    if facts.gpu is None or facts.model is None or rule is None:
        return None
    started = launch(
        settings_of(profile, facts.release),
        rule=rule,
        gpu=facts.gpu,
        model=facts.model,
        draft=facts.draft,
    )
    return started.automatic_fraction


def _balance(case: Case, needed: Range) -> Balance:
    """The static budget, then the reserve that it leaves."""
    fraction = case.budget_fraction
    left = (
        world.left_gib(tokens, fraction=fraction) + case.ground.weighing.released_gib
        for world, tokens in zip(case.worlds, case.pools, strict=True)
    )
    return Balance(
        free_gib=case.free_gib,
        required_tokens=case.ground.required_tokens,
        tokens=spread(case.pools),
        reserve=Reserve(available_gib=spread(left), needed_gib=needed),
        admitted=case.admitted,
    )


def _memory(case: Case, lines: tuple[Line, ...], balance: Balance) -> Memory:
    """Both budgets line by line."""
    return Memory(
        fraction=case.fraction,
        free_before_load_gib=balance.free_gib,
        pool=_pool(case, balance),
        static=tuple(_static(case)),
        reserve=balance.reserve,
        reserve_lines=lines,
        load_gib=case.load_gib,
        beyond=_beyond(case),
        unpriced=limits.unpriced(case.ground.settings, case.launch, case.facts),
        set_aside=case.ground.weighing.doubted,
        admitted=balance.admitted,
    )


def _pool(case: Case, balance: Balance) -> Pool:
    worlds = case.worlds
    best = worlds[0]
    return Pool(
        required_tokens=balance.required_tokens,
        request_tokens=case.ground.request_tokens,
        tokens=balance.tokens,
        cell_bytes=round(best.cell.priced_bytes),
        cell_choices={
            round(world.cell.priced_bytes): PRICING[world.cell.pricing] for world in worlds
        },
        rest_gib=spread(world.rest_gib(case.budget_fraction) for world in worlds),
        evidence=case.evidence,
        best_formula=wording.pool_formula(case, best),
        boot=case.known.boot if case.known else None,
    )


def _static(case: Case) -> Iterator[Line]:
    worlds, pools = case.worlds, case.pools
    best, tokens = worlds[0], pools[0]
    yield Line(
        item="weights",
        gib=case.weights_gib,
        evidence=Evidence.DERIVED if case.evidence is Evidence.DERIVED else Evidence.CARRIED,
        formula=wording.weights_formula(case, best),
    )
    for place, (name, _) in enumerate(best.layout.taken):
        yield Line(
            item=name,
            gib=spread(world.layout.taken[place][1] for world in worlds),
            evidence=Evidence.DERIVED,
            formula="taken after the weights, before the pool is sized",
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
        gib=spread(
            each * world.cell.target_bytes / GIB for world, each in zip(worlds, pools, strict=True)
        ),
        evidence=case.evidence,
        formula=f"{tokens:,} tokens x {best.cell.target_bytes:,.0f} B",
    )
    if case.launch.guess.draft_layers:
        share = [
            each * world.cell.draft_share_bytes / GIB
            for world, each in zip(worlds, pools, strict=True)
        ]
        yield Line(
            item="draft's share of the pool budget",
            gib=spread(share),
            evidence=Evidence.ASSUMED if len(case.ground.layouts) > 1 else case.evidence,
            formula=wording.draft_share_formula(best, tokens=tokens),
        )


def _beyond(case: Case) -> Line | None:
    """What the pools take of the reserve, since a token takes more than its price, or windows more than was taken off."""
    taken = spread(
        each * world.cell.beyond_bytes / GIB + world.layout.owed_gib
        for world, each in zip(case.worlds, case.pools, strict=True)
    )
    if taken.best <= 0:
        return None
    return Line(
        item="pools beyond what the static budget counts of them",
        gib=taken,
        evidence=case.evidence,
        formula=wording.beyond_formula(case.worlds[0], tokens=case.pools[0]),
    )


def _rows(case: Case) -> int:
    states = case.states(case.worlds[0])
    admitted = None if states is None else states.requests
    return case.launch.table_rows(case.pools[0], state_requests=admitted)


def _reserve_lines(ground: Ground, rows: int) -> tuple[Line, ...]:
    return reserve_lines(
        Server(
            launch=ground.launch,
            gpu=ground.gpu,
            model=ground.model,
            rows=rows,
            batches=ground.launch.captured_batches(rows),
            split=ground.weighing.split,
            unified=asks_unified(ground.profile),
            fetched_gib=fetched_gib(ground.settings, ground.model, split=ground.weighing.split),
        )
    )
