"""The promise itself: whether the server would run as many requests at once as are promised."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, Label, error, present
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


@rule("concurrency-beyond-limit")
def concurrency(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A request that may not run holds no context, however large the pool is."""
    promised, limit = plan.profile.serve.concurrency, plan.running_requests
    if limit is None or promised <= limit or _pool_bounds(plan):
        return
    own = plan.profile.serve.max_running_requests
    yield error(
        "concurrency-beyond-limit",
        f"{promised} requests at once are promised, and {limit} may run",
        where.primary("serve.concurrency", text=f"{promised} at once"),
        secondary=present(*_labels(plan, where, limit)),
        notes=tuple(_notes(plan, own, limit)),
        help=tuple(_help(plan, own, limit)),
        path="serve.concurrency",
    )


def _pool_bounds(plan: Plan) -> bool:
    """Whether so few tokens are there that they bound the requests, whatever is asked for: the pool's own finding says so."""
    share = plan.profile.parallel.share(plan.profile.serve.concurrency)
    # Half the tokens are the most (0.5.11 model_executor/model_runner_kv_cache_mixin.py, 698).
    return plan.memory is not None and plan.memory.pool.tokens.best < 2 * share


def _labels(plan: Plan, where: Origins, limit: int) -> Iterator[Label | None]:
    states = plan.bounding_states
    if states is None:
        does = f"{counted(limit, 'request', does='run')} at once"
        yield where.label("serve.max_running_requests", does)
    elif states.flag is not None:
        yield where.label(f"flags.{states.flag}", f"{counted(states.slots, 'slot')} of states")


def _notes(plan: Plan, own: int | None, limit: int) -> Iterator[str]:
    replicas, states = plan.profile.parallel.data, plan.bounding_states
    if states is not None:
        has = f"its pool of states has {counted(states.slots, 'slot')}"
        yield f"{has}{' in each replica' if replicas > 1 else ''}, and a request may hold {states.per_request}"
        return
    if replicas > 1:
        whole = "" if own is None else f", by `serve.max_running_requests = {own}`"
        yield f"{plan.running_each} on each of {replicas} replicas{whole}"
    elif own != limit:
        yield f"the engine's own limit here is {limit}"


def _help(plan: Plan, own: int | None, limit: int) -> Iterator[str]:
    """Each limit that is below the promise is raised: the states' own where they decide, and that of the requests."""
    parallel, states = plan.profile.parallel, plan.states
    share = parallel.share(plan.profile.serve.concurrency)
    needed = parallel.limit_of(share)
    raised: list[str] = []
    if plan.bounding_states is None or (own is not None and own < needed):
        raised.append(
            f"`serve.max_running_requests` to {needed} or more; it takes from the reserve"
        )
    # Slots take from a pool that is short itself where memory is refused.
    held = plan.memory is not None and memory_outcome(plan.memory) <= Outcome.UNCERTAIN
    if held and states is not None and states.requests < share and states.flag is not None:
        slots = states.slots_for(plan.profile)
        raised.append(
            f"`flags.{states.flag}` to {slots:,} or more; it takes from the pool of tokens"
        )
    if raised:
        yield f"set {', and '.join(raised)}"
    yield f"{'or ' if raised else ''}set `serve.concurrency = {limit}`"
