"""One run of a command: CPU and wall seconds, and the most memory it held."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import frozen


KIB_PER_MB = 1000 / 1.024


@frozen(kw_only=True)
class Run:
    """What one run took."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def run(command: Sequence[str], *, folder: Path, one_core: bool = False) -> Run:
    """Run it in a folder, its output thrown away; CPU seconds are those of all its processes, memory that of the largest.

    Raises:
        RuntimeError: when it does not end with 0.
    """
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        if one_core:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os.execvpe(command[0], list(command), ENVIRONMENT)  # noqa: S606 - words, no shell
    _, status, used = os.wait4(child, 0)
    wall_s = time.perf_counter() - started
    if status:
        raise RuntimeError(f"`{' '.join(command)}` ended with {os.waitstatus_to_exitcode(status)}")
    return Run(
        cpu_s=used.ru_utime + used.ru_stime, wall_s=wall_s, peak_mb=used.ru_maxrss / KIB_PER_MB
    )


# A user's Python writes its bytecode, and does not look into this checkout.
ENVIRONMENT: Mapping[str, str] = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}


def rounds(
    commands: Mapping[str, tuple[Sequence[str], Path]], *, count: int, one_core: bool = False
) -> dict[str, list[Run]]:
    """All commands one after the other, so many times over: what slows one round slows all of it."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for name, (command, folder) in commands.items():
        run(command, folder=folder)  # once for caches and bytecode
        del name
    for _ in range(count):
        for name, (command, folder) in commands.items():
            runs[name].append(run(command, folder=folder, one_core=one_core))
    return runs


def median(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    """The median of one figure."""
    return statistics.median(of(each) for each in runs)


def ratio(runs: Sequence[Run], reference: Sequence[Run]) -> float:
    """The median of the CPU ratios, round by round."""
    return statistics.median(
        each.cpu_s / other.cpu_s for each, other in zip(runs, reference, strict=True)
    )
