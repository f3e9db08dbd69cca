"""Predictions a second in one process: `python -m benchmarks.rate [CHECKOUT ...]`.

The commands of the named public boots, each once, again and again; no answer is kept for the next round, and what is
made once for a release is made before. Two figures: whole commands, from words through the release's parser and its
rules to a verdict in words; and the prediction alone, from a typed profile to both budgets. Other checkouts are measured
in turn with this one, each in a process of its own, so that a busy machine slows all of them alike. Seconds are those of
the processor.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from benchmarks.asking import Case
    from compiler.engines.engine import Engine, Facts
    from compiler.profile import Profile


HERE = Path(__file__).parent.parent
ROUNDS = 5
_TIMES = 3

COMMANDS, BUDGETS = "whole commands judged", "both budgets of a profile"


def rates() -> Mapping[str, float]:
    """Of each kind, how many a second of processor time."""
    from benchmarks.asking import ask, read_cases  # noqa: PLC0415 - of the checkout it runs in

    named = [case for case in read_cases() if case.is_named]
    asked = {(each.version, each.gpu, each.count, each.command): each for each in named}
    cases = tuple(asked.values())
    return {
        COMMANDS: _rate([partial(ask, case) for case in cases]),
        BUDGETS: _rate(list(_balances(cases))),
    }


def _balances(cases: Sequence[Case]) -> Iterator[Callable[[], object]]:
    """The prediction of each case that is priced, with nothing left to read or to look up."""
    from compiler.planner import balance_of  # noqa: PLC0415

    for profile, facts, engine in profiles_of(cases):
        if balance_of(profile, facts, engine) is not None:
            yield partial(balance_of, profile, facts, engine)


def profiles_of(cases: Sequence[Case]) -> Iterator[tuple[Profile, Facts, Engine]]:
    """The commands as typed profiles, each with what is known about it and the engine that sizes it."""
    from benchmarks.asking import predictor, question  # noqa: PLC0415
    from compiler.profile import Gpus, Name  # noqa: PLC0415

    for case in cases:
        release, about = predictor(case.version), question(case)
        asked = release.asked(case.command, gpus=Gpus(kind=Name(about.gpu), count=about.count))
        if release.engine is None or asked.profile is None or asked.unknowns:
            continue
        yield *release.completed(asked.profile, asked, about), release.engine


def _rate(questions: Sequence[Callable[[], object]]) -> float:
    for each in questions:
        each()
    start = time.process_time()
    for _ in range(_TIMES):
        for each in questions:
            each()
    return _TIMES * len(questions) / (time.process_time() - start)


_MEASURE = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['rates']()))"


def measured(checkout: Path, *, python: str = sys.executable) -> Mapping[str, float]:
    """The rates of a checkout, in a process of its own."""
    done = subprocess.run(  # noqa: S603 - this very file
        [python, "-c", _MEASURE, __file__],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


def main(others: Sequence[str]) -> None:
    """Print the median and the best rates of each checkout."""
    checkouts = [HERE, *(Path(each).resolve() for each in others)]
    found: dict[Path, list[Mapping[str, float]]] = {each: [] for each in checkouts}
    for _ in range(ROUNDS):
        for each in checkouts:
            found[each].append(measured(each))
    for each, several in found.items():
        for kind in (COMMANDS, BUDGETS):
            rates_of = [one[kind] for one in several]
            sys.stdout.write(
                f"{statistics.median(rates_of):8,.0f} {kind} a second, at best {max(rates_of):,.0f}: {each}\n"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
