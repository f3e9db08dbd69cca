"""What `--quantization` makes of a checkpoint that is not quantized itself, and what kernels make of one that is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from attrs import evolve

from compiler.architecture import Format, Quantization, Role
from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Gpu, Mla, Model
from compiler.memory.weights import PLAIN_BITS
from compiler.same import Same


_MATRICES = (Role.ATTENTION, Role.OUTPUT, Role.DENSE, Role.EXPERTS, Role.SHARED)

# One scale a tensor; the layers with a state are linear layers like the others (0.5.11 layers/quantization/fp8.py).
_FP8 = Quantization(method="fp8", formats=(Format(roles=(*_MATRICES, Role.STATE), bits=8),))
# A scale and a zero point for 128 values: what the community's checkpoints have, whose files say nothing else. What a rank
# has of a matrix is whole groups, or the engine does not load it (0.5.12 layers/quantization/awq/schemes/awq_linear.py).
_GROUPS = (128, 64, 32)
_AWQ = frozenset({"awq", "awq_marlin"})
_MAKES, _FP8_BITS = frozenset({"fp8", "w8a8_fp8"}), 8


def as_loaded(model: Model, settings: Settings) -> Model:
    """The model as the engine holds it; as it is when nothing is asked, or when that is not known."""
    asked = settings.word("quantization")
    if model.quantization is not None or asked not in _MAKES | _AWQ:
        return model
    parallel = settings.profile.parallel
    group = _group(model, parallel.tensor, parallel.expert) if asked in _AWQ else 0
    return _made(Same(model), group)


_MADE = 128
"""So many models are remembered as they are loaded."""


@lru_cache(_MADE)
def _made(model: Same[Model], group: int) -> Model:
    """In four bits with groups of a size, or in fp8 without."""
    return evolve(model.value, quantization=_awq(group) if group else _FP8)


# Linear layers in fp8 run on Marlin on GPUs that do not compute in fp8; a scale of a block becomes one for each output of the
# block, in 16 bits. Experts stay as they are (0.5.1 and 0.5.19 layers/quantization/fp8.py, `use_marlin`, fp8_utils.py,
# `can_auto_enable_marlin_fp8`, and marlin_utils_fp8.py, `prepare_fp8_layer_for_marlin`).
_REPACKED_SINCE = "0.5.1"
_REPACKED_ON = frozenset({"8.0", "8.6", "8.7"})
_BLOCK, _LINE, _SCALE_BITS = 128 * 128, 128, 16


def as_repacked(model: Model, gpu: Gpu, *, version: str) -> Model:
    """The model as the kernels of a GPU want its weights."""
    kind = model.quantization
    if kind is None or kind.method != "fp8" or gpu.compute_capability not in _REPACKED_ON:
        return model
    if not at_least(version, _REPACKED_SINCE):
        return model
    return _repacked(Same(model))


@lru_cache(_MADE)
def _repacked(same: Same[Model]) -> Model:
    model = same.value
    kind = model.quantization
    if kind is None:
        raise ValueError("nothing to repack")
    formats = (part for each in kind.formats for part in _lines(each))
    return evolve(model, quantization=evolve(kind, formats=tuple(formats)))


def _lines(stored: Format) -> Iterator[Format]:
    if stored.bits != _FP8_BITS or stored.group_size != _BLOCK:
        yield stored
        return
    linear = tuple(role for role in stored.roles if role is not Role.EXPERTS)
    if linear:
        yield evolve(stored, roles=linear, group_size=_LINE, scale_bits=_SCALE_BITS)
    if Role.EXPERTS in stored.roles:
        yield evolve(stored, roles=(Role.EXPERTS,))


def _awq(group: int) -> Quantization:
    stored = Format(roles=_MATRICES, bits=4, group_size=group, scale_bits=16, zero_bits=4)
    return Quantization(method="awq", formats=(stored,))


def _group(model: Model, ranks: int, groups: int) -> int:
    """The largest group that divides what goes into every matrix on one rank."""
    inputs = [model.hidden, model.intermediate // ranks]
    if model.moe is not None:
        beside = model.moe.shared_intermediate or model.moe.shared_experts * model.moe.intermediate
        inputs += [model.moe.intermediate * groups // ranks, beside // ranks]
    fitting = (each for each in _GROUPS if all(size % each == 0 for size in inputs))
    return next(fitting, _GROUPS[-1])


def quantizes_unknown(model: Model | None, settings: Settings) -> bool:
    """Whether weights are stored in a way that is not described here."""
    asked = settings.word("quantization")
    if asked is None or model is None or model.quantization is not None:
        return False
    return asked not in _MAKES | _AWQ


def quantizes_late(settings: Settings) -> bool:
    """Whether weights are loaded as they are in the files, and quantized after that (0.5.11 layers/quantization/fp8.py)."""
    return settings.word("quantization") in _MAKES


SAVER = "enable-memory-saver"


def saver_known(model: Model | None, gpu: Gpu | None, settings: Settings) -> bool:
    """Whether weights that can be released take what they take otherwise.

    They are loaded into an allocator pool of their own, in the same segments. What is freed in it is not given back, so that
    is known where nothing is: weights in 16 bits that stay where they were made (utils/torch_memory_saver_adapter.py of
    0.4.2 to 0.5.23 and torch_memory_saver 0.0.9, `region`; a copy on the host is made when they are first released).
    """
    if model is None or gpu is None or settings.profile.speculative is not None:
        return False
    made_anew = (
        as_loaded(model, settings).quantization or model.moe or model.dtype_bits != PLAIN_BITS
    )
    return platform(gpu) is Platform.CUDA and not made_anew and not isinstance(model.attention, Mla)


TEXT_ONLY = "language-only"
# Their class makes the tower all the same and skips what the files have for it (0.5.7 to 0.5.23 models/qwen2_5_vl.py,
# qwen3_vl.py, kimi_vl.py, kimi_k25.py, and kimi_k3.py; 0.5.23 minimax_m3_vl.py); those of Dots and GLM-5.3-Flash do not.
_MAKES_TOWER = (
    *("Qwen2VL", "Qwen2_5_VL", "Qwen3VL", "Qwen3_5", "Qwen3Omni"),
    *("KimiVL", "KimiK25", "KimiK3", "MiniMaxM3"),
)


def makes_tower(model: Model | None) -> bool:
    """Whether the vision tower is there although images are encoded elsewhere (`--language-only`)."""
    return model is not None and model.architecture.startswith(_MAKES_TOWER)


def loading_assumption(model: Model, settings: Settings) -> str | None:
    """What is taken for granted about the checkpoint's format."""
    if model.quantization is not None or settings.word("quantization") not in _AWQ:
        return None
    parallel = settings.profile.parallel
    group = _group(model, parallel.tensor, parallel.expert)
    return f"the AWQ checkpoint has a scale and a zero point for {group} values, and its head is not quantized"
