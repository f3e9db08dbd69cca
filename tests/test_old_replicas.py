"""Data parallel attention of the first releases, which has a replica on each rank and a whole head with it."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.engines.sglang.launch import step_shares
from compiler.judged import Judged
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
GIB = 2**30
V25 = "--model-path deepseek-ai/DeepSeek-V2.5 --tp 8 --enable-dp-attention"


def judged(command: str, *, version: str) -> Judged:
    words = f"python -m sglang.launch_server {command}".split()
    predictor = make_predictor(CATALOG, engine="sglang", version=version)
    return predictor.predict(words, Question(gpu="h200", count=8, engine="sglang", version=version))


def load_gib(command: str, *, version: str) -> float:
    found = judged(command, version=version)
    assert found.plan is not None
    assert found.plan.memory is not None, found.plan.unknowns
    assert found.plan.memory.load_gib is not None
    return found.plan.memory.load_gib.best


@pytest.mark.parametrize(
    ("version", "asked"), [("0.4.1", False), ("0.4.4", False), ("0.4.4.post1", True)]
)
def test_old_releases_have_a_replica_on_each_rank(version: str, asked: bool) -> None:  # noqa: FBT001 - a case
    """To 0.4.4 the number of replicas is that of the ranks, whatever the command says; later it is what was asked for."""
    two = load_gib(f"{V25} --dp 2", version=version)
    eight = load_gib(f"{V25} --dp 8", version=version)
    assert (two < eight) == asked


def test_the_head_of_old_replicas_stands_whole() -> None:
    """To 0.4.4 each rank has all of the head: 0.85 GiB more of DeepSeek V2.5 on eight ranks than from the next release on."""
    command = f"{V25} --dp 8"
    old, new = (load_gib(command, version=each) for each in ("0.4.4", "0.4.4.post1"))
    whole = 102_400 * 5120 * 2 / GIB
    assert old - new == pytest.approx(whole * 7 / 8, abs=0.01)


def test_v2_is_priced_in_the_oldest_release_and_v3_is_not() -> None:
    """The start of DeepSeek V2 in 0.4.1 was read; that of V3, which captures no graphs there, was not."""
    assert load_gib(V25, version="0.4.1") > 70
    found = judged("--model-path deepseek-ai/DeepSeek-V3 --tp 8", version="0.4.1")
    assert found.plan is not None
    assert [each.code for each in found.plan.unknowns] == ["model-unpriced"]


def test_old_replicas_halve_a_prefill_step() -> None:
    """To 0.4.4 a step is cut in two for any number of replicas; later each replica has its share."""
    assert step_shares(8, version="0.4.4") == 2
    assert step_shares(8, version="0.4.4.post1") == 8
    assert step_shares(1, version="0.4.1") == 1
