"""The static fraction that a server picks by itself, and what a release does to a fraction that is given.

Sources: 0.5.11 server_args.py, lines 1319-1500 and 2671; 0.4.1 to 0.4.6.post5, 0.4.9, 0.5.3 and 0.5.6 server_args.py; 0.5.18
server_args.py, lines 4802-5140; 0.5.23 arg_groups/memory_hook.py. MiB as `nvidia-smi` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.engines.sglang.backends import is_sparse
from compiler.engines.sglang.graphs import prefill_sizes
from compiler.engines.sglang.releases import Counting, FractionRule, PrefillGraphs, at_least
from compiler.engines.sglang.roles import Role, role_of
from compiler.engines.sglang.settings import Settings, switch
from compiler.facts import Gpu, Mla, Model
from compiler.profile import Profile
from compiler.value import Value


_GIB = 1024
_META_MIB = 512
_LEAST_TOKENS = 2048
_TOKEN_MIB = 1.5
_PREFILL_TOKENS = 16384
"""`--max-prefill-tokens`, what a step without chunks is taken for."""
_BATCH_MIB = 2
_ATTENTION_BATCH_MIB, _LARGE_BATCH_MIB, _LARGE_BATCH = 3, 1.5, 300
_CAPTURED_SIZE_MIB, _CAPTURED_LATENT_MIB = 8, 1536
_FLOOR_ABOVE_MIB, _FLOOR_MIB = 60 * _GIB, 10 * _GIB
_STANDALONE_MIB = 6 * _GIB
_A2A_MIB = {"deepep": 2 * _GIB}
# This release sets the fraction for sparse MLA, and no other does (server_args.py, 823).
_SPARSE_SET_BY, _SPARSE_FRACTION = "0.5.3", 0.8
_CAPTURED_A2A_MIB, _SINCE_ROLES = {"deepep": _GIB}, "0.5.17"


@frozen(kw_only=True, eq=False, repr=False)
class Sizes(Value):
    """What the automatic fraction is worked out from.

    Attributes:
        chunk: tokens of a prefill step as set, before data parallel attention divides it.
        batch: largest captured batch, also where graphs are off.
        graphs: whether decode steps are captured.
        prefill: most tokens captured of a prefill step; 0 without.
        multimodal: whether the server takes images.
    """

    chunk: int
    batch: int
    graphs: bool
    prefill: int
    multimodal: bool


def automatic(settings: Settings, *, gpu: Gpu, model: Model, rule: Counting, sizes: Sizes) -> float:
    """The fraction a server picks when none is given."""
    total = gpu.total_mib
    ranks = settings.profile.parallel.tensor * settings.profile.parallel.pipeline
    if rule.since == _SPARSE_SET_BY and is_sparse(model):
        return _SPARSE_FRACTION
    if rule.fraction is FractionRule.STEPS:
        return _by_ranks(ranks)
    if rule.fraction is FractionRule.REST:
        large = total > _OLD_STEPS_UP_TO_MIB
        return (total - _OLD_REST_MIB) / total if large else _by_ranks(ranks)
    if rule.fraction is FractionRule.TABLE:
        return _table(total, ranks)
    if rule.fraction is FractionRule.TIERS:
        kept = _tiers(total, ranks)
        kept += rule.speculation_mib if settings.profile.speculative else 0
        kept += 4 * _GIB if settings.profile.parallel.dp_attention else 0
    else:
        kept = _sum(settings, total=total, model=model, rule=rule, sizes=sizes)
    fraction = round((total - kept) / total, 3)
    # A decode server encodes no images (0.5.17 server_args.py, `_handle_gpu_memory_settings`).
    spared = at_least(rule.since, _SINCE_ROLES) and role_of(settings) is Role.DECODE
    return fraction * vision_factor(model) if sizes.multimodal and not spared else fraction


_OLD_STEPS = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))
_OLD_STEPS_UP_TO_MIB, _OLD_LARGE = 80 * _GIB, 0.88
_OLD_REST_MIB = 13 * _GIB


def _by_ranks(ranks: int) -> float:
    return next(each for least, each in _OLD_STEPS if ranks >= least)


def _table(total: int, ranks: int) -> float:
    fraction = _OLD_LARGE
    if total <= _OLD_STEPS_UP_TO_MIB:
        fraction = _by_ranks(ranks)
    if total > 96 * _GIB:
        fraction = min(fraction + 48 * _GIB * (1 - fraction) / total, (total - 18 * _GIB) / total)
    return fraction


def _tiers(total: int, ranks: int) -> float:
    if total < 35 * _GIB:
        return (2.8 + ranks / 10) * _GIB
    if total < 90 * _GIB:
        return (9.5 + ranks / 2) * _GIB
    return (12 + ranks / 2) * _GIB if total < 160 * _GIB else 32 * _GIB


def _sum(settings: Settings, *, total: int, model: Model, rule: Counting, sizes: Sizes) -> float:
    ranks = settings.profile.parallel.tensor * settings.profile.parallel.pipeline
    kept = _META_MIB + _TOKEN_MIB * _tokens(settings, rule, sizes) + ranks / 8 * _GIB
    kept += _graphs(settings, model=model, rule=rule, sizes=sizes)
    if total > _FLOOR_ABOVE_MIB:
        kept = max(kept, _FLOOR_MIB)
    if rule.disabled_graphs_free and sizes.graphs:
        kept += _A2A_MIB.get(settings.word("moe-a2a-backend") or "", 0)
    if rule.prefill_graphs is PrefillGraphs.ASKED_BY_SIZE:
        kept += sizes.prefill // 4
    return kept + _speculation(settings, rule)


def _tokens(settings: Settings, rule: Counting, sizes: Sizes) -> int:
    if rule.disabled_graphs_free and settings.word("disaggregation-mode") == "decode":
        running = settings.profile.serve.max_running_requests or sizes.batch or 1
        return max(running * (settings.whole("speculative-num-draft-tokens") or 1), _LEAST_TOKENS)
    if sizes.chunk > 0:
        return max(sizes.chunk, _LEAST_TOKENS)
    return max(settings.whole("max-prefill-tokens") or _PREFILL_TOKENS, _LEAST_TOKENS)


def _graphs(settings: Settings, *, model: Model, rule: Counting, sizes: Sizes) -> float:
    parallel = settings.profile.parallel
    decodes = settings.word("disaggregation-mode") != "prefill" or not rule.disabled_graphs_free
    kept = 0.0
    if decodes and (sizes.graphs or not rule.disabled_graphs_free):
        kept += _BATCH_MIB * sizes.batch
    if parallel.dp_attention and decodes:
        kept += _ATTENTION_BATCH_MIB * sizes.batch * parallel.data
        if sizes.batch > _LARGE_BATCH:
            kept += _LARGE_BATCH_MIB * sizes.batch * parallel.data
    if sizes.prefill and rule.prefill_graphs is not PrefillGraphs.ASKED_BY_SIZE:
        latent = isinstance(model.attention, Mla)
        each = _CAPTURED_SIZE_MIB * prefill_sizes(sizes.prefill)
        kept += _CAPTURED_LATENT_MIB if latent else each
        if at_least(rule.since, _SINCE_ROLES):
            kept += _CAPTURED_A2A_MIB.get(settings.word("moe-a2a-backend") or "", 0)
    return kept


def _speculation(settings: Settings, rule: Counting) -> float:
    asked = settings.profile.speculative
    if asked is None or rule.speculation_mib == 0 or asked.algorithm == "ngram":
        return 0.0
    return _STANDALONE_MIB if asked.algorithm == "standalone" else rule.speculation_mib


_VISION_BASE = 0.95
_VISION_LAYERS, _VISION_HIDDEN = 24, 1024
_VISION_SLOPE, _VISION_LEAST, _VISION_MOST = 0.1, 0.8, 1.05
# Their vision config calls its layers `depth`, which the engine does not look for: the default counts.
_UNNAMED_LAYERS = ("Qwen",)
# Theirs is a plain dictionary, in which the engine finds no attribute: both defaults count (configuration_mimo_v2.py of the
# checkpoint).
_UNNAMED = ("MiMoV2",)
# Theirs is not called `vision_config` once it is read, so that nothing is scaled (0.5.13 configs/nano_nemotron_vl.py).
_UNSEEN = ("NemotronH_Nano",)
# What sees and is no tower of layers, so that its weights are among a model's other parameters -> the layers and the width
# that the engine takes it for, where a vision config lacks them its defaults: that of Gemma 3n has a width, 2,048 (transformers
# 4.53 models/gemma3n/configuration_gemma3n.py); that of Gemma 4 Unified neither (transformers 5
# models/gemma4_unified/configuration_gemma4_unified.py); that of DeepSeek-OCR has both by other names (0.5.4 to 0.5.23
# configs/deepseek_ocr.py, `VisionEncoderConfig`). All are in `multimodal_model_archs` of configs/model_config.py from the
# first release on that has them.
_NO_TOWER: Mapping[str, tuple[int, int]] = {
    "Gemma3nForConditionalGeneration": (_VISION_LAYERS, 2048),
    "Gemma4UnifiedForConditionalGeneration": (_VISION_LAYERS, _VISION_HIDDEN),
    "DeepseekOCRForCausalLM": (_VISION_LAYERS, _VISION_HIDDEN),
}


def tower_as_read(model: Model) -> tuple[int, int] | None:
    """The layers and the width that the engine takes a model's vision tower for; `None` for one that takes no images."""
    vision = model.vision
    if vision is None:
        return _NO_TOWER.get(model.architecture)
    if model.architecture.startswith(_UNNAMED):
        return _VISION_LAYERS, _VISION_HIDDEN
    unnamed = model.architecture.startswith(_UNNAMED_LAYERS)
    return (_VISION_LAYERS if unnamed else vision.layers), vision.hidden


