"""The second pool that a request holds tokens in, where layers with a window have one of their own."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.layouts import (
    has_window_pool,
    window_pool_by_requests,
    window_ratio_of,
)
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.rules.pages import used_page
from compiler.engines.sglang.rules.places import at, caution
from compiler.engines.sglang.settings import finite, number_in, settings_of
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_SINCE = "0.5.4"
"""The first release whose window's pool was read."""
_LETS_GO_SINCE, _OWN_INTERVAL_SINCE, _EVERY_FEW_SINCE = "0.5.8", "0.5.11", "0.5.14"
_EVERY, _WINDOWS = "SGLANG_SWA_EVICTION_INTERVAL", "SGLANG_SWA_EVICTION_INTERVAL_MULTIPLIER"
_SPLITS_ASKED_SINCE, _SPLITS_HOSTED_SINCE, _SPLITS_SINCE = "0.5.13", "0.5.14", "0.5.16"
_SPLITS = ("SGLANG_OPT_SWA_SPLIT_LEAF_ON_INSERT", "SGLANG_ENABLE_UNIFIED_RADIX_TREE")
_RATIO, _NO_CACHE = "swa-full-tokens-ratio", "disable-radix-cache"
_HOSTED, _GRAPHS = "enable-hierarchical-cache", "enable-piecewise-cuda-graph"


@rule("window-pool-short")
def windows_hold_the_promise(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each running request keeps its window in a pool of its own, and what is not let go there yet."""
    model, memory, given = plan.model, plan.memory, given_by(plan)
    if model is None or model.window is None or memory is None or not given.since(_SINCE):
        return
    settings = settings_of(plan.profile, plan.release)
    counts = counting(plan.profile.engine.version)
    if counts is None or not has_window_pool(settings, model):
        return
    if window_pool_by_requests(settings, model, counts):
        return
    parallel, promised = plan.profile.parallel, plan.profile.serve.concurrency
    window, whole = model.window.size, memory.pool.request_tokens
    kept, why = _kept(given, window=window, whole=whole)
    each = min(whole, kept)
    has = int(window_ratio_of(settings, model) * memory.pool.tokens.best)
    requests = parallel.share(promised)
    if requests * each <= has or memory.pool.tokens.best < memory.pool.required_tokens:
        return  # where the tokens themselves are short, their own finding says so
    fit = has // each * parallel.data
    yield caution(
        "window-pool-short",
        f"the pool of the layers with a window holds {has:,} tokens, and {counted(requests, 'request')} may keep {requests * each:,}",
        at(
            given,
            where,
            "serve.concurrency",
            text=f"{promised} at once",
            beside={
                _RATIO: "is its share",
                "model.id": f"a window of {window:,} tokens",
            },
        ),
        because=f"a running request keeps up to {each:,} tokens there: {why}; what has no room waits, or is computed again",
        help=(
            f"set a larger `{_RATIO}` under `[flags]`, which takes from the other layers",
            *((f"or set `serve.concurrency = {fit}`",) if fit else ()),
        ),
    )


def _kept(given: Given, *, window: int, whole: int) -> tuple[int, str]:
    """Tokens that a request of `whole` may keep at most, and which.

    Without a prefix cache: managers/schedule_batch.py, `maybe_evict_swa`, of 0.5.8 to 0.5.23; of 0.5.7 mem_cache/chunk_cache.py,
    `evict_swa`, at each step. With one, what is written above of 0.5.8 on is what was generated. What was computed of the
    prompt is in the tree, which keeps it from the end back to a window, in whole nodes, until the request ends
    (mem_cache/swa_radix_cache.py, `inc_lock_ref`); a node is what one prefill step computed, cut to a window from 0.5.16 on
    (mem_cache/registry.py: another tree; 0.5.14 beside a hierarchical cache), or where a variable asks for it. To 0.5.7 nothing that was generated is let go before
    the end, and neither is it in 0.5.9 beside piecewise graphs.
    """
    page = used_page(given)
    cached = not given.on(_NO_CACHE)
    graphs = given.since("0.5.9") and given.before("0.5.10") and given.on(_GRAPHS)
    if given.before(_LETS_GO_SINCE) or graphs:
        if cached:
            return whole, "this release lets go of nothing that was generated before the end"
        return window + page, "its window"
    late = window + _late(given, window) + page
    if not cached:
        return late, "its window, and what has left it and is not yet let go"
    return (
        late + _locked(given, window=window, page=page, whole=whole),
        "the end of its prompt, its window, and what has left it and is not yet let go",
    )


def _locked(given: Given, *, window: int, page: int, whole: int) -> int:
    """Tokens of a prompt that the tree keeps for the request."""
    asked = given.since(_SPLITS_ASKED_SINCE) and any(map(given.switched_on, _SPLITS))
    hosted = given.since(_SPLITS_HOSTED_SINCE) and given.on(_HOSTED)
    if asked or hosted or given.since(_SPLITS_SINCE):
        return -(-window // page) * page
    chunk = given.plan.prefill_chunk
    return whole if chunk is None else window - 1 + chunk


def _late(given: Given, window: int) -> int:
    """Tokens beyond its window that a request may still keep: once in a window of steps, from 0.5.14 on once in 128."""
    env = given.plan.profile.env
    if given.since(_EVERY_FEW_SINCE):
        from compiler.engines.sglang.compressed import EVICTION_TOKENS  # noqa: PLC0415 - few releases, and few models

        return number_in(env, _EVERY, usual=EVICTION_TOKENS)
    windows = finite(env.get(_WINDOWS, "")) if given.since(_OWN_INTERVAL_SINCE) else None
    return int(window * (1.0 if windows is None else windows))
