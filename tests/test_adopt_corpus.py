"""Public launches: what is reached is not lost, and docs/adopt.md says what is measured."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.adopt import REPORT, Bench, Measured, Outcome, measure, report, share
from benchmarks.launches import read_commands, read_deployments


SILENT = {Outcome.UNFAITHFUL, Outcome.SILENT}


@cache
def measured() -> Measured:
    return measure(Bench())


def test_every_twentieth_command() -> None:
    """Those that a release takes come to the same settings, and nothing of any is lost in silence."""
    bench = Bench()
    for each in list(read_commands(bench.versions))[::20]:
        result = bench.command(each)
        assert result.outcome not in SILENT, each.id
        if each.literal and each.accepted:
            assert result.outcome is Outcome.EXACT, (each.id, result.findings)


@pytest.mark.slow
def test_the_deployments() -> None:
    """Every deployment whose values are all literal comes to the same settings, as the file it is."""
    bench = Bench()
    results = [bench.deployment(each) for each in read_deployments()]
    assert share(results) == 1.0
    assert not [each.id for each in results if each.outcome in SILENT]


@pytest.mark.slow
def test_all_commands() -> None:
    """At least 97 % of the literal ones come to the same settings; each command a release takes does."""
    results = measured().commands
    assert share(results) >= 0.97
    assert not [each.id for each in results if each.outcome in SILENT]


@pytest.mark.slow
def test_what_is_moved_is_explained() -> None:
    """On the newest release each adopted profile starts, or is told what to write instead."""
    moved = measured().moved
    assert len(moved) > 900
    assert [each.id for each in moved if not each.is_explained] == []


@pytest.mark.slow
def test_the_page_is_current() -> None:
    """docs/adopt.md is what the benchmark writes."""
    assert REPORT.read_text("utf-8") == report(measured())
