"""Predictions a second in one process: `python -m benchmarks.rate [CHECKOUT ...]`.

The commands of the named public boots, each once, are put to `predict` again and again; no answer is kept for the next
round, and what is made once for a release is made before. Other checkouts are measured in turn with this one, each in a
process of its own, so that a busy machine slows all of them alike. Seconds are those of the processor.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


HERE = Path(__file__).parent.parent
ROUNDS = 5
_TIMES = 3


def rate() -> float:
    """Predictions a second of processor time."""
    from benchmarks.asking import ask, read_cases  # noqa: PLC0415 - those of the checkout it runs in

    named = [case for case in read_cases() if case.is_named]
    asked = {(each.version, each.gpu, each.count, each.command): each for each in named}
    cases = tuple(asked.values())
    for case in cases:
        ask(case)
    start = time.process_time()
    for _ in range(_TIMES):
        for case in cases:
            ask(case)
    return _TIMES * len(cases) / (time.process_time() - start)


_MEASURE = "import runpy, sys; print(runpy.run_path(sys.argv[1])['rate']())"


def measured(checkout: Path) -> float:
    """The rate of a checkout, in a process of its own."""
    done = subprocess.run(  # noqa: S603 - this very file
        [sys.executable, "-c", _MEASURE, __file__],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(others: Sequence[str]) -> None:
    """Print the median and the best rate of each checkout."""
    checkouts = [HERE, *(Path(each).resolve() for each in others)]
    rates: dict[Path, list[float]] = {each: [] for each in checkouts}
    for _ in range(ROUNDS):
        for each in checkouts:
            rates[each].append(measured(each))
    for each, several in rates.items():
        sys.stdout.write(
            f"{statistics.median(several):8,.0f} predictions a second, at best {max(several):,.0f}: {each}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
