"""What releases 0.5.3 to 0.5.10 decide by themselves for sparse MLA on Blackwell."""

from __future__ import annotations

import pytest

from servers import planned, sized


LAYERS, ROW, SCALED_ROW, KEY = 61, 512 + 64, 512 + 4 * 4 + 64 * 2, 128 + 4
COMMAND = "--model-path deepseek-ai/DeepSeek-V3.2-Exp --tp 8"
REPLICATED = f"{COMMAND} --dp 8 --enable-dp-attention"


@pytest.mark.parametrize(
    ("version", "priced", "kept"),
    [
        ("0.5.3", ROW, SCALED_ROW + KEY),
        ("0.5.3.post1", ROW + KEY, SCALED_ROW + KEY),
        ("0.5.9", ROW + KEY, SCALED_ROW + KEY),
        ("0.5.10", ROW + KEY, ROW + KEY),
    ],
)
def test_the_bytes_of_a_token(version: str, priced: int, kept: int) -> None:
    """The cache is in fp8; the indexer's keys are priced after 0.5.3, and TensorRT-LLM's rows have no scales."""
    memory = sized(REPLICATED, version=version, gpu="b200")
    assert memory.pool.cell_bytes == LAYERS * priced
    (pool,) = (each for each in memory.static if each.item == "KV pool")
    assert f"x {LAYERS * kept:,} B" in pool.formula


def test_the_fraction_that_one_release_sets() -> None:
    """0.8 in 0.5.3 alone."""
    assert sized(REPLICATED, version="0.5.3", gpu="b200").fraction == 0.8
    assert sized(REPLICATED, version="0.5.3.post1", gpu="b200").fraction < 0.8


@pytest.mark.parametrize(
    ("version", "priced"), [("0.5.3", False), ("0.5.5", False), ("0.5.6", True)]
)
def test_replicas_that_nobody_asked_for(*, version: str, priced: bool) -> None:
    """These releases make each GPU a replica whatever the flags say: a command that does not say so is not priced."""
    plan = planned(f"{COMMAND} --mem-fraction-static 0.8", version=version, gpu="b200")
    assert (plan.memory is not None) is priced
    if not priced:
        (unknown,) = plan.unknowns
        assert unknown.code == "model-unpriced"
        assert "data parallel attention over all GPUs" in unknown.missing
