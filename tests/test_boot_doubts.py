"""A recorded boot that cannot be of its model on its card does not decide the weights."""

from __future__ import annotations

import pytest

from compiler.catalog import open_catalog
from compiler.facts import Boot
from compiler.plan import Plan
from compiler.predict import Question, make_predictor


def planned(pool_tokens: int, free_gib: float | None = None) -> Plan:
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
    plan = predictor.predict(words.split(), question).plan
    assert plan is not None
    return plan


@pytest.mark.parametrize(
    ("pool_tokens", "free_gib", "why"),
    [
        (10**9, None, "its pool of 1,000,000,000 tokens takes "),
        (10**9, 78.0, "its pool of 1,000,000,000 tokens takes "),
        (360_000, 300.0, "it says that 300 GiB were free, and the card has 79.65"),
    ],
)
def test_a_boot_that_cannot_be_is_set_aside(
    pool_tokens: int, free_gib: float | None, why: str
) -> None:
    """The plan says why, and its weights are those of the tensors."""
    plan = planned(pool_tokens, free_gib)
    (said,) = [each for each in plan.assumptions if "is set aside" in each]
    assert said.startswith(f"the recorded boot `one` is set aside: {why}")
    assert plan.memory is not None
    assert plan.memory.static[0].gib.low > 14


def test_a_boot_that_can_be_counts() -> None:
    """It fixes the weights, and nothing is said of it."""
    assert not any("is set aside" in each for each in planned(360_000, 78.5).assumptions)
