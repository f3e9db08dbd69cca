"""What the server decides by itself where nothing was asked for: sentences that say what it will really use."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.launch import step_shares
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.running import unasked_requests
from compiler.engines.sglang.settings import Settings
from compiler.engines.sglang.speculation import BLOCK_DRAFTED, NGRAM, STEPWISE
from compiler.facts import Model
from compiler.quantities import counted


_OVERLAPS = "SGLANG_ENABLE_SPEC_V2"


def changes(settings: Settings, model: Model | None) -> Iterator[str]:
    """The decisions that a profile's settings bring with them, beside its model where that is known."""
    profile, parallel = settings.profile, settings.profile.parallel
    unasked = unasked_requests(profile, model)
    if unasked is not None:
        yield f"no number of running requests is given: {unasked.because} the server takes {unasked.requests}"
    chunk = profile.memory.chunked_prefill
    if parallel.dp_attention and parallel.data > 1 and chunk is not None and chunk > 0:
        each = chunk // step_shares(parallel.data, version=profile.engine.version)
        yield f"data parallel attention shares a prefill step of {chunk:,} tokens out: {each:,} on each of {parallel.data} groups"
    reason = _without_overlap(settings)
    if reason is not None:
        yield f"the server does not overlap scheduling with steps: {reason}"
    if _decodes_elsewhere(settings):
        yield "the tier of host memory does not run with `fa3`: decoding uses `flashinfer`, for latent attention `triton`"
    size = settings.whole("hicache-size")
    if settings.on("enable-hierarchical-cache") and size:
        yield f"the tier of host memory takes {size} GB on each of {counted(_ranks(settings), 'rank')}: {size * _ranks(settings)} GB of the host"


def _decodes_elsewhere(settings: Settings) -> bool:
    """0.5.5 to 0.5.13 server_args.py, `_handle_hicache`, where FlashAttention 3 is asked for by one flag for both steps."""
    version = settings.profile.engine.version
    asked = settings.profile.engine.attention_backend or settings.word("attention-backend")
    return (
        settings.on("enable-hierarchical-cache")
        and asked == "fa3"
        and settings.word("decode-attention-backend") is None
        and (settings.word("hicache-io-backend") or "kernel") == "kernel"
        and at_least(version, "0.5.5")
        and not at_least(version, "0.5.14")
    )


def _ranks(settings: Settings) -> int:
    parallel = settings.profile.parallel
    replicas = 1 if parallel.dp_attention else parallel.data
    return parallel.tensor * parallel.pipeline * replicas


def _without_overlap(settings: Settings) -> str | None:
    """Why scheduling does not overlap with steps; `None` when it may.

    Pipeline stages: 0.4.6.post5 to 0.5.23. DFlash: 0.5.11 to 0.5.13. NGRAM: 0.5.3 to 0.5.12. Token by token: to 0.5.6 always,
    to 0.5.10 unless `SGLANG_ENABLE_SPEC_V2` is set, and 0.5.11 and 0.5.12 with a tree (server_args.py; from 0.5.13
    arg_groups/speculative_hook.py).
    """
    if settings.on("disable-overlap-schedule"):
        return None
    profile, version = settings.profile, settings.profile.engine.version
    if profile.parallel.pipeline > 1:
        return "there are pipeline stages"
    algorithm = profile.speculative.algorithm if profile.speculative is not None else None
    ends = {NGRAM: "0.5.13", **dict.fromkeys(BLOCK_DRAFTED, "0.5.14")}
    if algorithm in ends and not at_least(version, ends[algorithm]):
        return f"`{algorithm}` of this release cannot"
    if algorithm not in STEPWISE or at_least(version, "0.5.13"):
        return None
    if at_least(version, "0.5.11"):
        tree = (settings.whole("speculative-eagle-topk") or 1) > 1
        return "a drafted tree of this release cannot" if tree else None
    if not at_least(version, "0.5.7"):
        return f"`{algorithm}` of this release cannot"
    if _OVERLAPS in profile.env:
        return None
    return f"`{algorithm}` of this release does so only with `env.{_OVERLAPS}`"
