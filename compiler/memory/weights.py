"""Weights on one GPU: tensors as the engine allocates them in, GiB as the driver sees them out.

File size over tensor parallel size is wrong: what is not split stands whole on every GPU. For Kimi K2.x INT4 on eight
GPUs the difference is 2.6 GiB of 72.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from attrs import frozen

from compiler.ranges import Range
from compiler.value import Value


GIB = 2**30
_MIB = 2**20

# PyTorch's caching allocator (c10/core/AllocatorConfig.h): requests up to 1 MiB are served from segments of 2 MiB, those
# below 10 MiB from segments of 20 MiB, larger ones get a segment of their own in whole steps of 2 MiB. What a log calls
# "mem usage" is what the driver gave.
_SMALL = 1 * _MIB
_SMALL_SEGMENT = 2 * _MIB
_LARGE = 10 * _MIB
_SHARED_SEGMENT = 20 * _MIB
_STEP = 2 * _MIB
_SMALL_STEP = 512
_KEPT_REST = 1 * _MIB
"""What is left of a segment is handed out again when it is more than this."""


@frozen(kw_only=True, eq=False, repr=False)
class Split(Value):
    """Over how many ranks what is split.

    Attributes:
        tensor: ranks of one pipeline stage.
        expert: groups that the routed experts are dealt out to; the ranks of a group split each expert.
        expert_copies: routed experts that there are twice; they are dealt out like the others.
        data: replicas of the attention (data parallel attention); 1 without.
        context: ranks that share one sequence's prefill, each with the same heads; 1 without.
        pipeline: stages.
        shares: the layers of each stage; empty where they have equal shares.
        dense_whole: dense MLPs stand whole on every rank (`--moe-dense-tp-size 1`).
        shared_whole: so do shared experts (an all-to-all backend).
        vision_whole: so does the vision tower (`--mm-enable-dp-encoder`).
        head_by_attention: the head is split like the attention (`--enable-dp-lm-head`).
        tables_on_host: tables of n-grams are kept in host memory.
        gpu_experts: routed experts of a layer that a GPU holds, the others stand in host memory; `None`: all.
        shared_on_host: so does the shared expert.
        scale_copies: as many times what a checkpoint has of scales the experts in four bits keep, `None` when that is not
            known of NVFP4 (SGLang 0.5.11 layers/quantization/modelopt_quant.py: twice where CUTLASS runs the experts, once
            for TensorRT-LLM's kernels; in 0.5.8 and 0.5.9 once).
        expert_step, latent_step: the multiples that a rank's share of an expert in MXFP4, and what goes into one, are filled up
            to.
        kernel_step: the multiple that a rank's share of any other expert is filled up to.
        expert_bias_bits: of the biases that such experts get, whether they have some or not; 0 without.
        experts_plain: such experts are made 16 bits once they are loaded.
        experts_swizzled: they are laid out anew for Triton's kernels once they are loaded.
        rotary_halves: a YaRN of latent attention keeps the cosines and the sines of both halves beside its own table.
        rotary_alone: of attention that compresses over time the table of complex numbers is the only one.
        rotary_in_each: each of its layers has tables of cosines and sines in 16 bits, beside those that all share.
        output_plain: the first half of its output's projection is made 16 bits while it loads.
        orders_kept: the order of the inputs of experts in four bits is kept, although no checkpoint here sets one.
        blocks_stay: weights in fp8 with a scale a block stay where they were loaded.
        blocks_dequantized: what decoding absorbs of them is kept in the model's number format, not in fp8.
    """

    tensor: int = 1
    expert: int = 1
    expert_copies: int = 0
    data: int = 1
    context: int = 1
    pipeline: int = 1
    shares: tuple[int, ...] = ()
    dense_whole: bool = False
    shared_whole: bool = False
    vision_whole: bool = False
    head_by_attention: bool = False
    tables_on_host: bool = False
    gpu_experts: int | None = None
    shared_on_host: bool = False
    scale_copies: int | None = None
    expert_step: int = 64
    latent_step: int = 1
    kernel_step: int = 1
    expert_bias_bits: int = 0
    experts_plain: bool = False
    experts_swizzled: bool = False
    rotary_halves: bool = False
    rotary_alone: bool = False
    rotary_in_each: bool = False
    output_plain: bool = False
    orders_kept: bool = False
    blocks_stay: bool = False
    blocks_dequantized: bool = True

    @property
    def attention(self) -> int:
        """Ranks that share one attention layer's heads."""
        return max(1, self.tensor // (self.data * self.context))

    @property
    def vocabulary(self) -> int:
        """Ranks that share the embedding."""
        return max(1, self.tensor // self.data)

    @property
    def within_expert(self) -> int:
        """Ranks that share one expert."""
        return max(1, self.tensor // self.expert)


@frozen(kw_only=True, eq=False, repr=False)
class Tensors(Value):
    """Tensors of one role as one rank has them: `count` of them, each with `elements` elements of `bits` bits.

    Attributes:
        whole: every rank has all of it.
        late: made once everything is loaded.
    """

    role: str
    elements: int
    bits: float
    count: int = 1
    whole: bool = False
    late: bool = False

    @property
    def bytes_each(self) -> int:
        """Bytes of one of them."""
        return math.ceil(self.elements * self.bits / 8)

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return self.bytes_each * self.count

    @property
    def gib(self) -> float:
        """GiB of all of them."""
        return self.bytes / GIB

    def formula(self) -> str:
        """The arithmetic for a reader."""
        return f"{self.count} x {self.elements:,} x {self.bits:g} bit"


def exact_gib(tensors: Iterable[Tensors]) -> float:
    """What the values themselves take."""
    return sum(each.bytes for each in tensors) / GIB


# Code of kernels is loaded on first use, some of it during the load, and counts as used: a bound we reason about.
_CODE_GIB = 0.2


PLAIN_BITS = 16
"""Tensors of so many bits are no kernel's own format."""


def allocated(tensors: Iterable[Tensors], *, moved_below: float = PLAIN_BITS) -> Range:
    """What the driver hands out for them, GiB.

    Low: no rounding at all (`expandable_segments`). Best: each in the segment that its size asks for, segments packed.
    High: code is loaded, and sizes do not share segments. Tensors of `moved_below` bits and more are made before anything is
    loaded and stay where they are (SGLang 0.5.13 model_loader/loader.py, 736). Others are made anew while freed blocks lie
    about: each of a megabyte and more also keeps the largest rest that the allocator does not hand out again, and segments of
    20 MiB are a third empty.
    """
    low = small = middle = large = rests = 0
    for each in tensors:
        size = each.bytes_each
        low += each.bytes
        if size <= _SMALL:
            small += each.count * -(-size // _SMALL_STEP) * _SMALL_STEP
            continue
        moved = each.late or each.bits < moved_below
        if moved:
            rests += each.count * _KEPT_REST
        if size < _LARGE:
            middle += each.bytes
            rests += each.bytes // 2 if moved else _unshared(each) - each.bytes
        else:
            large += each.count * -(-size // _STEP) * _STEP
    best = large + _segments(small, _SMALL_SEGMENT) + _segments(middle, _SHARED_SEGMENT)
    high = max(best, best + rests)
    return Range(low / GIB, best / GIB, high / GIB + _CODE_GIB)


def _unshared(tensors: Tensors) -> int:
    """What segments take that hold tensors of this size alone; the last may be shared."""
    fitting = _SHARED_SEGMENT // tensors.bytes_each
    return tensors.count // fitting * _SHARED_SEGMENT + tensors.count % fitting * tensors.bytes_each


def _segments(size: int, segment: int) -> int:
    return -(-size // segment) * segment
