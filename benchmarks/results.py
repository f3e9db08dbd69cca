"""Every case, asked about in every tier it has the figures for."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import evolve, frozen

from benchmarks.asking import Answer, Case, ask, predictor
from benchmarks.recorded import carried, with_others


@frozen(kw_only=True)
class Results:
    """All that was asked.

    Attributes:
        others: tier B with the shipped boots, but for the case's own.
        strangers: the same without all boots that its source published.
    """

    cases: tuple[Case, ...]
    a: tuple[Answer, ...]
    b: tuple[Answer, ...]
    c: tuple[Answer, ...]
    others: tuple[Answer, ...]
    strangers: tuple[Answer, ...]
    seconds: float

    @property
    def predictions(self) -> int:
        """How many commands were judged."""
        return len(self.a) + len(self.b) + len(self.c)


def run(cases: Sequence[Case]) -> Results:
    """Ask about every case, in every tier it has the figures for."""
    named = [case for case in cases if case.is_named]
    for case in named:
        predictor(case.version)
    start = time.perf_counter()
    a = tuple(ask(case, with_log=True) for case in named if case.has_log)
    b = tuple(ask(_weighed(case)) for case in named)
    c = tuple(carried(case for case in named if case.aside is None))
    seconds = time.perf_counter() - start
    weighed = tuple(map(_weighed, named))
    return Results(
        cases=tuple(cases),
        a=a,
        b=b,
        c=c,
        others=tuple(with_others(weighed, by_source=False)),
        strangers=tuple(with_others(weighed, by_source=True)),
        seconds=seconds,
    )


def _weighed(case: Case) -> Case:
    """Without its log a boot needs a checkpoint that is known."""
    if case.checkpoint_named or case.aside is not None:
        return case
    return evolve(case, aside="the checkpoint is not named")