def vision_factor(model: Model) -> float:
    """What the automatic fraction of a multimodal model is scaled by, the more the larger its vision tower.

    0.4.9.post3 to 0.5.23, `adjust_mem_fraction_for_vlm`: server_args.py, then arg_groups/memory_hook.py.
    """
    tower = tower_as_read(model)
    if tower is None or model.architecture.startswith(_UNSEEN):
        return 1.0
    layers, hidden = tower
    ratio = layers * hidden**2 / (_VISION_LAYERS * _VISION_HIDDEN**2)
    factor = 1 - _VISION_SLOPE * (ratio - 1)
    return _VISION_BASE * max(_VISION_LEAST, min(_VISION_MOST, factor))


_AITER_FACTOR, _AITER_CONTEXT = 0.85, 8192


_HONOURED_BY, _HONOURED_SINCE = "SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION", "0.5.19"


def scale(profile: Profile, *, backend: str, rule: Counting, multimodal: bool) -> float:
    """What a release multiplies every fraction by, given or not; a variable spares one that is given.

    0.5.19 arg_groups/attention_hook.py, line 178.
    """
    spared = (
        profile.memory.fraction != "auto"
        and switch(profile.env, _HONOURED_BY) is True
        and at_least(profile.engine.version, _HONOURED_SINCE)
    )
    lessened = backend == "aiter" and profile.serve.tokens > _AITER_CONTEXT and not spared
    factor = _AITER_FACTOR if lessened else 1.0
    return factor * rule.multimodal_scale if multimodal else factor
