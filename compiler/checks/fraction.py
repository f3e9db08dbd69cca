"""The static fraction itself."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.memory.cards import UNIFIED_MOST
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_PERCENT = 100


@rule("fit-unknown")
def fit_needs_memory(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The least fraction is worked out from memory; where that is unknown there is none to write."""
    if plan.profile.memory.fraction != "fit" or plan.memory is not None:
        return
    missing = ", ".join(f"`{each.name}`" for each in plan.unknowns) or "the engine"
    yield error(
        "fit-unknown",
        f'`memory.fraction = "fit"` cannot be worked out: memory is not known for {missing}',
        where.primary("memory.fraction", text="the least that keeps the promise"),
        help=("write a fraction, such as one that a boot of this server was seen to hold",),
        path="memory.fraction",
    )


@rule("fraction-range")
def fraction_range(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A share is between 0 and 1; the engine itself does not check it."""
    fraction = plan.profile.memory.fraction
    if isinstance(fraction, str) or 0 < fraction < 1:
        return
    advice = (
        f"write `{fraction / _PERCENT:g}` for {fraction:g} %"
        if 1 < fraction < _PERCENT
        else 'write a share like `0.9`, or `"fit"`'
    )
    yield error(
        "fraction-range",
        f"`memory.fraction` is a share between 0 and 1, not {fraction:g}",
        where.primary("memory.fraction", text="out of range"),
        notes=(
            "the engine takes any number, loads the weights, and ends in an error about memory",
        ),
        help=(advice,),
        path="memory.fraction",
    )


@rule("unified-memory")
def host_needs_some(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Where the GPU's memory is the host's, the fraction takes from the host's own processes."""
    gpu, fraction = plan.gpu, plan.profile.memory.fraction
    if gpu is None or not gpu.unified or isinstance(fraction, str):
        return
    if not UNIFIED_MOST < fraction < 1:
        return
    yield warning(
        "unified-memory",
        f"a fraction of {fraction:g} leaves the host of a `{gpu.id}` little memory",
        where.primary("memory.fraction", text="of memory that the host uses, too"),
        secondary=present(where.label("gpus.kind", "one memory for both")),
        notes=(
            "files that are read and other processes take from the same memory; public reports have the machine hang",
        ),
        help=(
            f"set `memory.fraction` to {UNIFIED_MOST} or less, and bound the service's memory on the host",
        ),
        path="memory.fraction",
    )
