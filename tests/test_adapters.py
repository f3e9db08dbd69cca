"""Buffers for LoRA adapters, taken off what is left for the pool and for the reserve."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from compiler.catalog import open_catalog
from compiler.cli.predict import command as predict
from compiler.judged import Judged
from compiler.memory.weights import GIB
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
DENSE, EXPERTS = "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"
LINEAR = (
    "--enable-lora --max-lora-rank 32 --lora-target-modules qkv_proj o_proj gate_up_proj down_proj"
)


def judged(command: str, *, version: str = "0.5.11", count: int = 1) -> Judged:
    words = f"python -m sglang.launch_server --mem-fraction-static 0.8 --model-path {command}"
    predictor = make_predictor(CATALOG, engine="sglang", version=version)
    question = Question(gpu="h100", count=count, engine="sglang", version=version)
    return predictor.predict(words.split(), question)


def kept_gib(command: str, *, version: str = "0.5.11", count: int = 1) -> float:
    """What the pool loses to adapters."""
    sizes = []
    for words in (command.partition(" --enable-lora")[0], command):
        plan = judged(words, version=version, count=count).plan
        assert plan is not None
        assert plan.memory is not None, plan.unknowns
        sizes.append(plan.memory.pool.tokens.best * plan.memory.pool.cell_bytes / GIB)
    return sizes[0] - sizes[1]


@pytest.mark.parametrize("ranks", [1, 2])
def test_buffers_of_every_module(ranks: int) -> None:
    """Eight adapters of rank 32 in bf16: what is split over ranks is, the side that is not stays whole."""
    qkv = 3 * 4096 + (32 + 2 * 8) * 128 // ranks
    output = 32 * 128 // ranks + 4096
    mlp = 2 * 4096 + 2 * 12_288 // ranks + 12_288 // ranks + 4096
    size = 36 * (qkv + output + mlp) * 8 * 32 * 2 / GIB
    assert kept_gib(f"{DENSE} --tp {ranks} {LINEAR}", count=ranks) == pytest.approx(size, abs=0.001)


def test_number_and_rank_of_adapters() -> None:
    """Half the adapters take half, and so does half the rank."""
    whole = kept_gib(f"{DENSE} {LINEAR}")
    assert kept_gib(f"{DENSE} {LINEAR} --max-loras-per-batch 4") == pytest.approx(
        whole / 2, abs=0.001
    )
    assert kept_gib(f"{DENSE} {LINEAR.replace('32', '16')}") == pytest.approx(whole / 2, abs=0.001)


def test_all_modules_are_those_and_the_ends() -> None:
    """`all` adapts the embedding, whole on every rank, and the head too; the parts of a stacked one are that one."""
    ends = (151_936 + 4096 + 4096 + 151_936) * 8 * 32 * 2 / GIB
    everything = f"{DENSE} --enable-lora --max-lora-rank 32 --lora-target-modules all"
    linear = kept_gib(f"{DENSE} {LINEAR}")
    assert kept_gib(everything) == pytest.approx(linear + ends, abs=0.001)
    parts = LINEAR.replace("qkv_proj", "q_proj v_proj").replace("gate_up_proj", "up_proj")
    assert kept_gib(f"{DENSE} {parts}") == pytest.approx(linear, abs=0.001)


@pytest.mark.parametrize(
    ("command", "version"),
    [
        (f"{DENSE} --enable-lora --lora-paths a=/a", "0.5.11"),
        (f"{DENSE} --enable-lora --max-lora-rank 32 --lora-target-modules all", "0.5.9"),
        (f"{DENSE} {LINEAR}", "0.5.2"),
        (f"{EXPERTS} {LINEAR}", "0.5.11"),
    ],
)
def test_what_is_not_known_is_said(command: str, version: str) -> None:
    """A rank that only the adapters have, experts, and releases that were not read."""
    plan = judged(command, version=version).plan
    assert plan is not None
    assert "flag-unpriced" in {each.code for each in plan.unknowns}


@pytest.mark.parametrize(
    "command",
    [
        f"{DENSE} {LINEAR}",
        "deepseek-ai/DeepSeek-V4-Flash --tp 4 --max-running-requests 64",
        "Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4",
    ],
)
def test_what_fills_memory_is_not_left(command: str) -> None:
    """What the fraction leaves out is left and no more, and the lines of the static budget come to the rest of it."""
    plan = judged(command, version="0.5.23", count=4).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    free = plan.memory.free_before_load_gib.best
    assert plan.memory.reserve.available_gib.best == pytest.approx(0.2 * free, abs=0.01)
    assert sum(line.gib.best for line in plan.memory.static) == pytest.approx(0.8 * free, abs=0.01)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("", ["--max-lora-rank RANK", "--lora-target-modules MODULES"]),
        ("--max-lora-rank 16", ["--lora-target-modules MODULES"]),
        ("--lora-target-modules q_proj", ["--max-lora-rank RANK"]),
        ("--lora-target-modules nonsense", []),
    ],
)
def test_what_would_price_adapters_is_asked_for(given: str, asked: list[str]) -> None:
    """Of the flags that say how large adapters are, those that are not given, where these would do."""
    start = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --lora-paths a=/x"
    words = ["--gpu", "h200", "--engine", "0.5.23", "--", *start.split(), *given.split()]
    said = " ".join(CliRunner().invoke(predict, words, standalone_mode=False).output.split())
    assert ("help: say how much it takes by " in said) == bool(asked)
    assert [
        each for each in ("--max-lora-rank RANK", "--lora-target-modules MODULES") if each in said
    ] == asked
