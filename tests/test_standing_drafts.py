"""Whole models that draft for larger ones: their entries as models say what they cost as drafts."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from servers import lines, planned, sized


LARGE = "--model-path meta-llama/Llama-3.1-8B-Instruct --mem-fraction-static 0.7"
SMALL = "meta-llama/Llama-3.2-1B-Instruct"
DRAFTED = f"{LARGE} --speculative-algorithm STANDALONE --speculative-draft-model-path {SMALL}"


def test_a_model_drafts_for_another() -> None:
    """Its weights are loaded beside the target's, its embedding too, and a token costs its layers as the target's."""
    plain, drafted = (
        sized(command, version="0.5.15", gpu="h100", count=1) for command in (LARGE, DRAFTED)
    )
    weights = [lines(each)["weights"].gib.best for each in (plain, drafted)]
    parameters = 16 * (2048 * (2 * 2048 + 2 * 512) + 3 * 2048 * 8192) + 128_256 * 2048
    assert weights[1] - weights[0] == pytest.approx(parameters * 2 / 2**30, abs=0.1)
    assert drafted.pool.cell_bytes == plain.pool.cell_bytes * (32 + 16) // 32


def test_it_drafts_by_itself_only() -> None:
    """Another algorithm wants a head that was made for it: the model is no draft that is known there."""
    plan = planned(DRAFTED.replace("STANDALONE", "EAGLE3"), version="0.5.15", gpu="h100", count=1)
    assert "draft-unknown" in {each.code for each in plan.unknowns}


@pytest.mark.parametrize(
    "model",
    ["Qwen/Qwen3-30B-A3B", "Qwen/Qwen2.5-7B-Instruct-AWQ", "google/gemma-3-27b-it", "no/one"],
)
def test_what_is_no_plain_dense_model_is_no_draft(model: str) -> None:
    """Experts, windows, images, and weights in few bits are not told as a draft's."""
    assert open_catalog().draft(model) == (None, ())


@pytest.mark.parametrize("algorithm", ["STANDALONE", "EAGLE3"])
def test_beside_compressed_attention_no_draft_of_its_own_is_priced(algorithm: str) -> None:
    """DeepSeek V4 has pools of its own, and how a draft's keys and values are counted beside them is not known."""
    draft = {"STANDALONE": SMALL, "EAGLE3": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"}[algorithm]
    plan = planned(
        "--model-path deepseek-ai/DeepSeek-V4-Flash --tp 4 --mem-fraction-static 0.85"
        f" --speculative-algorithm {algorithm} --speculative-draft-model-path {draft}",
        version="0.5.20",
        gpu="h200",
        count=4,
    )
    assert plan.memory is None
    assert "speculation-unpriced" in {each.code for each in plan.unknowns}
