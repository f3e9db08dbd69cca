"""What may be changed to keep a promise: one row a lever, with what it gives and what it costs.

A new lever is a row here and a function in `moves`, or in `raw` where no typed setting moves it; refusals and `fit` both
read these tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.facts import Mla
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.remedy import moves
from compiler.remedy.change import Budget, Cost, Lever
from compiler.remedy.moves import memory_of
from compiler.remedy.ranking import mostly_given_up
from compiler.remedy.raw import raw_levers
from compiler.remedy.saying import pool, reserve_moves, reserve_needs, span, tokens
from compiler.remedy.states import state_levers


def _at_once(plan: Plan) -> str:
    return f"{counted(plan.profile.serve.concurrency, 'request')} of full context at once"


def _given_up(before: Plan, after: Plan) -> str:
    said = mostly_given_up(before, after)
    return f": {said}" if said else ""


def _runs_too_few(plan: Plan) -> bool:
    limit = plan.running_requests
    # With no pool at all the limit is one that comes of that, and no choice of anybody's.
    there = memory_of(plan).pool.tokens.best > 0
    return there and limit is not None and limit < plan.profile.serve.concurrency


def _would_run(plan: Plan) -> int:
    return (moves.asked_each(plan) or 0) * plan.profile.parallel.data


def _keeps_copies(plan: Plan) -> bool:
    """Whether every GPU keeps the same: latents are not shared out over GPUs, as heads are."""
    latent = plan.model is not None and isinstance(plan.model.attention, Mla)
    return latent and plan.profile.parallel.tensor > 1


def _each(plan: Plan) -> int:
    return plan.profile.parallel.tensor // plan.profile.parallel.data


def _evidence(plan: Plan) -> str:
    pool = memory_of(plan).pool
    return "" if pool.boot else "; no recorded boot is of that layout, so its weights are derived"


RAISE_CAP = Lever(
    setting="memory.max_pool_tokens",
    eases=Budget.POOL,
    cost=Cost.NOTHING,
    advised=Budget.POOL,
    moves=moves.raise_cap,
    gives=lambda _, __: "the cap is what makes the pool short",
    loses=lambda _, __: "only the cap",
)
RAISE_FRACTION = Lever(
    setting="memory.fraction",
    eases=Budget.POOL,
    cost=Cost.NOTHING,
    advised=Budget.POOL,
    moves=moves.raise_fraction,
    gives=lambda before, after: f"least for the pool; {reserve_moves(before, after)}",
    loses=lambda _, __: "nothing that a client sees; the reserve becomes smaller",
)


def _fewer_prefixes(before: Plan, after: Plan) -> str:
    """What a lower fraction leaves to prefixes; beside a lever that frees more than it takes, nothing is lost."""
    fewer = tokens(before) - tokens(after)
    if fewer <= 0:
        return f"{pool(after)}, no fewer than at the higher fraction"
    return f"{pool(after)}, {fewer:,.0f} tokens fewer than at the higher fraction: fewer prefixes are kept"


LOWER_FRACTION = Lever(
    setting="memory.fraction",
    eases=Budget.RESERVE,
    cost=Cost.NOTHING,
    advised=Budget.RESERVE,
    moves=moves.lower_fraction,
    gives=lambda _, after: f"{pool(after)}; reserve {span(memory_of(after).reserve.available_gib)}",
    loses=_fewer_prefixes,
)
MORE_REQUESTS = Lever(
    setting="serve.max_running_requests",
    eases=Budget.NONE,  # it is a rule that the limit falls short of
    cost=Cost.NOTHING,
    moves=moves.more_requests,
    applies=_runs_too_few,
    gives=lambda _, after: f"as many run as are promised; {reserve_needs(after)}",
    loses=lambda before, after: (
        f"nothing that a client sees; {reserve_moves(before, after)}, and {pool(after)}"
    ),
)
FEWER_REQUESTS = Lever(
    setting="serve.max_running_requests",
    eases=Budget.BOTH,
    cost=Cost.WAITING,
    advised=Budget.BOTH,
    moves=moves.fewer_requests,
    gives=lambda before, after: (
        f"{reserve_needs(after)}; {'the pool stays' if tokens(after) == tokens(before) else pool(after)}"
    ),
    loses=lambda before, after: (
        f"{counted(after.running_requests or 0, 'request', does='run')} at once, not {_would_run(before):,}; others wait"
    ),
    from_now=lambda now, after: (after.running_requests or 0) < _would_run(now),
)
SMALLER_GRAPHS = Lever(
    setting="memory.cuda_graph_max_batch",
    eases=Budget.BOTH,
    cost=Cost.NOTHING,
    moves=moves.smaller_graphs,
    gives=lambda _, after: f"{reserve_needs(after)}; larger batches run slower",
    loses=lambda _, after: (
        f"steps of more than {counted(after.profile.memory.cuda_graph_max_batch or 0, 'request')} run without a graph, slower"
    ),
)
SMALLER_CHUNK = Lever(
    setting="memory.chunked_prefill",
    eases=Budget.BOTH,
    cost=Cost.START,
    advised=Budget.RESERVE,
    moves=moves.smaller_chunk,
    gives=lambda _, after: f"{reserve_needs(after)}; long prompts start slower",
    loses=lambda before, after: (
        f"a prompt is computed {after.prefill_chunk:,} tokens at a time, not {before.prefill_chunk:,}: "
        "long ones start slower"
    ),
)
NARROW_CACHE = Lever(
    setting="memory.kv_dtype",
    eases=Budget.BOTH,
    cost=Cost.ACCURACY,
    advised=Budget.BOTH,
    moves=moves.narrow_cache,
    gives=lambda _, after: f"{pool(after)}; costs accuracy, check answers",
    loses=lambda _, __: "accuracy: keys and values are kept in eight bits; check answers",
)
NO_DRAFT = Lever(
    setting="speculative",
    eases=Budget.BOTH,
    cost=Cost.DRAFT,
    moves=moves.no_draft,
    gives=lambda _, after: f"{pool(after)}; without the draft's speed",
    loses=lambda _, __: "all of the speed that the draft gives: one token a step",
)
SPREAD_ATTENTION = Lever(
    setting="parallel.dp_attention",
    eases=Budget.POOL,
    cost=Cost.SPREAD,
    advised=Budget.POOL,
    moves=moves.spread_attention,
    applies=_keeps_copies,
    gives=lambda _, after: (
        f"{pool(after)} in each of {after.profile.parallel.data} groups; a request by itself is slower"
    ),
    loses=lambda _, after: (
        f"the attention of a request runs on {counted(_each(after), 'GPU')}, not {after.profile.parallel.tensor}: by itself it is slower"
    ),
)
SHORTER_CONTEXT = Lever(
    setting="serve.context",
    eases=Budget.BOTH,
    cost=Cost.PROMISE,
    advised=Budget.POOL,
    moves=moves.shorter_context,
    gives=lambda _, after: f"a request holds {after.profile.serve.tokens - 2:,} tokens",
    loses=lambda before, after: (
        f"a request holds {after.profile.serve.tokens - 2:,} tokens, not {before.profile.serve.tokens - 2:,}"
        f"{_given_up(before, after)}"
    ),
)
LESS_AT_ONCE = Lever(
    setting="serve.concurrency",
    eases=Budget.BOTH,
    cost=Cost.PROMISE,
    advised=Budget.POOL,
    moves=moves.less_at_once,
    gives=lambda _, after: _at_once(after),
    loses=lambda before, after: (
        f"{_at_once(after)}, not {before.profile.serve.concurrency:,}{_given_up(before, after)}"
    ),
)
MORE_GPUS = Lever(
    setting="gpus.count",
    eases=Budget.BOTH,
    cost=Cost.HARDWARE,
    moves=moves.more_gpus,
    gives=lambda _, after: pool(after),
    loses=lambda before, after: (
        f"{counted(after.profile.gpus.count, 'GPU')}, not {before.profile.gpus.count}: see that the host has them"
        f"{_evidence(after)}"
    ),
)

LEVERS = (
    RAISE_CAP,
    RAISE_FRACTION,
    LOWER_FRACTION,
    MORE_REQUESTS,
    FEWER_REQUESTS,
    SMALLER_GRAPHS,
    SMALLER_CHUNK,
    NARROW_CACHE,
    SPREAD_ATTENTION,
    NO_DRAFT,
    SHORTER_CONTEXT,
    LESS_AT_ONCE,
    MORE_GPUS,
)
"""Every lever of a typed setting, in the order in which they are tried."""


def levers_of(plan: Plan) -> Iterator[Lever]:
    """Those that a plan has something to move for, then those of flags and variables that its engine named, and of states."""
    yield from (each for each in LEVERS if each.applies(plan))
    yield from raw_levers(plan)
    yield from state_levers(plan)
