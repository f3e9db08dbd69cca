"""From a plan to the moves of each lever in it, the smallest first; or why there are none."""

from __future__ import annotations

import math
from typing import Literal

from attrs import evolve

from compiler.language.written import number_toml
from compiler.plan import Memory, Plan
from compiler.planner import THOUSANDTHS
from compiler.profile import Memory as MemorySettings
from compiler.profile import Profile, Serve
from compiler.remedy.change import UNSET, Change, Moves


CONTEXT_STEP = 100
"""A context is offered in whole hundreds, as a person would write it."""
NARROW_KV: Literal["fp8_e4m3"] = "fp8_e4m3"
_LEAST_CHUNK = 1024
_FRACTION_DECIMALS = 9
"""Of thousandths: nobody writes more, and a product of binary numbers is wrong in the 13th."""
_MOST_GPUS = 16  # in one host


def with_fraction(profile: Profile, fraction: float) -> Change:
    """A fraction, with as many decimals as it has."""
    memory = evolve(profile.memory, fraction=fraction)
    return _memory_change(profile, memory, ("fraction", str(fraction)))


def with_context(profile: Profile, context: int) -> Change:
    """A context of so many tokens."""
    return _serve_change(profile, evolve(profile.serve, context=context), ("context", context))


def with_concurrency(profile: Profile, concurrency: int) -> Change:
    """So many requests of full context at once."""
    serve = evolve(profile.serve, concurrency=concurrency)
    return _serve_change(profile, serve, ("concurrency", concurrency))


def with_requests(profile: Profile, each: int) -> Change:
    """At most so many running requests on each replica."""
    return with_running(profile, profile.parallel.limit_of(each))


def with_running(profile: Profile, requests: int) -> Change:
    """At most so many running requests."""
    serve = evolve(profile.serve, max_running_requests=requests)
    return _serve_change(profile, serve, ("max_running_requests", requests))


def _memory_change(profile: Profile, memory: MemorySettings, set_: tuple[str, str]) -> Change:
    key, written = set_
    return Change(settings=((f"memory.{key}", written),), profile=evolve(profile, memory=memory))


def _serve_change(profile: Profile, serve: Serve, set_: tuple[str, int]) -> Change:
    key, value = set_
    return Change(
        settings=((f"serve.{key}", number_toml(value)),), profile=evolve(profile, serve=serve)
    )


def powers_below(now: int, *, least: int) -> tuple[int, ...]:
    """The powers of two below a number, down to the least that is tried, which is one."""
    return tuple(2**each for each in range((now - 1).bit_length() - 1, least.bit_length() - 2, -1))


def memory_of(plan: Plan) -> Memory:
    """Both budgets; only what was planned with them is fitted."""
    if plan.memory is None:
        raise ValueError(f"{plan.profile_name} was planned without memory")
    return plan.memory


def thousandths_of(plan: Plan) -> float:
    """The fraction in effect, what "fit" found included; whole unless somebody wrote more decimals."""
    return round(memory_of(plan).fraction * THOUSANDTHS, _FRACTION_DECIMALS)


def raise_cap(plan: Plan) -> Moves | str:
    """The cap of the pool, up to what the promise needs."""
    cap, required = plan.profile.memory.max_pool_tokens, memory_of(plan).pool.required_tokens
    if cap is None:
        return "there is no cap"
    if cap >= required:
        return f"the cap of {cap:,} tokens is not what makes the pool short"
    memory = evolve(plan.profile.memory, max_pool_tokens=required)
    change = _memory_change(plan.profile, memory, ("max_pool_tokens", number_toml(required)))
    return Moves.only(change)


def raise_fraction(plan: Plan) -> Moves | str:
    """The fraction, up by thousandths."""
    higher = range(math.floor(thousandths_of(plan)) + 1, THOUSANDTHS)
    if not higher:
        return f"{memory_of(plan).fraction:g} is the highest with three decimals"
    return Moves.to(higher, lambda each: with_fraction(plan.profile, each / THOUSANDTHS))


def lower_fraction(plan: Plan) -> Moves | str:
    """The fraction, down by thousandths."""
    lower = range(math.ceil(thousandths_of(plan)) - 1, 0, -1)
    if not lower:
        return "there is no lower one"
    return Moves.to(
        lower,
        lambda each: with_fraction(plan.profile, each / THOUSANDTHS),
        frees_gib=memory_of(plan).free_before_load_gib.best / THOUSANDTHS,
    )


