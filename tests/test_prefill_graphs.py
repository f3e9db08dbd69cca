"""Which releases capture prefill steps by themselves: the automatic fraction leaves memory for that."""

from __future__ import annotations

import pytest

from servers import sized


def fraction(
    model: str, flags: str = "", *, version: str, gpu: str = "h100", count: int = 2
) -> float:
    command = f"--model-path {model} --tp {count} --trust-remote-code {flags}"
    return sized(command, version=version, gpu=gpu, count=count, public=False).fraction


def captures(model: str, flags: str = "", *, version: str) -> bool:
    """Whether the fraction is less than the one without such graphs."""
    off = fraction(model, f"{flags} --cuda-graph-backend-prefill disabled", version=version)
    return fraction(model, flags, version=version) < off


LITE = "deepseek-ai/DeepSeek-V2-Lite"
KDA = "moonshotai/Kimi-Linear-48B-A3B-Instruct"
NEMOTRON = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8"
DENSE = "Qwen/Qwen3-32B"


@pytest.mark.parametrize(
    ("model", "flags", "captured", "not_captured"),
    [
        (LITE, "", ("0.5.18", "0.5.20"), ("0.5.15", "0.5.16", "0.5.17")),
        (KDA, "", ("0.5.18", "0.5.19"), ("0.5.15", "0.5.17", "0.5.20", "0.5.23")),
        (NEMOTRON, "", ("0.5.16", "0.5.18"), ("0.5.17",)),
        (DENSE, "", ("0.5.15", "0.5.23"), ()),
        (
            DENSE,
            "--enable-lora --max-lora-rank 8 --lora-target-modules all",
            ("0.5.17",),
            ("0.5.16",),
        ),
        (DENSE, "--enable-two-batch-overlap", (), ("0.5.17", "0.5.18")),
    ],
)
def test_each_release_has_its_own_rules(
    model: str, flags: str, captured: tuple[str, ...], not_captured: tuple[str, ...]
) -> None:
    """Latent attention, LoRA, and overlap are ruled out by some releases, KDA and Nemotron by others, and dense models by none."""
    told = {
        version: captures(model, flags, version=version) for version in (*captured, *not_captured)
    }
    assert told == dict.fromkeys(captured, True) | dict.fromkeys(not_captured, False)
