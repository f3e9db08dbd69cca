"""Rows that experts have alive at once in a step."""

from __future__ import annotations

import pytest

from compiler.ranges import Range
from servers import sized


SERVER = (
    "--model-path zai-org/GLM-5.2-FP8 --tp 8 --mem-fraction-static 0.8 --chunked-prefill-size 65536"
)
TOKENS, BYTES, GIB = 65536, 2, 2**30
HIDDEN, COLUMNS, ACTIVE = 6144, 2048, 8


def _peak_gib(words: str, gpu: str) -> Range:
    memory = sized(f"{SERVER} {words}", version="0.5.18", gpu=gpu, count=8, public=False)
    return next(each.gib for each in memory.reserve_lines if each.item.startswith("activations"))


@pytest.mark.parametrize("replicas", [1, 2])
def test_aiter_keeps_one_row_a_token_at_least(replicas: int) -> None:
    """On AMD's GPUs what comes back up may be added in place: a row a token, not one for each active expert."""
    words = f"--dp {replicas} --enable-dp-attention" if replicas > 1 else ""
    tokens = TOKENS // replicas
    rows = replicas * (ACTIVE * COLUMNS / 8 + HIDDEN)
    least = tokens * BYTES * (rows + 4 * HIDDEN) / GIB
    assert _peak_gib(words, "mi355x").low == pytest.approx(least)


def test_others_keep_one_for_each_active_expert() -> None:
    """SGLang's own kernels write each expert's rows, and add them up after."""
    least = TOKENS * BYTES * (ACTIVE * (HIDDEN + COLUMNS / 8) + 4 * HIDDEN) / GIB
    nvidia, amd = _peak_gib("", "b200"), _peak_gib("", "mi355x")
    assert nvidia.low == pytest.approx(least)
    assert (amd.best, amd.high) == (nvidia.best, nvidia.high)
