"""How a server splits weights over its ranks."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.architecture import Role
from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.compressedtensors import output_plain, rotary_in_each
from compiler.engines.sglang.exchange import DEALS_OUT, exchanged_by
from compiler.engines.sglang.held import REPLICAS_ASKED_SINCE
from compiler.engines.sglang.launch import Launch, contexts
from compiler.engines.sglang.padding import TRITON_KERNELS, mxfp4_runner, padding
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.runners import expert_step
from compiler.engines.sglang.settings import Settings, switch
from compiler.engines.sglang.stages import shares_of
from compiler.facts import Gpu, Model
from compiler.memory.tensors import format_of
from compiler.memory.tensors.mlp import has_mxfp4_experts, is_mxfp4
from compiler.memory.weights import Split


# Times the scales of NVFP4 experts are kept: once for TensorRT-LLM's kernels (0.5.11 layers/quantization/modelopt_quant.py). For
# CUTLASS the sources say twice, and two public logs of 0.5.8 show less: not known.
_SCALE_COPIES = {"flashinfer_trtllm": 1}
# Generations whose kernels take fp8 with a scale a block as it is loaded: older ones repack it, later ones may round its
# scales anew, and AMD's may shuffle it (0.5.13 layers/quantization/fp8.py, 500 and 1148).
_BLOCKS_STAY = frozenset({"8.9", "9.0"})
# On NVIDIA's GPUs what MLA absorbs is dequantized from this release on; otherwise it gets one scale (models/deepseek_v2.py,
# from 0.5.8 on deepseek_common/deepseek_weight_loader.py, `post_load_weights`).
_DEQUANTIZED_SINCE = "0.4.6.post3"
# The class for YaRN that latent attention has keeps two tables more in these releases, and later for other chips alone
# (0.5.7 layers/rotary_embedding.py, 866; 0.5.13 layers/rotary_embedding/rope_variant.py, 416).
_HALVES_SINCE, _HALVES_UNTIL = "0.5.7", "0.5.13"
# DeepSeek V4 gets tables of cosines and sines beside its own (0.5.12 and 0.5.13 models/deepseek_v4.py, 216 and 355).
_MORE_TABLES_SINCE = "0.5.13"
# Classes that keep shared experts whole with some of them only (0.5.18 models/minimax_m3.py, 377; `_ep_a2a` in kimi_k3.py of
# 0.5.17 to 0.5.23), and the first release that does with each.
_WHOLE_WITH: Mapping[str, Mapping[str, str]] = {
    "MiniMaxM3": {"deepep": "0.5.16"},
    "KimiK3": {
        "deepep": "0.5.17",
        "megamoe": "0.5.17",
        "ascend_fuseep": "0.5.18",
        "mooncake": "0.5.19",
        "mori": "0.5.19",
        "flashinfer_megamoe": "0.5.23",
    },
}


def split_of(settings: Settings, launch: Launch, *, gpu: Gpu, model: Model) -> Split:
    """How weights are split."""
    parallel = settings.profile.parallel
    exchanged = exchanged_by(settings)
    a2a = exchanged in DEALS_OUT
    on_gpu = _gpu_experts(settings)
    filled = padding(settings, gpu=gpu, model=model)
    fused = _fuses(settings, model) and not a2a and parallel.expert == 1
    swizzled = _swizzles(settings, gpu=gpu, model=model)
    copies = _scale_copies(settings, launch.version, gpu=gpu, model=model)
    return Split(
        tensor=parallel.tensor,
        expert=parallel.tensor if a2a else parallel.expert,
        expert_copies=launch.exchange.copies,
        data=launch.replicas,
        context=contexts(settings),
        pipeline=parallel.pipeline,
        shares=shares_of(settings.profile, model.layers),
        dense_whole=settings.whole("moe-dense-tp-size") == 1,
        shared_whole=exchanged in _whole_with(model, launch.version)
        or _shared_alone(settings, launch.version),
        vision_whole=settings.on("mm-enable-dp-encoder"),
        head_by_attention=_splits_head_by_attention(settings, launch.version),
        tables_on_host=_tables_on_host(settings),
        gpu_experts=on_gpu,
        shared_on_host=fused and on_gpu is not None and on_gpu <= _FUSED_ROUTED,
        scale_copies=_LOADED_AND_SWIZZLED if swizzled else copies,
        expert_step=filled.expert,
        latent_step=filled.latent,
        kernel_step=expert_step(settings, gpu=gpu, model=model),
        expert_bias_bits=filled.bias_bits,
        experts_plain=filled.plain,
        experts_swizzled=swizzled,
        rotary_halves=at_least(launch.version, _HALVES_SINCE)
        and not at_least(launch.version, _HALVES_UNTIL),
        rotary_alone=not at_least(launch.version, _MORE_TABLES_SINCE),
        rotary_in_each=rotary_in_each(settings, gpu=gpu),
        output_plain=output_plain(settings, gpu=gpu, model=model),
        orders_kept=_keeps_orders(settings, launch.version, gpu=gpu, model=model),
        blocks_stay=gpu.compute_capability in _BLOCKS_STAY,
        blocks_dequantized=platform(gpu) is Platform.CUDA
        and at_least(launch.version, _DEQUANTIZED_SINCE),
    )


_HOST_TABLES_FLAG, _HOST_TABLES_ENV = (
    "ple-offload-embedding",
    "SGLANG_ENABLE_DSV41_ENGRAM_HOST_TABLE",
)
_SHARED_ALONE_ENV, _SHARED_ALONE_SINCE = "SGLANG_SHARED_EXPERT_TP1", "0.5.12"


def _whole_with(model: Model, version: str) -> frozenset[str]:
    """The all-to-all backends with which each rank keeps the model's shared experts whole."""
    only = (kinds for name, kinds in _WHOLE_WITH.items() if model.architecture.startswith(name))
    kinds = next(only, None)
    if kinds is None:
        return DEALS_OUT
    return frozenset(kind for kind, since in kinds.items() if at_least(version, since))


