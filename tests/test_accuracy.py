"""How near predictions come to public boots; what was reached once is not lost."""

from __future__ import annotations

import statistics
from functools import cache

import pytest

from benchmarks.accuracy import REPORT, report
from benchmarks.asking import Answer, read_cases
from benchmarks.results import Results, run


pytestmark = pytest.mark.slow  # every boot on every way: a sixteenth of the default run


@cache
def results() -> Results:
    return run(read_cases())


def counted(answers: tuple[Answer, ...]) -> list[Answer]:
    return [
        each
        for each in answers
        if each.case.aside is None and each.memory is not None and each.case.tokens
    ]


def errors(answers: list[Answer]) -> list[float]:
    return sorted(abs(each.error or 0.0) for each in answers)


def test_with_the_log_s_figures() -> None:
    """Tier A: median within 0.1 %, and all but one in twenty within 1 % or the log's own decimals."""
    found = counted(results().a)
    assert len(found) >= 35
    assert statistics.median(errors(found)) <= 0.001
    beyond = [each for each in found if abs(each.error or 0) > max(0.01, each.band)]
    assert len(beyond) <= len(found) / 20
    assert sum(each.covers for each in found) / len(found) >= 0.9


_TRANSFERRING = frozenset(
    {
        *(f"mimo-v25-pro-16h100-f0{fraction}" for fraction in (90, 92, 95)),
        *(f"qwen3-vl-235b-fp8-4h200-pd-f0{fraction}" for fraction in (80, 86, 90)),
    }
)
"""Boots of two servers, one on two hosts and one whose images another encodes: what they transfer by takes memory that nothing
counts. They are in every figure but this one.
"""


def test_with_model_gpu_and_flags_alone() -> None:
    """Tier B: median within 3 %, nine in ten within 10 %, and the range holds the truth for nine in ten that transfer nothing."""
    found = counted(results().b)
    assert len(found) >= 40
    assert statistics.median(errors(found)) <= 0.03
    assert errors(found)[int(0.9 * len(found))] <= 0.10
    alone = [each for each in found if each.case.id not in _TRANSFERRING]
    assert len(alone) == len(found) - len(_TRANSFERRING)
    assert sum(each.covers for each in alone) / len(alone) >= 0.9


def test_the_range_of_every_tier_together() -> None:
    """Of all predictions that are held against a pool, in every tier and with nothing left out, nine in ten hold it."""
    found = [each for tier in (results().a, results().b, results().c) for each in counted(tier)]
    known = [each for each in found if each.error is not None]
    assert len(known) >= 200
    assert sum(each.covers for each in known) / len(known) >= 0.9


def test_with_the_shipped_boots_but_its_own() -> None:
    """Tier B with the public boots that the catalogue ships: hardly wider, and the range holds the truth as often."""
    without, others = counted(results().b), counted(results().others)
    assert [each.case.id for each in others] == [each.case.id for each in without]
    carried = [each for each in others if each.memory and each.memory.pool.boot is not None]
    assert len(carried) >= 5
    for each in carried:
        assert each.memory is not None
        assert each.memory.pool.boot is not None
        assert each.memory.pool.boot.name != f"public/{each.case.id}"
    assert statistics.median(errors(others)) <= 0.03
    assert sum(each.covers for each in others) >= sum(each.covers for each in without)
    widths = [statistics.median(each.width for each in several) for several in (others, without)]
    assert widths[0] <= 1.02 * widths[1]


def test_carried_from_another_boot() -> None:
    """Tier C: the worst within 2 %."""
    found = counted(results().c)
    assert len(found) >= 20
    assert errors(found)[-1] <= 0.02


def test_what_started_is_not_refused_for_certain() -> None:
    """No boot that started gets `reserve-too-small` or an error about its weights; few are warned about the reserve."""
    started = [
        each
        for each in (*results().a, *results().b)
        if each.case.aside is None and each.case.started and each.memory is not None
    ]
    refused = [
        each.case.id for each in started if each.codes & {"reserve-too-small", "weights-too-large"}
    ]
    assert refused == []
    warned = [each for each in started if any(code.startswith("reserve-") for code in each.codes)]
    assert len(warned) <= len(started) / 5


def test_the_report_is_the_one_of_these_boots() -> None:
    """`docs/accuracy.md` is what the benchmark writes today."""
    assert REPORT.read_text(encoding="utf-8") == report(results())
