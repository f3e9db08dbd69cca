"""Whether a server captures prefill steps as CUDA graphs, by the rules of its release.

Sources: 0.5.11 server_args.py, lines 1194-1261; of graphs that break at attention, `_disable_breakable_cudagraph_if_incompatible`
in server_args.py of 0.5.15 to 0.5.18, and its like in arg_groups/cuda_graph_hook.py of 0.5.19 to 0.5.23; the architectures
in configs/model_config.py.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.engines.sglang.backends import Platform, is_sparse, platform
from compiler.engines.sglang.releases import Counting, PrefillGraphs, at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Compressed, Gpu, Mla, Model, StateKind


_SWITCHES = ("disable-piecewise-cuda-graph", "disable-prefill-cuda-graph")
_ALL_OFF_SINCE = "0.5.14"


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
    version = settings.profile.engine.version
    return settings.on("disable-cuda-graph") and at_least(version, _ALL_OFF_SINCE)


# Settings and models that rule them out up to 0.5.14.
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


def _piecewise(settings: Settings, model: Model, *, multimodal: bool) -> bool:
    parallel = settings.profile.parallel
    return not (
        multimodal
        or parallel.dp_attention
        or parallel.pipeline > 1
        or _exchange(settings) != _NO_EXCHANGE
        or settings.word("disaggregation-mode") not in {None, "null"}
        or model.architecture.startswith(_FORBIDDEN_MODELS)
        or any(name in settings.flags for name in _FORBIDDING)
    )


_NO_EXCHANGE = "none"
_BREAKABLE_EXCHANGES = frozenset({_NO_EXCHANGE, "deepep", "megamoe", "flashinfer"})
# What rules out graphs that break at attention: the first release of which it is so, the first of which it is not, and whether
# it is the case. Where no release is named it still is.
_Case = Callable[[Settings, Model], bool]
_RULED_OUT: tuple[tuple[str, str | None, _Case], ...] = (
    ("0.5.15", None, lambda _, model: isinstance(model.attention, Compressed)),
    ("0.5.15", "0.5.17", lambda _, model: isinstance(model.attention, Mla)),
    (
        "0.5.17",
        "0.5.18",
        lambda _, model: isinstance(model.attention, Mla) and not is_sparse(model),
    ),
    ("0.5.15", "0.5.17", lambda settings, _: settings.profile.parallel.dp_attention),
    ("0.5.15", "0.5.17", lambda settings, _: _exchange(settings) != _NO_EXCHANGE),
    ("0.5.17", None, lambda settings, _: _exchange(settings) not in _BREAKABLE_EXCHANGES),
    (
        "0.5.15",
        "0.5.17",
        lambda settings, _: "lora-paths" in settings.flags or settings.on("enable-lora"),
    ),
    ("0.5.17", None, lambda settings, _: settings.on("enable-two-batch-overlap")),
    ("0.5.17", "0.5.18", lambda _, model: model.architecture.startswith("NemotronH")),
    ("0.5.19", None, lambda settings, _: settings.profile.parallel.pipeline > 1),
    ("0.5.20", "0.5.22", lambda _, model: _has_kda(model)),
    (
        "0.5.22",
        None,
        lambda _, model: _has_kda(model) and not model.architecture.startswith("Glm5Next"),
    ),
)
# Multimodal architectures that may have them, by the release that added them.
_ALLOWED_SINCE = (
    ("0.5.16", ("Qwen3_5",)),
    ("0.5.18", ("KimiK25", "KimiK3", "InternS2Mobius", "MuseGlimmer")),
    ("0.5.19", ("Cohere2Vision", "PaddleOCRVL")),
    ("0.5.20", ("Glm5Next",)),
    ("0.5.22", ("Qwen4Exp", "MiniMaxM3Sparse")),
    ("0.5.23", ("MuseSpark",)),
)


def _breakable(settings: Settings, model: Model, *, multimodal: bool) -> bool:
    version = settings.profile.engine.version
    if any(
        at_least(version, since) and (until is None or not at_least(version, until))
        for since, until, case in _RULED_OUT
        if case(settings, model)
    ):
        return False
    return not multimodal or any(
        model.architecture.startswith(names) and at_least(version, since)
        for since, names in _ALLOWED_SINCE
    )


def _exchange(settings: Settings) -> str:
    return settings.word("moe-a2a-backend") or _NO_EXCHANGE


def _has_kda(model: Model) -> bool:
    return model.state is not None and model.state.kind is StateKind.KDA
