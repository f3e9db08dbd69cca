"""Keys of an indexer in layers that reuse what another layer has chosen (GLM-5.2 and GLM-5.3: 57 of 78)."""

from __future__ import annotations

import pytest

from servers import sized


GLM = "--model-path zai-org/GLM-5.2-FP8 --tp 8 --mem-fraction-static 0.82 --context-length 262144 --kv-cache-dtype fp8_e4m3"
ROWS, KEY, OWN, ALL = 78 * (512 + 64), 128 + 4, 21, 78


@pytest.mark.parametrize(
    ("words", "version", "keyed"),
    [
        ("", "0.5.17", ALL),
        ("", "0.5.18", OWN),
        ("--disaggregation-mode prefill", "0.5.18", ALL),
        ("--disaggregation-mode decode", "0.5.21", ALL),
        ("--disaggregation-mode decode", "0.5.22", OWN),
        ("--enable-hierarchical-cache", "0.5.21", ALL),
        ("--enable-hierarchical-cache", "0.5.22", OWN),
    ],
)
def test_keys_that_could_be_left_out(words: str, version: str, keyed: int) -> None:
    """From 0.5.18 on they are, but to 0.5.21 not where contexts are handed to another server or to host memory."""
    memory = sized(f"{GLM} {words}", version=version, gpu="mi355x", public=False)
    assert memory.pool.cell_bytes == ROWS + keyed * KEY


def test_a_draft_costs_as_much_beside_all_keys() -> None:
    """Its layers are priced like the target's, and each has a key, whether the target's have or not."""
    drafted = "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    few, many = (
        sized(f"{GLM} {drafted} {words}", version="0.5.18", gpu="mi355x", public=False)
        for words in ("", "--disaggregation-mode prefill")
    )
    assert many.pool.cell_bytes - few.pool.cell_bytes == (ALL - OWN) * KEY


@pytest.mark.parametrize(
    ("version", "env", "paged"),
    [
        ("0.5.11", {}, False),
        ("0.5.12", {}, True),
        ("0.5.18", {}, True),
        ("0.5.18", {"SGLANG_USE_AITER": "0"}, False),
        ("0.5.18", {"SGLANG_DSA_HIP_DISABLE_PRESHUFFLE": "1"}, False),
    ],
)
def test_pages_on_amd_s_gpus(version: str, env: dict[str, str], *, paged: bool) -> None:
    """64 tokens from 0.5.12 on, with aiter's kernels; single tokens before and without."""
    memory = sized(GLM, version=version, gpu="mi355x", count=8, public=False, **env)
    assert any("whole pages of 64" in each for each in memory.pool.best_formula) is paged
