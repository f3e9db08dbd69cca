"""The static fraction itself."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.checks.unknown import FITTED, WRITTEN, explains_itself, unfitted
from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.facts import Gpu
from compiler.memory.cards import UNIFIED_MOST
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_PERCENT = 100


@rule("fit-unknown")
def fit_needs_memory(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The least fraction is worked out from memory; where that is unknown there is none to write.

    What refuses it by itself, such as a card that is misspelt, is not said once more.
    """
    unknown = [each for each in plan.unknowns if not explains_itself(each)]
    if not unfitted(plan) or (plan.unknowns and not unknown):
        return
    missing = ", ".join(f"`{each.name}`" for each in unknown) or "the engine"
    yield error(
        "fit-unknown",
        f'`memory.fraction = "fit"` cannot be worked out: memory is not known for {missing}',
        where.primary("memory.fraction", text=FITTED),
        help=(WRITTEN,),
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


_NO_OTHER_BOUND = (
    "systemd's `MemoryMax=` does not bound it: on such a machine it counts nothing that CUDA takes"
)
"""https://github.com/Blackwellboy/model-serving-minefield/issues/57: 12 GiB of CUDA's memory under `MemoryMax=8G` on a DGX
Spark, `memory.current` at 409 MB and no kill; the same of `malloc` is killed."""


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
            _NO_OTHER_BOUND,
        ),
        help=(f"set `memory.fraction = {UNIFIED_MOST}` or less{_leaving(gpu)}",),
        path="memory.fraction",
    )


def _leaving(gpu: Gpu) -> str:
    """What the largest good fraction leaves, where it is known what is free."""
    free = gpu.free_before_load_gib
    if free is None:
        return ""
    left = free.scaled(1 - UNIFIED_MOST)
    return f": of {free.low:.0f} to {free.high:.0f} GiB free it leaves {left.low:.0f} to {left.high:.0f} GiB to the host and to what the engine takes beside"
