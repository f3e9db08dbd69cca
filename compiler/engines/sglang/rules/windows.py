"""The second pool that a request holds tokens in, where layers with a window have one of their own."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.compressed import EVICTION_TOKENS
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.layouts import (
    has_window_pool,
    window_pool_by_requests,
    window_ratio_of,
)
from compiler.engines.sglang.releases import counting
from compiler.engines.sglang.rules.places import at, caution
from compiler.engines.sglang.settings import finite, number_in, settings_of
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_SINCE, _EVERY_FEW_SINCE = "0.5.11", "0.5.14"
_EVERY, _WINDOWS = "SGLANG_SWA_EVICTION_INTERVAL", "SGLANG_SWA_EVICTION_INTERVAL_MULTIPLIER"
_RATIO = "swa-full-tokens-ratio"


@rule("window-pool-short")
def windows_hold_the_promise(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each running request keeps its window in a pool of its own, and what has left it until that is let go.

    0.5.11 to 0.5.23 managers/schedule_batch.py, `maybe_evict_swa`: once in a window of steps, from 0.5.14 on once in 128.
    """
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
    window, page = model.window.size, plan.profile.memory.page_size or 1
    kept = window + _late(given, window) + page
    each = min(memory.pool.request_tokens, kept)
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
        because=f"a running request keeps up to {each:,} tokens there: its window, and what has left it and is not yet let go; "
        "what has no room waits, or is computed again",
        help=(
            f"set a larger `{_RATIO}` under `[flags]`, which takes from the other layers",
            *((f"or set `serve.concurrency = {fit}`",) if fit else ()),
        ),
    )


def _late(given: Given, window: int) -> int:
    """Tokens beyond its window that a request may still keep."""
    env = given.plan.profile.env
    if given.before(_EVERY_FEW_SINCE):
        windows = finite(env.get(_WINDOWS, ""))
        return int(window * (1.0 if windows is None else windows))
    return number_in(env, _EVERY, usual=EVICTION_TOKENS)
