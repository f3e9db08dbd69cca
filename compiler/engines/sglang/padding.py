"""To which multiples experts in MXFP4 are filled up, by the kernels that run them.

Sources: layers/quantization/mxfp4.py, `create_weights` and `process_weights_after_loading`, of 0.5.1, 0.5.3.post1, 0.5.9,
0.5.10, 0.5.14, 0.5.17, and 0.5.23; the kernels chosen for GPT-OSS in server_args.py of 0.5.1, 0.5.10, and 0.5.14 and
arg_groups/overrides.py of 0.5.16 and 0.5.17, for Kimi K3 in `_kimi_k3_moe_runner_overrides` there.
"""

from __future__ import annotations

from attrs import frozen

from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.exchange import exchanged_by
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, switch
from compiler.facts import Gpu, Model
from compiler.memory.tensors.formats import padded
from compiler.memory.tensors.mlp import has_mxfp4_experts
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Padding(Value):
    """What is filled up.

    Attributes:
        expert: a rank's share of an expert is a multiple of this.
        latent: and this is what the width of what goes into one is a multiple of.
        bias_bits: of a bias, which every expert gets on NVIDIA's GPUs.
        plain: the experts are made 16 bits once they are loaded: no kernels take them as they are.
    """

    expert: int = 64
    latent: int = 1
    bias_bits: int = 0
    plain: bool = False


TRITON_KERNELS = "triton_kernel"
_AUTO, _FLASHINFER, _MARLIN = "auto", "flashinfer_mxfp4", "marlin"
_MEGA = "megamoe"
_AS_STORED = frozenset({"deep_gemm", _MEGA})
_DATACENTRE, _WORKSTATION = 10, 12
_GPT_OSS, _KIMI_K3 = "GptOss", "KimiK3"
# Kernels of workstation GPUs for GPT-OSS: Triton's before the first, then Marlin's, then FlashInfer's.
_MARLIN_CHOSEN, _FLASHINFER_CHOSEN = "0.5.14", "0.5.17"
_MARLIN_FILLS, _NARROW_SINCE = "0.5.14", "0.5.17"
_CUTLASS = {9: "0.5.12", 12: "0.5.17"}
_AITER_SINCE, _AITER, _NARROW_AITER = "0.5.9", "SGLANG_USE_AITER", "SGLANG_AITER_K3_OPT"
_WIDE_SINCE = "0.5.10"
_PLAIN = 16


def padding(settings: Settings, *, gpu: Gpu, model: Model) -> Padding:
    """What is filled up; as if by Triton's kernels for experts that are not in MXFP4, of which nothing is."""
    version = settings.profile.engine.version
    if not has_mxfp4_experts(model):
        return Padding()
    if platform(gpu) is Platform.HIP:
        return _on_hip(settings, version)
    runner = mxfp4_runner(settings, gpu=gpu, model=model)
    if runner == _MARLIN and at_least(version, _MARLIN_FILLS):
        return Padding(expert=128, latent=256, bias_bits=_PLAIN)
    if runner in _AS_STORED:
        return Padding(expert=1, bias_bits=_PLAIN)
    if runner == _FLASHINFER and generation(gpu) == _DATACENTRE:
        step = 128 if at_least(version, _NARROW_SINCE) else 256
        return Padding(expert=step, latent=step, bias_bits=32)
    cutlass = _CUTLASS.get(generation(gpu))
    if runner == _FLASHINFER and cutlass is not None and at_least(version, cutlass):
        return Padding(expert=128, latent=128, bias_bits=_PLAIN)
    narrow = generation(gpu) != _DATACENTRE and not at_least(version, _WIDE_SINCE)
    plain = runner == _AUTO
    bias_bits = _PLAIN if plain else 32
    return Padding(expert=32 if narrow else 64, bias_bits=bias_bits, plain=plain)


def padding_assumption(settings: Settings, *, gpu: Gpu | None, model: Model) -> str | None:
    """What is taken for granted of the kernels, where that makes experts larger than their files; `None` elsewhere."""
    if gpu is None or model.moe is None or not has_mxfp4_experts(model):
        return None
    filled = padding(settings, gpu=gpu, model=model)
    if filled.plain:
        return (
            "no kernels take experts in four bits here: they are made 16 bits once they are loaded"
        )
    parallel = settings.profile.parallel
    share = model.moe.intermediate // max(1, parallel.tensor // parallel.expert)
    whole = padded(share, step=filled.expert)
    if whole == share:
        return None
    return f"a rank's {share:,} columns of an expert are filled up to {whole:,}, for the kernels that run them"


def _on_hip(settings: Settings, version: str) -> Padding:
    """AMD's images switch aiter on; without biases of the checkpoint's own it makes none."""
    asked = settings.profile.env
    if switch(asked, _AITER) is False or not at_least(version, _AITER_SINCE):
        return Padding()
    narrow = at_least(version, _NARROW_SINCE) and switch(asked, _NARROW_AITER) is True
    return Padding(expert=128 if narrow else 256, latent=256)


def mxfp4_runner(settings: Settings, *, gpu: Gpu, model: Model) -> str:
    """The kernels that run experts in MXFP4 on an NVIDIA GPU; `auto` where the release chooses none.

    Triton's take no expert parallelism (0.5.6 server_args.py, 1113, to 0.5.17 overrides.py, 946).
    """
    asked, version = settings.word("moe-runner-backend") or _AUTO, settings.profile.engine.version
    exchanged = exchanged_by(settings)
    if exchanged is not None and exchanged.endswith(_MEGA):
        return _MEGA
    if asked != _AUTO:
        return asked
    major, gpt = generation(gpu), model.architecture.startswith(_GPT_OSS)
    if major == _DATACENTRE and (gpt or model.architecture.startswith(_KIMI_K3)):
        return _FLASHINFER
    if gpt and major == _WORKSTATION and at_least(version, _MARLIN_CHOSEN):
        return _FLASHINFER if at_least(version, _FLASHINFER_CHOSEN) else _MARLIN
    apart = settings.profile.parallel.expert > 1
    return TRITON_KERNELS if gpt and (major == _WORKSTATION or not apart) else _AUTO
