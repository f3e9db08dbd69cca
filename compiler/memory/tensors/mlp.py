"""The tensors of MLPs: dense, routed and shared experts, and the router.

Sources: SGLang 0.5.11 models/deepseek_v2.py (360-560), models/nemotron_h.py (136-225),
layers/moe/fused_moe_triton/layer.py, layers/quantization/{mxfp4,modelopt_quant}.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.architecture import Format, Moe, Role
from compiler.facts import Model
from compiler.memory.layers import Counts
from compiler.memory.tensors.formats import Matrix, format_of, padded
from compiler.memory.weights import PLAIN_BITS, Split, Tensors


_MXFP4_METHODS = frozenset({"mxfp4", "compressed-tensors"})
# Scales of NVFP4 come in rows of 128, and the values follow where an expert has one matrix in.
_NVFP4_STEP = 128
_NVFP4_BITS = 4
_NVFP4_GROUP = 16
_MXFP4_FORMAT = (4, 32, 8)

ORDERS = "routed experts, order of inputs"


def dense_tensors(model: Model, *, count: int, split: Split) -> Iterator[Tensors]:
    """Dense MLPs: gate and up are one tensor. Of wide ones each stage of a pipeline has a fair share."""
    ranks = 1 if split.dense_whole else split.tensor
    size = model.hidden * model.intermediate // ranks
    stored = format_of(model, Role.DENSE)
    wide = -(-model.wide_layers * count // model.dense_layers) if model.wide_layers else 0
    mlp = Matrix(name="dense MLP", elements=size, count=count - wide, whole=split.dense_whole)
    yield from _both(mlp, stored, gated=model.gated_mlp)
    wider = evolve(mlp, name="wide dense MLP", elements=2 * size, count=wide)
    yield from _both(wider, stored, gated=model.gated_mlp)


def expert_tensors(model: Model, moe: Moe, counts: Counts, *, split: Split) -> Iterator[Tensors]:
    """Routed experts, what stands beside them, and their router."""
    yield from _routed(model, moe, count=counts.experts, split=split)
    beside = moe.shared_intermediate or moe.shared_experts * moe.intermediate
    ranks = 1 if split.shared_whole else split.tensor
    shared = Matrix(
        name="shared expert",
        elements=model.hidden * beside // ranks,
        count=counts.experts if moe.shared_experts and not split.shared_on_host else 0,
        whole=split.shared_whole,
    )
    yield from _both(shared, format_of(model, Role.SHARED), gated=moe.gated)
    yield from Matrix(
        name="router", elements=model.hidden * moe.routed_experts, count=counts.experts, whole=True
    ).tensors(Format(roles=(Role.ROUTER,), bits=moe.router_bits))
    if moe.latent is not None:
        for name in ("latent projection in", "latent projection out"):
            yield from Matrix(
                name=name, elements=model.hidden * moe.latent, count=counts.experts, whole=True
            ).tensors(format_of(model, Role.OTHER))


def _routed(model: Model, moe: Moe, *, count: int, split: Split) -> Iterator[Tensors]:
    stored = format_of(model, Role.EXPERTS)
    share, inputs = _columns(model, moe, split=split)
    filled = has_mxfp4_experts(model)
    plain = filled and split.experts_plain
    if plain:
        stored = Format(roles=stored.roles, bits=PLAIN_BITS)
    elif is_nvfp4(stored) or is_mxfp4(stored):
        stored = evolve(stored, scale_bits=stored.scale_bits * (split.scale_copies or 1))
    experts = (moe.routed_experts + split.expert_copies) // split.expert
    if split.gpu_experts is not None:
        experts = min(experts, split.gpu_experts)
    size = experts * inputs * share
    yield from _both(
        Matrix(name="routed experts", elements=size, count=count, late=plain),
        stored,
        gated=moe.gated,
    )
    beside = {"biases": split.expert_bias_bits if filled else 0}
    if stored.group_size == 0:
        beside["scales"] = stored.scale_bits
    for what, bits in beside.items():
        for name, each in (("in", (2 if moe.gated else 1) * share), ("out", inputs)):
            if bits:
                # Each rank has those of all outputs (0.5.15 layers/quantization/compressed_tensors/schemes/
                # compressed_tensors_w8a8_fp8_moe.py, 183).
                yield Tensors(
                    role=f"routed experts, {what} {name}",
                    elements=experts * each,
                    bits=bits,
                    count=count,
                    whole=(what, name) == ("scales", "out") and split.expert == 1,
                )
    if split.orders_kept:
        # Two of 32 bits for what goes in, and for what goes into the second matrix; the class for Marlin frees them, the one
        # for Triton does not (0.5.9 layers/quantization/compressed_tensors/schemes/compressed_tensors_wNa16_moe.py, 180 and
        # 409).
        for each in (inputs, share):
            yield Tensors(role=ORDERS, elements=experts * each, bits=32, count=2 * count)


def _columns(model: Model, moe: Moe, *, split: Split) -> tuple[int, int]:
    """What a rank has of an expert, and what goes into one, as its kernels want them."""
    share, inputs = moe.intermediate // split.within_expert, moe.latent or model.hidden
    if has_mxfp4_experts(model):
        return padded(share, step=split.expert_step), padded(inputs, step=split.latent_step)
    if split.kernel_step > 1:
        return padded(share, step=split.kernel_step), inputs
    if is_nvfp4(format_of(model, Role.EXPERTS)) and not moe.gated:
        return padded(share, step=_NVFP4_STEP), inputs
    return share, inputs


def is_nvfp4(stored: Format) -> bool:
    """Four bits with a scale for sixteen values."""
    return (stored.bits, stored.group_size) == (_NVFP4_BITS, _NVFP4_GROUP)


def is_mxfp4(stored: Format) -> bool:
    """Four bits with a scale of eight for thirty-two values."""
    return (stored.bits, stored.group_size, stored.scale_bits) == _MXFP4_FORMAT


def has_mxfp4_experts(model: Model) -> bool:
    """Whether the class for MXFP4 runs the experts: not where the other weights are in fp8 (DeepSeek V4)."""
    kind = model.quantization
    return (
        model.moe is not None
        and kind is not None
        and kind.method in _MXFP4_METHODS
        and is_mxfp4(format_of(model, Role.EXPERTS))
    )


def _both(mlp: Matrix, stored: Format, *, gated: bool) -> Iterator[Tensors]:
    """The tensor that goes in (gate and up side by side) and the one that comes out; `elements` are those of one."""
    first = "gate and up" if gated else "up"
    into = evolve(mlp, name=f"{mlp.name}, {first}", elements=(2 if gated else 1) * mlp.elements)
    yield from into.tensors(stored)
    yield from evolve(mlp, name=f"{mlp.name}, down").tensors(stored)
