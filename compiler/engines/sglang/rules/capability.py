"""The compute capability that the engine and a checkpoint's format ask of an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, platform, tenfold
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.facts import Model, Role
from compiler.memory.tensors.mlp import is_nvfp4
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_FORMAT, _DEVICE = "quantization", "device"
OLDEST = 75
"""0.4.1 to 0.5.23, `load_model` (model_runner.py, from 0.5.16 load_model_utils.py): "SGLang only supports sm75 and above"."""

_NVFP4 = (("0.4.6", 100), ("0.5.13", 80))
_ASKED: Mapping[str, Sequence[tuple[str, int]]] = {
    "fp8": (("0.4.6", 80),),
    "mxfp8": (("0.5.9", 100),),
    "blockwise_int8": (("0.4.6", 80),),
    "fbgemm_fp8": (("0.5.1", 80),),
    "w8a8_fp8": (("0.4.6", 89),),
    "w4afp8": (("0.4.9.post1", 90),),
    "mxfp4": (("0.5.1", 80),),
    "modelopt": (("0.4.6", 89),),
    "modelopt_fp8": (("0.4.6", 89),),
    "modelopt_fp4": _NVFP4,
    "modelopt_mixed": (("0.5.10", 100), ("0.5.13", 80)),
    "nvfp4_online": (("0.5.14", 100),),
    "petit_nvfp4": (("0.4.9.post3", 90),),
    "awq_marlin": (("0.4.9.post3", 80),),
    "gptq_marlin": (("0.4.6", 80),),
    "marlin": (("0.4.6", 80),),
    "qoq": (("0.4.6.post5", 80),),
    "minimax_m3_nvfp4": (("0.5.23", 90),),
}
"""A format -> what its class asks for, ten times the capability, by the release it does so from.

`get_min_capability` of the classes in layers/quantization/ of all releases from 0.4.6 to 0.5.23 (`Fp8Config`, `Mxfp4Config`,
`ModelOptFp4Config`, ...), which `get_quant_config`'s caller holds the GPU against (model_loader/loader.py, "Minimum
capability"). Formats that ask for no more than the engine itself are not here: `awq`, `gptq`.
"""

_COMPRESSED, _QUARK = "compressed-tensors", "quark"
_LINEAR = frozenset({Role.ATTENTION, Role.OUTPUT, Role.STATE, Role.DENSE, Role.SHARED})
_NVFP4_WEIGHTS_SINCE = "0.5.22"
# In fp8 an older GPU gets weights in fp8 alone, which ask for as much as four bits do.
_AMPERE, _LOVELACE, _BLACKWELL, _EIGHT = 80, 89, 100, 8


@rule("gpu-too-old")
def capability(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The GPU is of a generation that the engine, or the format of the weights, still runs on."""
    given, gpu = given_by(plan), plan.gpu
    if (
        gpu is None
        or platform(gpu) is not Platform.CUDA
        or given.word(_DEVICE) not in {None, "cuda"}
    ):
        return
    has = tenfold(gpu)
    if has < OLDEST:
        yield refusal(
            given,
            "gpu-too-old",
            f"the engine does not run on compute capability {gpu.compute_capability}: it asks for {_said(OLDEST)}",
            at(given, where, "gpus.kind", text=f"has {gpu.compute_capability}"),
            because="the server stops before it loads the weights, in every release",
            help=(f"use GPUs of compute capability {_said(OLDEST)} or more",),
        )
        return
    stored = _format(given)
    version = plan.profile.engine.version
    asks = None if stored is None else least_capability(stored, version)
    if asks is None and plan.model is not None and stored is not None:
        asks = scheme_capability(plan.model, stored, version)
    if asks is None or has >= asks:
        return
    asked = given.value(_FORMAT) is not None
    of = f"`--{_FORMAT} {stored}`" if asked else f"the checkpoint's format `{stored}`"
    advice = f"use GPUs of compute capability {_said(asks)} or more"
    if asked and plan.model is not None and plan.model.quantization is None:
        advice += f", or leave {line(given, _FORMAT)} out"
    elif not asked:
        advice += ", or name a checkpoint in another format"
    yield refusal(
        given,
        "gpu-too-old",
        f"{of} does not run on compute capability {gpu.compute_capability}: it asks for {_said(asks)}",
        at(
            given,
            where,
            "gpus.kind",
            text=f"has {gpu.compute_capability}",
            beside={_FORMAT if asked else "model.id": f"`{stored}`"},
        ),
        because="the server stops when it loads the weights",
        help=(advice,),
    )


def _format(given: Given) -> str | None:
    """The format that the weights are loaded in: the one asked for, else the checkpoint's own.

    `modelopt` asked for lets the checkpoint say which of ModelOpt's it is.
    """
    model = given.plan.model
    own = model.quantization.method if model is not None and model.quantization else None
    asked = given.word(_FORMAT)
    return own if asked is None or (asked == "modelopt" and own is not None) else asked


def least_capability(stored: str, version: str) -> int | None:
    """What a format asks for in a release, ten times the capability; `None` where nothing is known of it."""
    asked = [least for since, least in _ASKED.get(stored, ()) if at_least(version, since)]
    return asked[-1] if asked else None


def scheme_capability(model: Model, stored: str, version: str) -> int | None:
    """What the schemes of a checkpoint's own matrices ask for, where its format has one for each (ten times).

    `get_min_capability` in layers/quantization/{compressed_tensors,quark}/schemes of 0.5.1 to 0.5.23; experts are not held against it.
    """
    kind = model.quantization
    if kind is None or kind.method != stored:
        return None
    formats = [each for each in kind.formats if not _LINEAR.isdisjoint(each.roles)]
    if stored == _QUARK and any(each.bits == _EIGHT for each in formats):
        return _LOVELACE
    if stored != _COMPRESSED or not formats:
        return None
    if any(is_nvfp4(each) for each in formats) and not at_least(version, _NVFP4_WEIGHTS_SINCE):
        return _BLACKWELL
    return _AMPERE


def _said(tenfold: int) -> str:
    return f"{tenfold // 10}.{tenfold % 10}"
