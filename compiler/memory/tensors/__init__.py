"""A model and a layout in; the tensors that one GPU holds out, by role, as SGLang lays them out."""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from compiler.architecture import Compressed, Role
from compiler.facts import Model
from compiler.memory.layers import stage_counts, stage_slice
from compiler.memory.tensors.attention import attention_tensors, state_tensors
from compiler.memory.tensors.compressed import compressed_tensors
from compiler.memory.tensors.drafts import draft_tensors, nextn_tensors, stage_tensors
from compiler.memory.tensors.ends import (
    embedding_tensors,
    rotary_tensors,
    table_tensors,
    vision_tensors,
)
from compiler.memory.tensors.formats import format_of, in_blocks
from compiler.memory.tensors.mlp import (
    ORDERS,
    dense_tensors,
    expert_tensors,
    is_nvfp4,
)
from compiler.memory.weights import PLAIN_BITS, Split, Tensors, allocated
from compiler.ranges import Range, most
from compiler.same import Same


__all__ = [
    "ORDERS",
    "draft_tensors",
    "format_of",
    "is_nvfp4",
    "moved_below",
    "nextn_tensors",
    "stage_tensors",
    "target_tensors",
    "weights_gib",
]


def target_tensors(model: Model, *, split: Split, stage: int = 0) -> tuple[Tensors, ...]:
    """The tensors of a model on one rank of one pipeline stage."""
    first, last = stage == 0, stage == split.pipeline - 1
    counts = stage_counts(model, stage=stage, stages=split.pipeline, shares=split.shares)
    tensors = [*embedding_tensors(model, split=split, first=first, last=last)]
    if isinstance(model.attention, Compressed):
        tensors += compressed_tensors(
            model,
            model.attention,
            layers=range(model.layers)[
                stage_slice(model.layers, stage=stage, stages=split.pipeline, shares=split.shares)
            ],
            ranks=split.attention,
            o_a=Role.OTHER if split.output_plain else Role.ATTENTION,
        )
    else:
        tensors += attention_tensors(model, counts, split=split)
    if model.state is not None:
        tensors += state_tensors(model, model.state, count=counts.state, split=split)
    tensors += dense_tensors(model, count=counts.dense, split=split)
    if model.moe is not None:
        tensors += expert_tensors(model, model.moe, counts, split=split)
    tensors += rotary_tensors(model, layers=counts.attention, split=split)
    if model.tables is not None and not split.tables_on_host:
        tensors += table_tensors(model.tables, split=split)
    if model.vision is not None:
        tensors += vision_tensors(model, model.vision, split=split)
    if model.other_parameters:
        other = Tensors(
            role="other", elements=model.other_parameters, bits=model.dtype_bits, whole=True
        )
        tensors.append(other)
    return tuple(each for each in tensors if each.count and each.elements)


def weights_gib(model: Model, *, split: Split) -> Range:
    """What the weights take on the GPU that holds most, GiB.

    Where it is not known whether scales are kept twice, the high end keeps them twice.
    """
    return _weights_gib(Same(model), split)


_WEIGHED = 512
"""So many models and layouts are remembered."""


# Where Triton's kernels run experts in MXFP4, the pools of GPT-OSS on H100 and H200 that SGLang's own tests expect (floors of
# memory capacity in test/registered, 2026-07-17) leave so much for nothing that is known: 1.5 GiB of the 20B on one and on two, 2.0
# of the 120B on four, and 0.7 on eight.
_SWIZZLED_GIB = Range(0.6, 1.5, 2.1)


@lru_cache(_WEIGHED)
def _weights_gib(same: Same[Model], split: Split) -> Range:
    model = same.value
    once = _heaviest(model, split)
    if split.experts_swizzled:
        return once + _SWIZZLED_GIB
    if split.scale_copies is not None or not is_nvfp4(format_of(model, Role.EXPERTS)):
        return once
    twice = _heaviest(model, evolve(split, scale_copies=2))
    return Range(once.low, once.best, twice.high)


_BLOCK_BITS = 8
# Linear layers in AWQ stay as they are, or are repacked, one after the other, into others of the same size, which take the
# place of the one before (SGLang 0.4.6 layers/quantization/awq.py, 181; 0.5.12 hardware_backend/gpu/quantization/awq_kernels.py,
# 83 and 112).
_AWQ, _AWQ_BITS = "awq", 4


def moved_below(model: Model, *, split: Split) -> int:
    """Tensors of so many bits and more stay where they were made before the load."""
    kind = model.quantization
    if kind is not None and kind.method == _AWQ and model.moe is None:
        return _AWQ_BITS
    return _BLOCK_BITS if split.blocks_stay and in_blocks(model) else PLAIN_BITS


def _heaviest(model: Model, split: Split) -> Range:
    below = moved_below(model, split=split)
    return most(
        allocated(target_tensors(model, split=split, stage=stage), moved_below=below)
        for stage in range(split.pipeline)
    )
