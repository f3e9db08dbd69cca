"""Whether kernels run the experts that take a rank's share of one in whole steps of columns: TensorRT-LLM's, and AMD's.

Sources: `__init__` of layers/moe/fused_moe_triton/layer.py of 0.5.6 (no steps), 0.5.8 to 0.5.20, and 0.5.23; which models take
these kernels by themselves in server_args.py of 0.5.8 to 0.5.14 and its arg_groups/nemotron_h_hook.py, arg_groups/overrides.py of
0.5.15 to 0.5.18, and arg_groups/model_overrides of 0.5.23.
"""

from __future__ import annotations

from compiler.architecture import Role
from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.exchange import exchanged_by
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Gpu, Model
from compiler.memory.tensors import format_of
from compiler.memory.tensors.mlp import is_mxfp4, is_nvfp4


TRTLLM = "flashinfer_trtllm"
# Experts in MXFP4 of an fp8 checkpoint, on AMD's GPUs (0.5.13 and 0.5.17 layers/quantization/fp8.py, `fp4_k_align`).
_AITER, _AITER_NARROW, _AITER_NARROW_SINCE = 256, 128, "0.5.17"
_STEP, _STEPS_SINCE = 128, "0.5.8"
_OWN_NVFP4_SINCE = "0.5.23"
"""From here on the class for NVFP4 has steps of its own."""
_DATACENTRE = 10
_FP8 = frozenset({"fp8", "modelopt_fp8"})
_NVFP4, _PLAIN = "modelopt_fp4", ""
# The architectures that take them by themselves on the data centre's Blackwell GPUs, by the number format of the checkpoint (`_PLAIN`
# without quantization), and the first release.
_DEEPSEEK = ("DeepseekV3", "GlmMoeDsa", "KimiK25", "MistralLarge3", "Pixtral")
_CHOSEN: tuple[tuple[tuple[str, ...], frozenset[str], str], ...] = (
    (_DEEPSEEK, _FP8 | {_NVFP4}, "0.5.8"),
    (_DEEPSEEK, frozenset({_PLAIN}), "0.5.13"),
    (("Llama4",), _FP8, "0.5.8"),
    (("Qwen3Moe", "Qwen3VLMoe", "Qwen3Next"), frozenset({"fp8", _NVFP4, _PLAIN}), "0.5.8"),
    (("Qwen3_5",), frozenset({"fp8", _NVFP4, _PLAIN}), "0.5.9"),
    (("Glm4Moe",), frozenset({_NVFP4}), "0.5.8"),
    (("Glm4Moe",), frozenset({_PLAIN}), "0.5.15"),
    (("NemotronHF",), _FP8 | {_NVFP4, "modelopt", "modelopt_mixed"}, "0.5.11"),
    (("NemotronHF",), frozenset({_PLAIN}), "0.5.13"),
)


def expert_step(settings: Settings, *, gpu: Gpu, model: Model) -> int:
    """The multiple that a rank's share of an expert is filled up to."""
    version = settings.profile.engine.version
    if model.moe is None or not at_least(version, _STEPS_SINCE):
        return 1
    stored = "" if model.quantization is None else model.quantization.method
    fp4 = stored == "fp8" and is_mxfp4(format_of(model, Role.EXPERTS))
    if platform(gpu) is Platform.HIP and fp4:
        return _AITER_NARROW if at_least(version, _AITER_NARROW_SINCE) else _AITER
    if is_nvfp4(format_of(model, Role.EXPERTS)) and at_least(version, _OWN_NVFP4_SINCE):
        return 1
    return _STEP if _runs_on_trtllm(settings, gpu=gpu, model=model) else 1


def _runs_on_trtllm(settings: Settings, *, gpu: Gpu, model: Model) -> bool:
    asked = settings.word("moe-runner-backend") or "auto"
    if asked != "auto":
        return asked.startswith(TRTLLM)
    if generation(gpu) != _DATACENTRE or exchanged_by(settings) is not None:
        return False
    stored = _PLAIN if model.quantization is None else model.quantization.method
    return any(
        model.architecture.startswith(names)
        and stored in formats
        and at_least(settings.profile.engine.version, since)
        for names, formats, since in _CHOSEN
    )
