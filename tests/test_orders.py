"""Who keeps the order of the inputs of experts in INT4: where Triton's kernels run them."""

from __future__ import annotations

import pytest

from servers import lines, sized


KIMI = "--model-path moonshotai/Kimi-K2.5 --tp 8 --mem-fraction-static 0.85 --context-length 32768"


def weights(words: str, *, version: str, gpu: str) -> float:
    return lines(sized(f"{KIMI} {words}", version=version, gpu=gpu))["weights"].gib.best


@pytest.mark.parametrize(
    ("words", "version", "gpu", "kept"),
    [
        ("", "0.5.9", "mi355x", True),
        ("", "0.5.11", "h200", False),
        ("--moe-runner-backend triton", "0.5.11", "h200", True),
        ("--moe-runner-backend triton", "0.5.10", "h200", False),
        ("", "0.5.18", "b200", False),
        ("", "0.5.19", "b200", True),
        ("--moe-runner-backend marlin", "0.5.19", "b200", False),
        ("", "0.5.19", "h200", False),
    ],
)
def test_orders_are_kept_by_triton(words: str, version: str, gpu: str, *, kept: bool) -> None:
    """1.27 GiB and more on AMD's GPUs, where it is asked for, and on B200 from 0.5.19 on."""
    plain = weights("", version="0.5.11", gpu="h200")
    # To 0.5.12 two tables of positions stand beside, 0.06 GiB each.
    tables = 0.0 if version in {"0.5.9", "0.5.10", "0.5.11"} else 2 * 262_144 * 64 * 4 / 2**30
    more = weights(words, version=version, gpu=gpu) + tables - plain
    # Each is a block of 12 MiB to the driver.
    assert (1.27 <= more <= 1.46) if kept else (abs(more) < 0.05)


def test_experts_in_other_formats_have_none() -> None:
    """Triton runs experts in fp8 without an order."""
    glm = (
        "--model-path zai-org/GLM-4.6-FP8 --tp 8 --mem-fraction-static 0.85 --context-length 32768"
    )
    both = [
        lines(sized(f"{glm} {words}", version="0.5.11"))["weights"].gib.low
        for words in ("", "--moe-runner-backend triton")
    ]
    assert both[0] == both[1]
