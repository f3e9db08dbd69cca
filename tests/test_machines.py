"""What is free on the next machine, from those whose logs are public."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.machines import FOLDER, Machine, Spread, Survey, described, student_quantile, survey
from compiler.catalog import open_catalog
from compiler.facts import Gpu


FOUND = survey()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_files_are_written(path: Path) -> None:
    """A file of the catalogue has the ranges that its machines say."""
    text = path.read_text("utf-8")
    assert described(FOUND, path.stem, text) == text


def test_seen_are_held() -> None:
    """No machine that somebody has seen lies outside of its kind's range."""
    outside = [
        (kind, each.free_gib)
        for each in FOUND.machines
        for kind in each.kinds
        if not (free := FOUND.ranges(kind)[each.alone]).low <= each.free_gib <= free.high
    ]
    assert not outside


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(3, 2.353), (5, 2.015), (10, 1.812), (60, 1.671)]
)
def test_student_quantile(freedom: int, quantile: float) -> None:
    """The quantiles are those of the printed tables, within 1 %."""
    assert student_quantile(freedom, 0.95) == pytest.approx(quantile, rel=0.01)


def test_more_machines_narrow() -> None:
    """The more machines of a kind are known, the less far another may lie from their mean."""
    spread = Spread(deviation=0.4, freedom=10)
    assert spread.reach_gib(1) > spread.reach_gib(2) > spread.reach_gib(20) > 1.8 * 0.4


def test_one_kind_learns_from_others() -> None:
    """A kind with one machine is as doubtful as the kinds of its sort, of which more are known, say."""
    narrow, wide = (_survey(apart).ranges("a100") for apart in (0.1, 1.0))
    assert wide[0].high - wide[0].low > narrow[0].high - narrow[0].low


def test_what_nobody_printed() -> None:
    """Without a machine of one GPU, more is free there by what NCCL takes of the kinds of which both are known."""
    several, alone = _survey(0.1).ranges("a100")
    assert alone.best - several.best == pytest.approx(1.0)


def test_kind_that_nobody_named() -> None:
    """Of a kind without a machine as much is taken as of the others of its sort, in the mean."""
    several, _ = _survey(0.0).ranges("v100-32gb")
    taken = [_gpu(kind).total_mib / 1024 - 77.0 for kind in ("h100", "a100")]
    assert _gpu("v100-32gb").total_mib / 1024 - several.best == pytest.approx(
        fmean(taken), abs=0.01
    )


def test_unified_memory_stays() -> None:
    """What the host uses, too, no machine tells: the file keeps the text it has."""
    assert described(FOUND, "gb10", "as it was") == "as it was"


def _survey(apart: float) -> Survey:
    machines = [
        *(_machine("h100", 8, 77.0 + apart * number) for number in range(5)),
        *(_machine("h100", 1, 78.0 + apart * number) for number in range(5)),
        _machine("a100", 8, 77.0),
    ]
    gpus = {kind: _gpu(kind) for kind in ("h100", "a100", "v100-32gb")}
    return Survey(machines=tuple(machines), gpus=gpus)


def _machine(kind: str, count: int, free_gib: float) -> Machine:
    return Machine(kinds=(kind,), count=count, free_gib=free_gib, version="0.5.11", source="a log")


def _gpu(kind: str) -> Gpu:
    gpu = open_catalog().gpu(kind)[0]
    assert gpu is not None
    return gpu
