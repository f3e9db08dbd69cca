"""The tensors of MLPs: dense, routed and shared experts, and the router.

Sources: SGLang 0.5.11 models/deepseek_v2.py (360-560), models/nemotron_h.py (136-225), layers/moe/fused_moe_triton/layer.py,
layers/quantization/mxfp4.py (335-370).
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Moe, Role
from compiler.facts import Model
from compiler.memory.layers import Counts
from compiler.memory.tensors.formats import Matrix, format_of, padded
from compiler.memory.weights import Split, Tensors


# Triton's kernels want a rank's share of an MXFP4 expert in multiples of 64.
_MXFP4 = "mxfp4"
_MXFP4_STEP = 64


def dense_tensors(model: Model, *, count: int, split: Split) -> Iterator[Tensors]:
    """Dense MLPs: gate and up are one tensor."""
    ranks = 1 if split.dense_whole else split.tensor
    yield from _mlp(
        "dense MLP",
        model,
        role=Role.DENSE,
        size=model.hidden * model.intermediate // ranks,
        gated=model.gated_mlp,
        count=count,
        whole=split.dense_whole,
    )


def expert_tensors(model: Model, moe: Moe, counts: Counts, *, split: Split) -> Iterator[Tensors]:
    """Routed experts, what stands beside them, and their router."""
    width = moe.latent or model.hidden
    share = moe.intermediate // split.within_expert
    if model.quantization is not None and model.quantization.method == _MXFP4:
        share = padded(share, step=_MXFP4_STEP)
    yield from _mlp(
        "routed experts",
        model,
        role=Role.EXPERTS,
        size=moe.routed_experts // split.expert * width * share,
        gated=moe.gated,
        count=counts.experts,
    )
    beside = moe.shared_intermediate or moe.shared_experts * moe.intermediate
    yield from _mlp(
        "shared expert",
        model,
        role=Role.SHARED,
        size=model.hidden * beside // (1 if split.shared_whole else split.tensor),
        gated=moe.gated,
        count=counts.experts if moe.shared_experts else 0,
        whole=split.shared_whole,
    )
    router = Matrix(
        name="router", elements=model.hidden * moe.routed_experts, count=counts.experts, whole=True
    )
    yield Tensors(
        role=router.name,
        elements=router.elements,
        bits=moe.router_bits,
        count=router.count,
        whole=True,
    )
    if moe.latent is not None:
        for name in ("latent projection in", "latent projection out"):
            yield from Matrix(
                name=name, elements=model.hidden * moe.latent, count=counts.experts, whole=True
            ).tensors(format_of(model, Role.OTHER))


def _mlp(
    name: str,
    model: Model,
    *,
    role: Role,
    size: int,
    gated: bool,
    count: int,
    whole: bool = False,
) -> Iterator[Tensors]:
    stored = format_of(model, role)
    up = 2 * size if gated else size
    first = "gate and up" if gated else "up"
    yield from Matrix(name=f"{name}, {first}", elements=up, count=count, whole=whole).tensors(
        stored
    )
    yield from Matrix(name=f"{name}, down", elements=size, count=count, whole=whole).tensors(stored)
