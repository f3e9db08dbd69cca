"""What `--quantization` makes of a checkpoint that is not quantized itself."""

from __future__ import annotations

from attrs import evolve

from compiler.architecture import Format, Quantization, Role
from compiler.engines.sglang.settings import Settings
from compiler.facts import Model


_MATRICES = (Role.ATTENTION, Role.OUTPUT, Role.DENSE, Role.EXPERTS, Role.SHARED)

# One scale a tensor; the layers with a state are linear layers like the others (0.5.11 layers/quantization/fp8.py).
_FP8 = Quantization(method="fp8", formats=(Format(roles=(*_MATRICES, Role.STATE), bits=8),))
# A scale and a zero point for 128 values: what the community's checkpoints have, whose files say nothing else.
_AWQ = Quantization(
    method="awq",
    formats=(Format(roles=_MATRICES, bits=4, group_size=128, scale_bits=16, zero_bits=4),),
)
_MAKES = {"fp8": _FP8, "w8a8_fp8": _FP8, "awq": _AWQ, "awq_marlin": _AWQ}


def as_loaded(model: Model, settings: Settings) -> Model:
    """The model as the engine holds it; as it is when nothing is asked, or when that is not known."""
    makes = _MAKES.get(settings.word("quantization") or "")
    if makes is None or model.quantization is not None:
        return model
    return evolve(model, quantization=makes)


def quantizes_unknown(model: Model | None, settings: Settings) -> bool:
    """Whether weights are stored in a way that is not described here."""
    asked = settings.word("quantization")
    if asked is None or model is None or model.quantization is not None:
        return False
    return asked not in _MAKES


def quantizes_late(settings: Settings) -> bool:
    """Whether weights are loaded as they are in the files, and quantized after that (0.5.11 layers/quantization/fp8.py)."""
    return _MAKES.get(settings.word("quantization") or "") is _FP8


def loading_assumption(model: Model, settings: Settings) -> str | None:
    """What is taken for granted about the checkpoint's format."""
    asked = settings.word("quantization") or ""
    if model.quantization is None and _MAKES.get(asked) is _AWQ:
        return "the AWQ checkpoint has a scale and a zero point for 128 values, and its head is not quantized"
    return None
