"""Weights on one GPU, from the shapes of a model's tensors and how tensor parallelism lays them out.

File size over tensor parallel size is wrong: what is not split stands whole on every GPU. For Kimi K2.x INT4 on eight
GPUs the difference is 2.6 GiB of 72.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.ranges import Range


if TYPE_CHECKING:
    from collections.abc import Iterable


GIB = 2**30


class Layout(Enum):
    """How tensor parallelism lays a tensor out."""

    SPLIT = "split over the tensor parallel ranks"
    REPLICATED = "whole on every rank"


@frozen(kw_only=True)
class Tensors:
    """Tensors of one role: `count` of them with `elements` elements of `bits` bits each, before any split.

    `bits` includes what quantization stores beside the values (scales), spread over them.
    """

    role: str
    elements: int
    bits: float
    layout: Layout
    count: int = 1

    def gib(self, *, ranks: int) -> float:
        """GiB on one of `ranks` tensor parallel ranks."""
        share = ranks if self.layout is Layout.SPLIT else 1
        return self.elements * self.count * self.bits / 8 / share / GIB

    def formula(self, *, ranks: int) -> str:
        """The arithmetic for the reader."""
        over = f" / {ranks}" if self.layout is Layout.SPLIT and ranks > 1 else ""
        return f"{self.elements * self.count:,} x {self.bits:g} bit{over}"


# PyTorch's caching allocator takes requests of 10 MiB and more from the driver in multiples of 2 MiB, and serves smaller
# ones from blocks of 2 or 20 MiB (c10/cuda/CUDACachingAllocator.h: kMinLargeAlloc, kRoundLarge, kSmallBuffer,
# kLargeBuffer). What a log calls "mem usage" is what the driver gave, so each tensor may cost up to 2 MiB more than its
# size.
ALLOCATION_STEP_GIB = 2 / 1024


def rounding_gib(tensors: Iterable[Tensors]) -> Range:
    """What the allocator's rounding may add over all tensors: nothing, half a step each, a whole step each."""
    count = sum(each.count for each in tensors)
    return Range(0.0, count * ALLOCATION_STEP_GIB / 2, count * ALLOCATION_STEP_GIB)
