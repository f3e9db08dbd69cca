"""A recorded boot that cannot be of its model on its card does not decide the weights."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.diagnostics import Severity
from compiler.facts import Boot
from compiler.judged import Judged
from compiler.predict import Question, make_predictor


def judged(pool_tokens: int, free_gib: float | None = None) -> Judged:
    """A command with a recorded boot of another fraction beside it."""
    boot = Boot(
        name="one",
        engine="sglang",
        version="0.5.11",
        model="Qwen/Qwen3-8B",
        gpu="h100",
        gpu_count=1,
        tensor=1,
        kv_dtype="auto",
        page_size=1,
        fraction=0.85,
        context=8192,
        pool_tokens=pool_tokens,
        free_before_load_gib=free_gib,
        source="made up",
    )
    words = "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --mem-fraction-static 0.8"
    question = Question(
        gpu="h100", count=1, engine="sglang", version="0.5.11", boots=(boot,), public=False
    )
    predictor = make_predictor(open_catalog(), engine="sglang", version="0.5.11")
    return predictor.predict(words.split(), question)


@pytest.mark.parametrize(
    ("pool_tokens", "free_gib", "why"),
    [
        (10**9, None, "its pool of 1,000,000,000 tokens takes "),
        (10**9, 78.0, "its pool of 1,000,000,000 tokens takes "),
        (360_000, 300.0, "it says that 300 GiB were free, and the card has 79.65"),
        (450_000, None, "its pool of 450,000 tokens leaves 4.99 GiB"),
        (450_000, 78.5, "its pool of 450,000 tokens leaves 4."),
        (10, None, "its pool of 10 tokens leaves 66."),
    ],
)
def test_a_boot_that_cannot_be_is_set_aside(
    pool_tokens: int, free_gib: float | None, why: str
) -> None:
    """A warning and the plan say why, and the weights are those of the tensors."""
    answer = judged(pool_tokens, free_gib)
    plan = answer.plan
    assert plan is not None
    (said,) = [each for each in plan.assumptions if "is set aside" in each]
    assert said.startswith(f"the recorded boot `one` is set aside: {why}")
    (found,) = [each for each in answer.diagnostics if each.code == "boot-set-aside"]
    assert found.severity is Severity.WARNING
    assert found.notes[0].startswith(why)
    assert plan.memory is not None
    assert plan.memory.pool.boot is None
    assert 14 < plan.memory.static[0].gib.low < plan.memory.static[0].gib.high < 17


@pytest.mark.parametrize(
    ("pool_tokens", "free_gib"), [(360_000, 78.5), (405_000, 78.5), (310_000, 78.5)]
)
def test_a_boot_that_can_be_counts(pool_tokens: int, free_gib: float) -> None:
    """It fixes the weights, as far from the tensors as it may be, and nothing is said of it."""
    answer = judged(pool_tokens, free_gib)
    plan = answer.plan
    assert plan is not None
    assert plan.memory is not None
    assert plan.memory.pool.boot is not None
    assert not any("is set aside" in each for each in plan.assumptions)
    assert "boot-set-aside" not in {each.code for each in answer.diagnostics}