def _shared_alone(settings: Settings, version: str) -> bool:
    """Whether a variable keeps shared experts whole on each rank (0.5.12 models/deepseek_v2.py, 606)."""
    asked = switch(settings.profile.env, _SHARED_ALONE_ENV)
    return asked is True and at_least(version, _SHARED_ALONE_SINCE)


def _splits_head_by_attention(settings: Settings, version: str) -> bool:
    """Asked for, or by data parallel attention itself (0.4.1 models/deepseek_v2.py, 823, to 0.4.4: `ReplicatedLinear`)."""
    whole = settings.profile.parallel.dp_attention and not at_least(version, REPLICAS_ASKED_SINCE)
    return whole or settings.on("enable-dp-lm-head")


def _tables_on_host(settings: Settings) -> bool:
    """Whether tables of n-grams stay in host memory (0.5.20 models/qwen4_exp.py, 931; 0.5.21 environ.py, 1552)."""
    return settings.on(_HOST_TABLES_FLAG) or switch(settings.profile.env, _HOST_TABLES_ENV) is True


def _gpu_experts(settings: Settings) -> int | None:
    """The first experts of each layer, where others run on the CPU (0.5.11 layers/moe/kt_ep_wrapper.py, 73 and 209)."""
    if settings.word("kt-weight-path") is None:
        return None
    return settings.whole("kt-num-gpu-experts")


_FUSED_ARCHITECTURE, _FUSED_ROUTED, _FUSED_SHARED = "DeepseekV3ForCausalLM", 256, 1


def _fuses(settings: Settings, model: Model) -> bool:
    """Whether the shared expert is made the last of the routed ones (0.5.11 and 0.5.18 models/deepseek_v2.py)."""
    moe = model.moe
    return (
        moe is not None
        and model.architecture == _FUSED_ARCHITECTURE
        and (moe.routed_experts, moe.shared_experts) == (_FUSED_ROUTED, _FUSED_SHARED)
        and not settings.on("disable-shared-experts-fusion")
    )


# Experts in four bits of compressed-tensors keep the order of their inputs where Triton runs them: always on AMD's GPUs, when it
# is asked for, and by itself on this generation (0.5.11 and 0.5.19 layers/quantization/compressed_tensors/compressed_tensors.py,
# `get_moe_scheme`).
_ORDERED, _ORDERED_BITS = "compressed-tensors", 4
_TRITON_ASKED_SINCE, _TRITON_CHOSEN_SINCE, _TRITON_CHOSEN = "0.5.11", "0.5.19", 10


def _keeps_orders(settings: Settings, version: str, *, gpu: Gpu, model: Model) -> bool:
    kind = model.quantization
    if kind is None or kind.method != _ORDERED or model.moe is None:
        return False
    if format_of(model, Role.EXPERTS).bits != _ORDERED_BITS:
        return False
    if platform(gpu) is Platform.HIP:
        return True
    asked = settings.word("moe-runner-backend") or "auto"
    if asked == "auto":
        return generation(gpu) == _TRITON_CHOSEN and at_least(version, _TRITON_CHOSEN_SINCE)
    return asked == "triton" and at_least(version, _TRITON_ASKED_SINCE)


# Triton's kernels lay experts in MXFP4 out anew, and the scales as they were loaded stay beside them (`del layer.w13_weight` without
# its scales: layers/quantization/mxfp4.py of 0.5.4, 580, to 0.5.23, 1074).
_LOADED_AND_SWIZZLED = 2


def _swizzles(settings: Settings, *, gpu: Gpu, model: Model) -> bool:
    return (
        has_mxfp4_experts(model)
        and platform(gpu) is Platform.CUDA
        and mxfp4_runner(settings, gpu=gpu, model=model) == TRITON_KERNELS
    )


# MXFP4 experts of an fp8 checkpoint get their scales, of eight bits, as fp32; until this release Marlin leaves those beside its own
# (0.5.12 layers/quantization/mxfp4_marlin_moe.py, 70, and marlin_utils_fp4.py, 153; 0.5.16 marlin_utils_fp4.py, 403).
_LOADED_AND_REPACKED, _MARLIN_FREES_SINCE = 4 + 1, "0.5.16"
_FP8, _MARLIN = "fp8", "marlin"
# On these GPUs DeepSeek V4 runs on Marlin by itself (0.5.13 server_args.py, 2111).
_MARLIN_CHOSEN, _MARLIN_CHOSEN_SINCE = 12, "0.5.13"


def _scale_copies(settings: Settings, version: str, *, gpu: Gpu, model: Model) -> int | None:
    backend = settings.word("moe-runner-backend") or "auto"
    kind = model.quantization
    if has_mxfp4_experts(model):
        return 1
    if kind is None or kind.method != _FP8 or not is_mxfp4(format_of(model, Role.EXPERTS)):
        return _SCALE_COPIES.get(backend)
    if backend == "auto" and generation(gpu) == _MARLIN_CHOSEN:
        backend = _MARLIN if at_least(version, _MARLIN_CHOSEN_SINCE) else backend
    kept = backend == _MARLIN and not at_least(version, _MARLIN_FREES_SINCE)
    return _LOADED_AND_REPACKED if kept else 1
