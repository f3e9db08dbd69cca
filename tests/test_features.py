"""Images by CUDA IPC: what the tokenizer's process takes of the first GPU before the pool is sized."""

from __future__ import annotations

import pytest

from compiler.ranges import Range
from servers import lines, planned, sized


COMMAND = "--model-path Qwen/Qwen2.5-VL-7B-Instruct --context-length 32768"
ASKED = {"SGLANG_USE_CUDA_IPC_TRANSPORT": "1"}


def weights(command: str, *, version: str, **env: str) -> Range:
    return lines(sized(command, version=version, count=1, public=False, **env))["weights"].gib


@pytest.mark.parametrize(
    ("version", "env", "gib"),
    [
        ("0.5.15", ASKED, 1.0),
        ("0.5.15", {**ASKED, "SGLANG_MM_FEATURE_CACHE_MB": "512"}, 0.5),
        ("0.5.15", {"SGLANG_USE_CUDA_IPC_TRANSPORT": "0"}, 0.0),
        ("0.5.4", ASKED, 0.0),
        ("0.5.18", ASKED, 0.0),  # the release sets it aside itself
    ],
)
def test_its_pool_stands_beside_the_weights(version: str, env: dict[str, str], gib: float) -> None:
    """At best the pool, at worst the process as well, or nothing where the ranks are first."""
    plain, asked = weights(COMMAND, version=version), weights(COMMAND, version=version, **env)
    assert asked.best - plain.best == pytest.approx(gib, abs=0.01)
    assert asked.low == pytest.approx(plain.low, abs=0.01)
    assert asked.high - plain.high == pytest.approx(gib + 0.6 if gib else 0.0, abs=0.01)


def test_the_flag_of_one_release_asks_for_it_too() -> None:
    """0.5.17 has `--mm-feature-transport`, and what it chooses by itself is not counted."""
    flag = f"{COMMAND} --mm-feature-transport cuda_ipc"
    plain, asked = (weights(each, version="0.5.17").best for each in (COMMAND, flag))
    assert asked - plain == pytest.approx(1.0, abs=0.01)


def test_it_is_said() -> None:
    """The plan says what it assumes; a model that takes no images has no such process."""
    said = "images are handed over by CUDA IPC"
    plan = planned(COMMAND, version="0.5.15", count=1, SGLANG_USE_CUDA_IPC_TRANSPORT="1")
    assert any(each.startswith(said) for each in plan.assumptions)
    text = planned(
        "--model-path Qwen/Qwen3-8B", version="0.5.15", count=1, SGLANG_USE_CUDA_IPC_TRANSPORT="1"
    )
    assert not any(each.startswith(said) for each in text.assumptions)
