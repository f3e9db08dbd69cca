"""Weights that stand in host memory (`--cpu-offload-gb`): how many, of which models, and what comes back for a layer."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.judged import Judged
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import GIB, Split
from compiler.plan import Memory
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
DENSE, LATENT = "Qwen/Qwen3-14B", "deepseek-ai/DeepSeek-V2-Lite-Chat"


def judged(command: str, *, version: str = "0.5.9") -> Judged:
    words = f"python -m sglang.launch_server --model-path {command} --tp 2".split()
    question = Question(gpu="l40s", count=2, engine="sglang", version=version)
    return make_predictor(CATALOG, engine="sglang", version=version).predict(words, question)


def memory_of(command: str, *, version: str = "0.5.9") -> Memory:
    plan = judged(command, version=version).plan
    assert plan is not None
    assert plan.memory is not None, plan.unknowns
    return plan.memory


def weights(memory: Memory) -> float:
    return next(each.gib.best for each in memory.static if each.item == "weights")


def test_each_rank_moves_as_much_as_was_asked_for() -> None:
    """Up to one parameter more: the largest, gate and up of one layer, is in the range."""
    whole, less = memory_of(DENSE), memory_of(f"{DENSE} --cpu-offload-gb 5")
    parameter = 170 / 1024
    assert weights(whole) - weights(less) == pytest.approx(5 + parameter / 2, abs=0.001)
    assert less.pool.tokens.best > whole.pool.tokens.best


def test_the_embedding_and_the_head_stay() -> None:
    """However much is asked for; a public log of these two ranks says 1.51 GiB for what stays."""
    memory = memory_of(f"{DENSE} --cpu-offload-gb 48")
    line = next(each for each in memory.static if each.item == "weights")
    assert line.gib.low <= 1.51 <= line.gib.high
    assert line.gib.best == pytest.approx(1.51, abs=0.1)


def test_a_layer_comes_back_while_it_runs() -> None:
    """The reserve has one layer's weights, but no more than was moved."""
    model, _ = CATALOG.model(DENSE)
    assert model is not None
    layers = [each for each in target_tensors(model, split=Split(tensor=2)) if each.count == 40]
    layer = sum(each.bytes_each for each in layers) / GIB
    for asked, fetched in ((48, layer), (0, None)):
        lines = {
            each.item: each.gib.best
            for each in memory_of(f"{DENSE} --cpu-offload-gb {asked}").reserve_lines
        }
        found = lines.get("weights of a layer, from the host")
        assert found == (pytest.approx(fetched) if fetched else None)


@pytest.mark.parametrize(
    ("command", "version", "known"),
    [
        (DENSE, "0.4.6", True),
        (DENSE, "0.5.23", True),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "0.4.8", False),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "0.4.9", True),
        # whose matrices for attention to latents are made after the load
        (LATENT, "0.5.11", False),
    ],
)
def test_it_is_priced_where_the_layers_are_made_that_way(
    command: str, version: str, *, known: bool
) -> None:
    """A class that makes its layers by itself moves nothing, and others were not read."""
    found = judged(f"{command} --cpu-offload-gb 5", version=version).plan
    assert found is not None
    assert ("flag-unpriced" not in {each.code for each in found.unknowns}) is known


def test_a_boot_without_it_is_not_carried() -> None:
    """A public boot of the same model and GPUs that moved nothing says nothing about what is left."""
    words = ["python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-32B", "--tp", "4"]
    predictor = make_predictor(CATALOG, engine="sglang", version="0.5.13")
    boots = []
    for flags in ([], ["--cpu-offload-gb", "8"]):
        question = Question(gpu="rtx-5090", count=4, engine="sglang", version="0.5.13")
        plan = predictor.predict([*words, *flags], question).plan
        assert plan is not None
        assert plan.memory is not None, plan.unknowns
        boots.append(plan.memory.pool.boot)
    assert boots[0] is not None
    assert boots[1] is None