def asked_each(plan: Plan) -> int | None:
    """Running requests on each replica; where no pool is left that would bound them those that it is sized for, if that is told."""
    sized_for, running = plan.sized_for, plan.running_each
    if running is None or memory_of(plan).pool.tokens.best > 0:
        return running
    return None if sized_for is None else max(running, sized_for // plan.profile.parallel.data)


def fewer_requests(plan: Plan) -> Moves | str:
    """Running requests, down to those that are promised, on each replica."""
    promised = plan.profile.serve.concurrency
    now, fewest = asked_each(plan), plan.profile.parallel.share(promised)
    if now is None:
        return "not known how many run at once, as long as there is no pool"
    if now <= fewest:
        return f"{plan.running_requests} run at once, and {promised} are promised"
    fewer = range(now - 1, fewest - 1, -1)
    return Moves.to(fewer, lambda each: with_requests(plan.profile, each))


def more_requests(plan: Plan) -> Moves | str:
    """Running requests, up to those that are promised, on each replica."""
    states = plan.bounding_states
    if states is not None:
        return f"the states of {states.requests} have room, whatever is asked for"
    promised = plan.profile.parallel.share(plan.profile.serve.concurrency)
    return Moves.only(with_requests(plan.profile, promised))


def smaller_graphs(plan: Plan) -> Moves | str:
    """The largest captured batch, down to one."""
    asked, running = plan.profile.memory.cuda_graph_max_batch, asked_each(plan)
    now = asked if running is None else min(asked or running, running)
    if now is None:
        return "not known which batches are captured, as long as there is no pool"
    if now <= 1:
        return "no larger batch than one is captured"

    def change(batch: int) -> Change:
        memory = evolve(plan.profile.memory, cuda_graph_max_batch=batch)
        return _memory_change(plan.profile, memory, ("cuda_graph_max_batch", number_toml(batch)))

    return Moves.to(range(now - 1, 0, -1), change)


def smaller_chunk(plan: Plan) -> Moves | str:
    """A prefill step, down through the powers of two."""
    chunks = powers_below(plan.prefill_chunk or 0, least=_LEAST_CHUNK)
    if not chunks:
        return f"no smaller one than {_LEAST_CHUNK} is tried"

    def change(chunk: int) -> Change:
        memory = evolve(plan.profile.memory, chunked_prefill=chunk)
        return _memory_change(plan.profile, memory, ("chunked_prefill", number_toml(chunk)))

    return Moves.to(chunks, change)


def narrow_cache(plan: Plan) -> Moves | str:
    """A cache of eight bits a number."""
    if plan.profile.memory.kv_dtype.startswith("fp8"):
        return "the cache is narrow already"
    memory = evolve(plan.profile.memory, kv_dtype=NARROW_KV)
    return Moves.only(_memory_change(plan.profile, memory, ("kv_dtype", f'"{NARROW_KV}"')))


def no_draft(plan: Plan) -> Moves | str:
    """No speculation."""
    if plan.profile.speculative is None:
        return "there is no speculation to leave out"
    without = evolve(plan.profile, speculative=None)
    return Moves.only(Change(settings=((UNSET, '["speculative"]'),), profile=without))


def shorter_context(plan: Plan) -> Moves | str:
    """The promised context, down through the hundreds."""
    longest = (plan.profile.serve.tokens - 1) // CONTEXT_STEP * CONTEXT_STEP
    shorter = range(longest, 0, -CONTEXT_STEP)
    if not shorter:
        return f"no shorter one than {CONTEXT_STEP} is tried"
    requests = plan.profile.parallel.share(plan.profile.serve.concurrency)

    def sparing(tokens: float, _: int | None) -> int:
        context = plan.profile.serve.tokens - tokens / requests
        return math.ceil((longest - context) / CONTEXT_STEP) + 1

    return Moves.to(shorter, lambda each: with_context(plan.profile, each), sparing=sparing)


def less_at_once(plan: Plan) -> Moves | str:
    """The promised concurrency, down to one."""
    now = plan.profile.serve.concurrency
    if now == 1:
        return "one request at a time is promised"
    each_replica = plan.profile.parallel.share(now)

    def sparing(tokens: float, requests: int | None) -> int:
        kept = each_replica - math.ceil(tokens / memory_of(plan).pool.request_tokens)
        if requests is not None:
            kept = min(kept, requests)
        return now - kept * plan.profile.parallel.data

    return Moves.to(
        range(now - 1, 0, -1),
        lambda each: with_concurrency(plan.profile, each),
        sparing=sparing,
    )


def spread_attention(plan: Plan) -> Moves | str:
    """Attention in groups of GPUs, each with requests of its own, up to one a GPU; the rest of the model stays on all."""
    parallel = plan.profile.parallel
    if parallel.data > 1:
        return "there are several replicas already"
    groups = [each for each in range(2, parallel.tensor + 1) if parallel.tensor % each == 0]

    def change(data: int) -> Change:
        return Change(
            settings=(("parallel.data", str(data)), ("parallel.dp_attention", "true")),
            profile=evolve(plan.profile, parallel=evolve(parallel, data=data, dp_attention=True)),
        )

    return Moves.to(groups, change) if groups else "one GPU alone keeps no copy"


def more_gpus(plan: Plan) -> Moves | str:
    """Twice the GPUs and ranks, and twice again; where a rule refuses that, with as many times the groups of experts."""
    gpus, parallel = plan.profile.gpus, plan.profile.parallel
    if gpus.indices:
        return "`gpus.indices` names the GPUs"

    def change(times: int, *, expert: int = parallel.expert) -> Change:
        count, tensor = gpus.count * times, parallel.tensor * times
        settings = [("gpus.count", str(count)), ("parallel.tensor", str(tensor))]
        data = parallel.data
        if parallel.dp_attention:  # groups of as many GPUs as now, so that each pool grows
            data *= times
            settings.append(("parallel.data", str(data)))
        if expert != parallel.expert:
            settings.append(("parallel.expert", str(expert)))
        return Change(
            settings=tuple(settings),
            profile=evolve(
                plan.profile,
                gpus=evolve(gpus, count=count),
                parallel=evolve(parallel, tensor=tensor, data=data, expert=expert),
            ),
        )

    def in_groups(times: int) -> Change:
        return change(times, expert=parallel.expert * times)

    times = [2**each for each in range(1, (_MOST_GPUS // gpus.count).bit_length())]
    if not times:
        return f"no more than {_MOST_GPUS} are tried"
    has_experts = plan.model is not None and plan.model.moe is not None
    return Moves.to(times, change, instead=in_groups if has_experts else None)
