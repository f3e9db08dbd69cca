"""What somebody says that a log showed, and the card, in; what of it cannot be out."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.engines.engine import Measured
from compiler.facts import Gpu
from compiler.memory.cards import MIB


_ROUNDING_GIB = 0.005
"""A log prints two decimals."""


def impossible(measured: Measured, gpu: Gpu | None) -> Iterator[Diagnostic]:
    """Free memory that no load leaves, or no card has. Error: `bad-value`."""
    before, after = measured.free_before_gib, measured.free_after_gib
    if before is None:
        if after is not None:
            yield _wrong(
                "free-after",
                f"`--free-after` is {after:g} GiB, and without `--free-before` it says nothing of the weights",
                "say both, as the log has them",
            )
        return
    total = None if gpu is None else gpu.total_mib / MIB
    if total is not None and before > total + _ROUNDING_GIB:
        yield _wrong(
            "free-before",
            f"`--free-before` is {before:g} GiB, and the card has {total:.2f}",
            "say what the log has, of one GPU, or `--gpu-memory` where the card has more",
        )
    if after is not None and after >= before:
        yield _wrong(
            "free-after",
            f"`--free-after` is {after:g} GiB and `--free-before` {before:g}: the load would have taken nothing",
            "the first line of the log is before the load, and the smaller one is after it",
        )


def _wrong(option: str, summary: str, advice: str) -> Diagnostic:
    return error("bad-value", summary, notes=(advice,), path=option)
