"""What may be changed to keep a promise: one row a lever, with what it gives and what it costs.

A new lever is a row here and a function in `moves`; refusals and `fit` both read these tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.plan import Plan
from compiler.quantities import counted
from compiler.ranges import Range
from compiler.remedy import moves
from compiler.remedy.change import Budget, Cost, Lever
from compiler.remedy.moves import memory_of
from compiler.remedy.ranking import HALF, given_up


def _tokens(plan: Plan) -> float:
    return memory_of(plan).pool.tokens.best


def _pool(plan: Plan) -> str:
    return f"pool {_tokens(plan):,.0f}"


def _span(known: Range) -> str:
    return f"{known.low:.1f} to {known.high:.1f} GiB"


def _reserve_needs(after: Plan) -> str:
    return f"needs {_span(memory_of(after).reserve.needed_gib)}"


def reserve_moves(before: Plan, after: Plan) -> str:
    """The reserve before and after, and what is needed of it."""
    old, new = memory_of(before).reserve, memory_of(after).reserve
    need = f"{new.needed_gib.low:.1f} to {new.needed_gib.high:.1f}"
    return f"reserve {old.available_gib.best:.2f} -> {new.available_gib.best:.2f} GiB for {need}"


def _unfolded(plan: Plan) -> str:
    return f"{plan.unfolds.tokens if plan.unfolds is not None else 0:,}"


def _at_once(plan: Plan) -> str:
    number = plan.profile.serve.concurrency
    return f"{number} {'request' if number == 1 else 'requests'} of full context at once"


def _given_up(before: Plan, after: Plan) -> str:
    share = given_up(before, after)
    return f": {share:.0%} of the promise is given up".replace("%", " %") if share > HALF else ""


def _runs_too_few(plan: Plan) -> bool:
    limit = plan.running_requests
    # With no pool at all the limit is one that comes of that, and no choice of anybody's.
    there = memory_of(plan).pool.tokens.best > 0
    return there and limit is not None and limit < plan.profile.serve.concurrency


def _would_run(plan: Plan) -> int:
    return (moves.asked_each(plan) or 0) * plan.profile.parallel.data


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
LOWER_FRACTION = Lever(
    setting="memory.fraction",
    eases=Budget.RESERVE,
    cost=Cost.NOTHING,
    advised=Budget.RESERVE,
    moves=moves.lower_fraction,
    gives=lambda _, after: (
        f"{_pool(after)}; reserve {_span(memory_of(after).reserve.available_gib)}"
    ),
    loses=lambda before, after: (
        f"{_pool(after)}, {_tokens(before) - _tokens(after):,.0f} tokens fewer than at the higher fraction: fewer prefixes are kept"
    ),
)
MORE_REQUESTS = Lever(
    setting="serve.max_running_requests",
    eases=Budget.NONE,  # it is a rule that the limit falls short of
    cost=Cost.NOTHING,
    moves=moves.more_requests,
    applies=_runs_too_few,
    gives=lambda _, after: f"as many run as are promised; {_reserve_needs(after)}",
    loses=lambda before, after: (
        f"nothing that a client sees; {reserve_moves(before, after)}, and {_pool(after)}"
    ),
)
FEWER_REQUESTS = Lever(
    setting="serve.max_running_requests",
    eases=Budget.BOTH,
    cost=Cost.WAITING,
    advised=Budget.BOTH,
    moves=moves.fewer_requests,
    gives=lambda before, after: (
        f"{_reserve_needs(after)}; {'the pool stays' if _tokens(after) == _tokens(before) else _pool(after)}"
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
    gives=lambda _, after: f"{_reserve_needs(after)}; larger batches run slower",
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
    gives=lambda _, after: f"{_reserve_needs(after)}; long prompts start slower",
    loses=lambda before, after: (
        f"a prompt is computed {after.prefill_chunk:,} tokens at a time, not {before.prefill_chunk:,}: "
        "long ones start slower"
    ),
)
LESS_UNFOLDING = Lever(
    setting="env.SGLANG_MAX_KV_CHUNK_CAPACITY",
    eases=Budget.BOTH,
    cost=Cost.START,
    advised=Budget.RESERVE,
    moves=moves.less_unfolding,
    applies=lambda plan: plan.unfolds is not None and plan.unfolds.variable is not None,
    gives=lambda _, after: (
        f"{_reserve_needs(after)}; what stands before a chunk is unfolded in smaller parts"
    ),
    loses=lambda before, after: (
        f"what stands before a chunk is unfolded {_unfolded(after)} tokens at a time, not {_unfolded(before)}: "
        "long prompts start a little slower"
    ),
)
NO_UNFOLDING = Lever(
    setting="flags.disable-chunked-prefix-cache",
    eases=Budget.BOTH,
    cost=Cost.START,
    advised=Budget.RESERVE,
    moves=moves.no_unfolding,
    applies=lambda plan: plan.unfolds is not None and plan.unfolds.switch is not None,
    gives=lambda _, after: f"{_reserve_needs(after)}; long prompts start slower",
    loses=lambda _, __: (
        "what stands before a chunk is read as latents, which takes more work a token: long prompts, and those with "
        "a cached beginning, start slower"
    ),
)
NARROW_CACHE = Lever(
    setting="memory.kv_dtype",
    eases=Budget.BOTH,
    cost=Cost.ACCURACY,
    advised=Budget.BOTH,
    moves=moves.narrow_cache,
    gives=lambda _, after: f"{_pool(after)}; costs accuracy, check answers",
    loses=lambda _, __: "accuracy: keys and values are kept in eight bits; check answers",
)
NO_DRAFT = Lever(
    setting="speculative",
    eases=Budget.BOTH,
    cost=Cost.DRAFT,
    moves=moves.no_draft,
    gives=lambda _, after: f"{_pool(after)}; without the draft's speed",
    loses=lambda _, __: "all of the speed that the draft gives: one token a step",
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
        f"{_at_once(after)}, not {before.profile.serve.concurrency}{_given_up(before, after)}"
    ),
)
MORE_GPUS = Lever(
    setting="gpus.count",
    eases=Budget.BOTH,
    cost=Cost.HARDWARE,
    moves=moves.more_gpus,
    gives=lambda _, after: _pool(after),
    loses=lambda before, after: (
        f"{counted(after.profile.gpus.count, 'GPU')}, not {before.profile.gpus.count}: more than the host of this profile is said to have"
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
    LESS_UNFOLDING,
    NO_UNFOLDING,
    NARROW_CACHE,
    NO_DRAFT,
    SHORTER_CONTEXT,
    LESS_AT_ONCE,
    MORE_GPUS,
)
"""Every lever, in the order in which they are tried."""


def levers_of(plan: Plan) -> Iterator[Lever]:
    """Those that a plan has something to move for."""
    return (each for each in LEVERS if each.applies(plan))
