"""A card that the catalogue does not have just so: a known kind with another total, or one described by its memory alone."""

from __future__ import annotations

from attrs import evolve

from compiler.diagnostics import listed
from compiler.facts import Gpu
from compiler.ranges import Range


CUSTOM = "custom"
"""The GPU that is described by its memory alone."""

# What the driver, CUDA and NCCL take of a card before weights load, GiB. One card: 0.6 to 1.2 on cards of 16 GiB (15.93, and
# 15.33, 15.24, 14.77 free), 0.7 on an RTX 3090 (24.0 and 23.30), 0.8 on an H100 (79.65 and 78.81). Several: 0.9 on four RTX
# 3090 (24.0 and 23.11), 1.6 on four RTX PRO 6000 (95.6 and 94.0), 2.5 to 3.1 on eight H200 (140.4 and 137.3).
_ALONE_GIB, _TOGETHER_GIB = Range(0.6, 0.8, 1.2), Range(0.9, 1.6, 3.1)
MIB = 1024
"""MiB in a GiB."""
UNIFIED_MOST = 0.8
"""The largest fraction that leaves the host enough where it uses the GPU's memory, too.

https://github.com/hasso5703/dgx-spark-qwen38: hangs above, and 0.50 to 0.80 that ran.
"""


def resized(gpu: Gpu, memory_gib: float, *, count: int) -> Gpu:
    """A known kind with another total, such as a slice of it: what is not free stays as much."""
    total = max(1, round(memory_gib * MIB))
    free = gpu.free_before_load_gib
    if free is None:
        return evolve(gpu, total_mib=total, free_before_load_gib=_free(memory_gib, count=count))
    alone, more = gpu.free_alone_gib, memory_gib - gpu.total_mib / MIB
    return evolve(
        gpu,
        total_mib=total,
        free_before_load_gib=_moved(free, by=more),
        free_alone_gib=None if alone is None else _moved(alone, by=more),
    )


def other_sizes(gpu: Gpu) -> str | None:
    """That cards of other sizes have the same name, as a sentence; `None` where its name says its size."""
    own = round(gpu.total_mib / MIB)
    others = [f"{each}" for each in gpu.sizes_gib if each != own]
    if not others:
        return None
    return f"`{gpu.id}` is the card of {own} GiB; one of {listed(others)} GiB has the same name"


def _moved(free: Range, *, by: float) -> Range:
    return Range(*(max(0.0, each + by) for each in (free.low, free.best, free.high)))


def _free(memory_gib: float, *, count: int) -> Range:
    taken = _ALONE_GIB if count == 1 else _TOGETHER_GIB
    return Range(
        max(0.0, memory_gib - taken.high),
        max(0.0, memory_gib - taken.best),
        max(0.0, memory_gib - taken.low),
    )


def custom(memory_gib: float, *, count: int) -> Gpu:
    """One that is described by its memory alone: its kernels are those of compute capability 8.0."""
    return Gpu(
        id=CUSTOM,
        names=(),
        total_mib=max(1, round(memory_gib * MIB)),
        free_before_load_gib=_free(memory_gib, count=count),
        compute_capability="8.0",
        multiprocessors=108,
        interconnect="pcie",
        shipped=False,
    )
