"""Servers of one role: those that only prefill, and those that only decode."""

from __future__ import annotations

import pytest

from compiler.memory.weights import GIB
from servers import lines, sized


R1 = "--model-path deepseek-ai/DeepSeek-R1 --tp 8 --context-length 65536 --chunked-prefill-size 16384"
PEAK, TABLE = "activations, peak of a step", "request table"


@pytest.mark.parametrize("version", ["0.4.9", "0.5.11", "0.5.19"])
def test_a_decode_server_computes_no_prompt(version: str) -> None:
    """Its steps are as large as its requests are many, whatever the chunk; the other's follow the chunk."""
    decode = f"{R1} --disaggregation-mode decode --max-running-requests 64 --cuda-graph-max-bs 64"
    if version == "0.5.19":
        decode = decode.replace("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode")
    few = lines(sized(decode, version=version))[PEAK]
    half = lines(sized(decode.replace("16384", "8192"), version=version))[PEAK]
    usual = lines(sized(decode.replace("decode --max", "null --max"), version=version))[PEAK]
    assert few.gib.best == half.gib.best
    assert few.gib.best == pytest.approx(64 * 7168 * 2 * (8 + 4) / GIB, rel=0.2)
    assert few.gib.best < usual.gib.best / 50
    assert few.formula.startswith("64 tokens")


def test_a_decode_server_without_graphs_of_all_requests() -> None:
    """Requests beyond the largest captured batch run without a graph, all at once."""
    words = f"{R1} --disaggregation-mode decode --max-running-requests 512 --cuda-graph-max-bs 64"
    assert lines(sized(words, version="0.5.11"))[PEAK].formula.startswith("512 tokens")


@pytest.mark.parametrize(
    ("version", "asked", "rows"),
    [
        ("0.5.11", "--max-running-requests 32", 32 + 64 + 1),
        ("0.5.11", "--max-running-requests 33", 33 + 1),
        ("0.5.14", "--max-running-requests 32 --disaggregation-decode-extra-slots 5", 32 + 5 + 1),
    ],
)
def test_a_decode_server_has_rows_for_requests_on_their_way(
    version: str, asked: str, rows: int
) -> None:
    """Twice as many as run at once where these are few, or as many as are asked for."""
    words = f"{R1} --disaggregation-mode decode {asked}"
    table = lines(sized(words, version=version))[TABLE]
    assert table.gib.best == pytest.approx(rows * 65_540 * 4 / GIB)


@pytest.mark.parametrize("version", ["0.4.9", "0.5.6", "0.5.11", "0.5.14", "0.5.19"])
def test_a_prefill_server_captures_no_decode_step(version: str) -> None:
    """In no release, so that it has neither their logits nor their indices."""
    words = f"{R1} --disaggregation-mode prefill --max-running-requests 64"
    found = lines(sized(words, version=version))
    assert "captured graphs" not in found
    assert "logits buffer" not in found
    assert "captured graphs" in lines(
        sized(words.replace("prefill --max", "null --max"), version=version)
    )


def test_a_prefill_server_captures_what_it_is_told_to() -> None:
    """With a backend for the graphs of decode steps it has them."""
    words = f"{R1} --disaggregation-mode prefill --cuda-graph-backend-decode full"
    assert "captured graphs" in lines(sized(words, version="0.5.19"))


IMAGES = "--model-path moonshotai/Kimi-K2.6 --tp 8 --context-length 65536 --max-running-requests 64"


@pytest.mark.parametrize(("version", "spared"), [("0.5.16", False), ("0.5.17", True)])
def test_a_decode_server_keeps_nothing_for_images(version: str, *, spared: bool) -> None:
    """The fraction that a release picks is not scaled for a vision tower that never runs, from 0.5.17 on."""
    fraction = sized(f"{IMAGES} --disaggregation-mode decode", version=version).fraction
    # Without the tower's factor it is a number of three decimals.
    assert (fraction == round(fraction, 3)) is spared


def test_buffers_to_exchange_tokens_are_kept_where_steps_are_captured() -> None:
    """2 GiB of a server with graphs of decode steps, none of one that prefills, and 1 GiB for graphs of prefill steps."""
    words = "--model-path Qwen/Qwen3-235B-A22B --tp 8 --ep 8"
    total = 143_771
    for mode, kept in (("null", 2), ("prefill", 0), ("decode", 2)):
        asked = f"{words} --disaggregation-mode {mode}" if mode != "null" else words
        asked += " --disable-prefill-cuda-graph"
        plain = sized(asked, version="0.5.19").fraction
        a2a = sized(f"{asked} --moe-a2a-backend deepep", version="0.5.19").fraction
        assert (plain - a2a) * total / 1024 == pytest.approx(kept, abs=0.3), mode
