"""What a draft has loaded when the pool is sized: beside its layers an embedding and a head that it then gives up."""

from __future__ import annotations

import pytest

from compiler.memory.weights import GIB
from servers import lines, sized


QWEN = "--model-path Qwen/Qwen3.6-27B --mem-fraction-static 0.92 --context-length 32768 --max-running-requests 4"
EAGLE = "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
END = 248_320 * 5120 * 2 / GIB


def test_a_draft_that_is_loaded_first_counts_with_its_ends() -> None:
    """Qwen3.6-27B's draft took 5.46 GiB of a log: a layer, and 4.74 that are free again once the pool is sized."""
    alone, drafts = (
        sized(f"{QWEN} {words}", version="0.5.17", gpu="h100", count=1) for words in ("", EAGLE)
    )
    draft = lines(drafts)["weights"].gib.low - lines(alone)["weights"].gib.low
    assert draft == pytest.approx(5.46, rel=0.03)
    assert "4.74 GiB of them are freed" in lines(drafts)["weights"].formula
    taken = sum(lines(drafts)[name].gib.best for name in ("weights", "states", "KV pool"))
    left = drafts.free_before_load_gib.best - taken
    assert drafts.reserve.available_gib.best == pytest.approx(left + 2 * END, abs=1.5)
    assert drafts.reserve.available_gib.best > left + END


def test_a_draft_that_is_loaded_later_gives_them_up_at_once() -> None:
    """To 0.5.13 the reserve has its layers alone."""
    line = lines(sized(f"{QWEN} {EAGLE}", version="0.5.13", gpu="h100", count=1))["draft weights"]
    assert line.gib.high < END


LLAMA = (
    "--model-path meta-llama/Llama-3.1-8B-Instruct --mem-fraction-static 0.8 --context-length 8192"
)
EAGLE3 = (
    EAGLE.replace("EAGLE ", "EAGLE3 ")
    + " --speculative-draft-model-path yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"
)


def test_a_draft_with_a_head_of_its_own_gives_up_an_embedding() -> None:
    """EAGLE3's keeps its short head: one end of 128,256 tokens is freed."""
    weights = lines(sized(f"{LLAMA} {EAGLE3}", version="0.5.14", gpu="h100", count=1))["weights"]
    assert f"{128_256 * 4096 * 2 / GIB:.2f} GiB of them are freed" in weights.formula


@pytest.mark.parametrize(
    ("version", "path", "layers"),
    [
        ("0.5.14", "--speculative-draft-model-path Qwen/Qwen3.6-27B", 64),
        ("0.5.17", "--speculative-draft-model-path Qwen/Qwen3.6-27B", 64),
        ("0.5.18", "--speculative-draft-model-path Qwen/Qwen3.6-27B", 1),
        ("0.5.17", "", 0),
        ("0.5.20", "", 0),
    ],
)
def test_a_nested_config_hides_how_many_layers_draft(version: str, path: str, layers: int) -> None:
    """A token of 16 layers costs five times as much to 0.5.17 where a path names the model itself (sglang#29857)."""
    memory = sized(f"{QWEN} {EAGLE} {path}", version=version, gpu="h100", count=1)
    assert memory.pool.cell_bytes == 16 * 4 * 256 * 2 * 2 * (16 + layers) // 16
    if layers == 64:
        assert "x 80/16 for the draft's layers" in memory.pool.best_formula[0]


def test_tied_ends_are_one() -> None:
    """Qwen3.5-4B's draft ties its head to its embedding as the model does."""
    words = f"{QWEN.replace('Qwen3.6-27B', 'Qwen3.5-4B')} {EAGLE}"
    weights = lines(sized(words, version="0.5.17", gpu="h100", count=1))["weights"]
    assert f"{248_320 * 2560 * 2 / GIB:.2f} GiB of them are freed" in weights.formula
