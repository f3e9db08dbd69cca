"""What GPUs and releases make of the weights of attention that compresses over time (DeepSeek V4).

Sources: `SGLANG_OPT_FP8_WO_A_GEMM` in server_args.py of 0.5.12 to 0.5.18, arg_groups/{serving_hook,model_hook}.py of 0.5.19 to
0.5.23; `cos_cache` and `sin_cache` in models/deepseek_v4.py of 0.5.13 to 0.5.23.
"""

from __future__ import annotations

from compiler.architecture import Role
from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, switch
from compiler.facts import Compressed, Gpu, Model
from compiler.memory.tensors import format_of
from compiler.memory.tensors.mlp import is_mxfp4


_BY_VARIABLE = "SGLANG_OPT_FP8_WO_A_GEMM"
_HOPPER, _DATACENTRE, _WORKSTATION = 9, 10, 12
# Hopper takes fp8 where it is asked for from the first of these on, workstations from the last; workstations and AMD's GPUs go
# without it from the others on, and what AMD's do from the last on depends on the image's aiter.
_HOPPER_ASKED_SINCE, _WORKSTATION_ASKED_SINCE = "0.5.16", "0.5.22"
_WORKSTATION_PLAIN_SINCE, _AMD_PLAIN_SINCE = "0.5.13", "0.5.14"
# AMD's GPUs have tables of cosines and sines in every layer.
_EACH_SINCE = "0.5.13"


def output_plain(settings: Settings, *, gpu: Gpu, model: Model) -> bool:
    """Whether the first half of the output's projection is made 16 bits while it loads."""
    if not isinstance(model.attention, Compressed):
        return False
    version, asked = settings.profile.engine.version, switch(settings.profile.env, _BY_VARIABLE)
    if asked is False:
        return True
    if platform(gpu) is Platform.HIP:
        return at_least(version, _AMD_PLAIN_SINCE)
    major = generation(gpu)
    if major == _WORKSTATION:
        takes = asked is True and at_least(version, _WORKSTATION_ASKED_SINCE)
        return at_least(version, _WORKSTATION_PLAIN_SINCE) and not takes
    takes = major == _HOPPER and asked is True and at_least(version, _HOPPER_ASKED_SINCE)
    return major < _DATACENTRE and not takes


def rotary_in_each(settings: Settings, *, gpu: Gpu) -> bool:
    """Whether each layer has tables of its own beside those that all share."""
    return platform(gpu) is Platform.HIP and at_least(settings.profile.engine.version, _EACH_SINCE)


# The releases that size the pools on AMD's GPUs as on NVIDIA's; a variable asks for others, which are kept in 16 bits and by
# requests (0.5.14 to 0.5.19 mem_cache/deepseek_v4_memory_pool.py, `DeepSeekV4UnifiedKVPool`).
_SIZED_SINCE, _SIZED_UNTIL = "0.5.13", "0.5.20"
_KERNELS, _UNIFIED, _UNIFIED_SINCE = (
    "SGLANG_HACK_FLASHMLA_BACKEND",
    "unified_kv_triton",
    "0.5.14",
)
# Experts in MXFP4 run on the kernels of this generation, and on aiter's alone.
_FOUR_BITS, _AITER = "gfx950", "SGLANG_USE_AITER"


def uncompressed_on(settings: Settings, *, gpu: Gpu, model: Model) -> str | None:
    """What is not known of such a model on GPUs of others than NVIDIA; `None`: nothing."""
    version, env = settings.profile.engine.version, settings.profile.env
    sized = at_least(version, _SIZED_SINCE) and not at_least(version, _SIZED_UNTIL)
    if platform(gpu) is not Platform.HIP or not sized:
        return "how its pools are laid out on this platform"
    if env.get(_KERNELS) == _UNIFIED and at_least(version, _UNIFIED_SINCE):
        return f"how its pools are laid out for the kernels that `{_KERNELS}` names"
    runs = gpu.compute_capability == _FOUR_BITS and switch(env, _AITER) is not False
    if is_mxfp4(format_of(model, Role.EXPERTS)) and not runs:
        return "what its experts in four bits are made on this GPU"
    return None
