"""Weights that a server can release while it runs (`--enable-memory-saver`)."""

from __future__ import annotations

import pytest

from servers import planned, sized


SAVER = "--enable-memory-saver --enable-weights-cpu-backup"
PLAIN = "--model-path Qwen/Qwen3-32B --mem-fraction-static 0.90 --context-length 8192"


def test_plain_weights_take_what_they_take() -> None:
    """Weights in 16 bits stay where they were made, so that the pool is the same; a public boot has 39,078 tokens."""
    plain, saved = (
        sized(words, version="0.5.19", gpu="h100", count=1) for words in (PLAIN, f"{PLAIN} {SAVER}")
    )
    assert saved.pool.tokens == plain.pool.tokens
    assert saved.pool.tokens.low <= 39_078 <= saved.pool.tokens.high


@pytest.mark.parametrize(
    ("words", "gpu"),
    [
        ("--model-path Qwen/Qwen3-32B-FP8", "h100"),
        ("--model-path Qwen/Qwen3-32B --quantization fp8", "h100"),
        ("--model-path Qwen/Qwen3-30B-A3B", "h100"),
        ("--model-path deepseek-ai/DeepSeek-V2-Lite", "h100"),
        (
            "--model-path Qwen/Qwen3-8B --speculative-algorithm EAGLE3 --speculative-draft-model-path Tengyunw/qwen3_8b_eagle3",
            "h100",
        ),
        ("--model-path Qwen/Qwen3-32B", "mi300x"),
    ],
)
def test_weights_that_are_made_anew_are_not_priced(words: str, gpu: str) -> None:
    """What is freed in the allocator pool of their own is not given back, and how much that is nobody wrote down."""
    plan = planned(f"{words} --mem-fraction-static 0.9 {SAVER}", version="0.5.19", gpu=gpu, count=1)
    assert "--enable-memory-saver" in {each.name for each in plan.unknowns}
