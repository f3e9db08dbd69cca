"""Whole models that draft for larger ones: their entries as models say what they cost as drafts."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from compiler.catalog import open_catalog
from compiler.cli.predict import command as predict
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


def why(command: str, *, version: str = "0.5.15") -> str:
    """What is found of a command, on a line."""
    card = ("--gpu", "h100", "--count", "1", "--engine", version)
    launch = f"python -m sglang.launch_server {command} --context-length 32768".split()
    return " ".join(CliRunner().invoke(predict, [*card, "--", *launch]).stderr.split())


def test_it_drafts_by_itself_only() -> None:
    """Another algorithm wants a head that was made for it: the model is no draft that is known there, which is said."""
    said = why(DRAFTED.replace("STANDALONE", "EAGLE3"))
    assert "warning[draft-unpriced]" in said
    assert "how it drafts with `eagle3`; the catalogue has it as a whole model" in said


@pytest.mark.parametrize(
    ("model", "has"),
    [
        ("openai/gpt-oss-20b", "experts, windows, and weights in few bits"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "weights in few bits"),
        ("google/gemma-3-27b-it", "windows and images"),
        ("deepseek-ai/DeepSeek-V3.1", "latent or compressed attention, experts, and weights"),
    ],
)
def test_why_a_known_model_is_not_priced_as_a_draft(model: str, has: str) -> None:
    """The finding names what of it is not told as a draft's, and that memory is judged without the draft."""
    said = why(DRAFTED.replace(SMALL, model))
    assert "warning[draft-unpriced]" in said
    assert f"what its {has}" in said
    assert "without this draft memory is, too" in said
    assert "profiles/catalog/drafts" not in said


def test_a_draft_that_nobody_knows_can_be_described() -> None:
    """What is no model of the catalogue either is asked to be described."""
    said = why(DRAFTED.replace(SMALL, "no/one"))
    assert "warning[draft-unknown]" in said
    assert "profiles/catalog/drafts" in said


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [("EAGLE", "without it memory is, too"), (None, ""), ("NGRAM", "")],
)
def test_the_format_of_a_latent_draft(algorithm: str | None, said: str) -> None:
    """It is not priced beside latent attention, which is said with what mends it; without a draft it stands for nothing."""
    asked = f"--speculative-algorithm {algorithm} " if algorithm else ""
    flags = f"{asked}--speculative-draft-kv-cache-dtype bfloat16 --mem-fraction-static 0.9"
    found = why(f"--model-path deepseek-ai/DeepSeek-V3.1 {flags}", version="0.5.23")
    assert ("flag-unpriced" in found) is bool(said)
    assert ("stores the latents of a draft" in found) is bool(said)
    assert said in found


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


def test_what_a_draft_takes_beyond_its_price_is_said() -> None:
    """Beside windows a draft's layers are priced as the target's full ones; what its wider heads take more comes out of the reserve."""
    command = (
        "--model-path openai/gpt-oss-120b --tp 8 --speculative-algorithm STANDALONE "
        "--speculative-draft-model-path Qwen/Qwen3-0.6B --context-length 40960"
    )
    memory = sized(command, version="0.5.23", gpu="b200")
    beyond = memory.beyond
    assert beyond is not None
    counted, taken = 28 * 1 * (64 + 64) * 2, 28 * 1 * (128 + 128) * 2
    assert beyond.gib.best == pytest.approx(memory.pool.tokens.best * (taken - counted) / 2**30)
    assert f"the draft's {taken:,} B are counted as {counted:,} B" in beyond.formula
    cell = memory.pool.best_formula[0]
    assert f"+ {counted:,} B for the draft's layers, priced as the target's" in cell
    free, weights = memory.free_before_load_gib.best, lines(memory)["weights"].gib.best
    rest = free * memory.fraction - weights
    left = free - weights - rest - beyond.gib.best
    assert memory.reserve.available_gib.best == pytest.approx(left, abs=0.01)
    launch = ["--", *f"python -m sglang.launch_server {command}".split()]
    card = ["--gpu", "b200", "--count", "8", "--engine", "0.5.23"]
    found = " ".join(CliRunner().invoke(predict, [*card, *launch]).stderr.split())
    assert "taken from it by pools beyond what the static budget counts of them: 65.2" in found


def test_a_draft_that_takes_no_more_than_its_price_is_no_line() -> None:
    """Nothing is said where the reserve pays for no pool."""
    assert sized(DRAFTED, version="0.5.15", gpu="h100", count=1).beyond is None
