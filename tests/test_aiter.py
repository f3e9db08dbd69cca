"""What AMD's attention backend allocates beside the pool."""

from __future__ import annotations

import pytest

from compiler.memory.weights import GIB
from servers import lines, sized


QWEN = "--model-path Qwen/Qwen3-30B-A3B-Instruct-2507 --mem-fraction-static 0.9"
WORKSPACE, INDICES = "attention workspace", "graph index buffers and mask"


def test_the_workspace_is_what_ran_out_of_memory() -> None:
    """51.75 GiB for the 3,261 requests of a pool of 1.67 million tokens (sgl-project/sglang#18262)."""
    words = f"{QWEN} --max-total-tokens 1669632 --disable-cuda-graph"
    memory = sized(words, version="0.5.7", gpu="mi355x", count=1)
    line = lines(memory)[WORKSPACE]
    assert line.gib.is_exact
    assert line.gib.best == pytest.approx(51.75, abs=0.02)
    assert line.formula.startswith("3261 requests x 32 heads x 1,024 parts")


@pytest.mark.parametrize(
    ("version", "value", "there"),
    [("0.5.9", "1", True), ("0.5.11", "1", False), ("0.5.11", "0", True), ("0.5.11", "yes", True)],
)
def test_unified_kernels_have_none(version: str, value: str, *, there: bool) -> None:
    """From 0.5.10 on, where the variable is a text that the engine takes for true."""
    env = {"SGLANG_USE_AITER_UNIFIED_ATTN": value}
    assert (
        WORKSPACE in lines(sized(QWEN, version=version, gpu="mi355x", count=1, public=True, **env))
    ) is there


@pytest.mark.parametrize(
    ("version", "places"), [("0.5.9", 8192), ("0.5.11", 128), ("0.5.13", 8192)]
)
def test_indices_are_by_token_or_by_page(version: str, places: int) -> None:
    """One for each token of every captured request; for each page in 0.5.10 to 0.5.12; and a byte of mask."""
    words = f"{QWEN} --context-length 8192 --page-size 64 --max-running-requests 16 --cuda-graph-max-bs 16"
    line = lines(sized(words, version=version, gpu="mi355x", count=1))[INDICES]
    assert line.gib.best == pytest.approx(16 * (places * 4 + 8192) / GIB)
