"""Which steps a server captures as CUDA graphs: decode by batch, prefill by tokens.

Sources: 0.5.11 server_args.py, lines 1194-1261 and 1497-1560; 0.5.18 server_args.py, lines 4555-4760; 0.5.23
arg_groups/cuda_graph_hook.py; 0.5.6 server_args.py, `_generate_piecewise_cuda_graph_tokens`.
"""

from __future__ import annotations

from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.releases import Counting, PrefillGraphs, at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Compressed, Gpu, Mla, Model, StateKind


def decode_batches(top: int, *, speculates: bool, rows: int) -> tuple[int, ...]:
    """The batch sizes captured as graphs: a list up to the largest, cut at the request table (cuda_graph_runner.py, 496)."""
    if top <= 0:
        return ()
    # What is beyond the table is cut off anyway, and the table's own size stands in for it.
    top = min(top, rows)
    if speculates:
        sizes = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8)]
        sizes += range(272, top + 1, 16)
    else:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16)]
        sizes += range(512, top + 1, 32)
    return tuple(sorted({size for size in [*sizes, top] if size <= top}))


def cut(sizes: set[int], *, rows: int) -> tuple[int, ...]:
    """Those sizes that the request table allows; the table's own size stands in for what is cut off."""
    kept = set(sizes)
    if kept and max(kept) > rows:
        kept.add(rows)
    return tuple(sorted(size for size in kept if size <= rows))


def prefill_sizes(most: int) -> int:
    """How many numbers of tokens are captured for prefill steps."""
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256))
    listed = sum(len(range(first, min(end, most + 1), step)) for first, end, step in steps)
    return listed + max(0, most - 4096) // 512


_LATENT_MOST = 2048
_LATENT_MOST_LATER = 8192


def prefill_most(settings: Settings, *, model: Model, chunk: int) -> int:
    """The most tokens captured for a prefill step; 0, and no size, where prompts are not cut (0.5.11 server_args.py, line 1407)."""
    asked = settings.whole("cuda-graph-max-bs-prefill", "piecewise-cuda-graph-max-tokens")
    if asked is not None:
        return asked
    most = chunk
    if isinstance(model.attention, Mla):
        later = at_least(settings.profile.engine.version, "0.5.23")
        most = min(_LATENT_MOST_LATER, chunk) if later else _LATENT_MOST
    cap = settings.profile.memory.max_pool_tokens
    return max(0, most if cap is None else min(most, cap))


# Settings that rule out graphs of prefill steps, up to 0.5.14.
_FORBIDDING = (
    "enable-torch-compile",
    "enable-lora",
    "lora-paths",
    "cpu-offload-gb",
    "enable-hierarchical-cache",
    "enable-deterministic-inference",
    "enable-symm-mem",
    "enable-eplb",
    "debug-cuda-graph",
    "dllm-algorithm",
)
_FORBIDDEN_MODELS = ("DeepseekV32", "Qwen3Next", "GlmMoeDsa", "BailingMoeV2_5")
_SWITCHES = (
    "disable-piecewise-cuda-graph",
    "disable-prefill-cuda-graph",
)
_BREAKABLE_A2A = frozenset({"none", "deepep", "megamoe", "flashinfer"})
# Multimodal architectures that may keep them (configs/model_config.py), by the release that added them.
_ALLOWED_SINCE = (
    ("0.5.16", ("Qwen3_5",)),
    ("0.5.18", ("KimiK25", "KimiK3", "InternS2Mobius", "MuseGlimmer")),
)


def captures_prefill(
    settings: Settings, *, gpu: Gpu, model: Model, rule: Counting, multimodal: bool
) -> bool:
    """Whether prefill steps are captured."""
    backend = settings.word("cuda-graph-backend-prefill")
    if backend is not None:
        return backend != "disabled"
    if any(settings.on(name) for name in _SWITCHES) or _all_off(settings):
        return False
    if rule.prefill_graphs not in {PrefillGraphs.USUAL, PrefillGraphs.BREAKABLE}:
        asked = settings.on("enable-piecewise-cuda-graph")
        return asked and rule.prefill_graphs is not PrefillGraphs.ABSENT
    if settings.on("enforce-piecewise-cuda-graph"):
        return True
    able = platform(gpu) is Platform.CUDA and settings.word("disaggregation-mode") != "decode"
    rules = _breakable if rule.prefill_graphs is PrefillGraphs.BREAKABLE else _piecewise
    return able and rules(settings, model, multimodal=multimodal)


def _all_off(settings: Settings) -> bool:
    """Whether one switch turns off the graphs of every step; up to 0.5.13 it left those of prefill (0.5.15 server_args.py, 3214)."""
    return settings.on("disable-cuda-graph") and at_least(settings.profile.engine.version, "0.5.14")


def _piecewise(settings: Settings, model: Model, *, multimodal: bool) -> bool:
    parallel = settings.profile.parallel
    return not (
        multimodal
        or parallel.dp_attention
        or parallel.pipeline > 1
        or settings.word("moe-a2a-backend") not in {None, "none"}
        or settings.word("disaggregation-mode") not in {None, "null"}
        or model.architecture.startswith(_FORBIDDEN_MODELS)
        or any(name in settings.flags for name in _FORBIDDING)
    )


def _breakable(settings: Settings, model: Model, *, multimodal: bool) -> bool:
    version = settings.profile.engine.version
    if settings.on("enable-two-batch-overlap") or isinstance(model.attention, Compressed):
        return False
    if (settings.word("moe-a2a-backend") or "none") not in _BREAKABLE_A2A:
        return False
    if at_least(version, "0.5.23"):
        kda = model.state is not None and model.state.kind is StateKind.KDA
        if kda or settings.profile.parallel.pipeline > 1:
            return False
    allowed = any(
        model.architecture.startswith(names) and at_least(version, since)
        for since, names in _ALLOWED_SINCE
    )
    return allowed or not multimodal
