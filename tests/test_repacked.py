"""Weights in fp8 with a scale a block, where Marlin repeats the scales."""

from __future__ import annotations

import pytest

from servers import lines, sized


GIB = 2**30


def weights(model: str, *, gpu: str, version: str) -> float:
    memory = sized(f"--model-path {model}", version=version, gpu=gpu, count=1)
    return lines(memory)["weights"].gib.best


@pytest.mark.parametrize(
    ("gpu", "version", "repeated"),
    [
        ("a100", "0.5.11", True),
        ("rtx-a6000", "0.5.11", True),
        ("a100", "0.5.1", True),
        ("a100", "0.4.9", False),
        ("l40s", "0.5.11", False),
    ],
)
def test_scales_of_linear_layers(*, gpu: str, version: str, repeated: bool) -> None:
    """One of 16 bits for 128 values in place of one of 32 for a block of 128 x 128, on GPUs that do not compute in fp8."""
    values = 36 * (4096 * (32 + 2 * 8) * 128 + 32 * 128 * 4096 + 3 * 4096 * 12_288)
    more = values * (2 / 128 - 4 / 128**2) / GIB
    found = weights("Qwen/Qwen3-8B-FP8", gpu=gpu, version=version)
    plain = weights("Qwen/Qwen3-8B-FP8", gpu="h100", version="0.5.11")
    assert found - plain == pytest.approx(more if repeated else 0.0, abs=0.02)


def test_experts_keep_theirs() -> None:
    """Experts run on Triton's kernels."""
    values = 48 * (2048 * (32 + 2 * 4) * 128 + 32 * 128 * 2048)
    more = values * (2 / 128 - 4 / 128**2) / GIB
    found = weights("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", gpu="a100", version="0.5.11")
    plain = weights("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", gpu="h100", version="0.5.11")
    assert found - plain == pytest.approx(more, abs=0.02)
