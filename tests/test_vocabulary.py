"""What the reserve keeps that is as wide as the vocabulary: the draft's extend step, and gathered logits, release by release."""

from __future__ import annotations

import pytest

from compiler.plan import Line
from test_pool_layouts import memory_of


VOCABULARY = 129_280
DEEPSEEK = (
    "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --mem-fraction-static 0.9 --cuda-graph-max-bs 32"
)
MTP = f"{DEEPSEEK} --speculative-algorithm EAGLE"
STEPS = "--speculative-num-steps 3 --speculative-eagle-topk {0} --speculative-num-draft-tokens {1}"
EXTEND, GATHERED = "draft's extend step, logits", "gathered logits"
GIB = 2**30


def line_of(item: str, command: str, *, version: str, gpu: str = "h200") -> Line | None:
    lines = memory_of(command, version=version, gpu=gpu).reserve_lines
    return next((each for each in lines if each.item == item), None)


def rows_of(item: str, command: str, *, version: str, gpu: str = "h200") -> tuple[int, int, int]:
    """Low, best, and high in rows of the vocabulary, of four bytes each."""
    found = line_of(item, command, version=version, gpu=gpu)
    if found is None:
        return 0, 0, 0
    low, best, high = (
        round(each * GIB / VOCABULARY / 4)
        for each in (found.gib.low, found.gib.best, found.gib.high)
    )
    return low, best, high


@pytest.mark.parametrize(
    ("version", "branches", "rows"),
    [
        ("0.4.6.post5", 1, (0, 0, 0)),  # the step is not captured
        ("0.4.9.post6", 1, (0, 32, 32)),  # probabilities of a token of each request
        ("0.5.3", 1, (0, 64, 64)),  # and a buffer
        ("0.5.9", 1, (0, 64, 256)),  # of all tokens with the second worker
        ("0.5.11", 1, (0, 256, 256)),  # which is the usual one
        ("0.5.11", 2, (0, 32, 32)),  # not with branches, and their buffer is the target's
        ("0.5.13", 1, (0, 0, 0)),  # the target's buffer, and no probabilities
        ("0.5.13", 2, (0, 192, 192)),
        ("0.5.17", 2, (0, 0, 0)),  # outside of the graph
    ],
)
def test_the_extend_step_of_a_draft(
    version: str, branches: int, rows: tuple[int, int, int]
) -> None:
    """32 captured requests, of 4 tokens without branches and of 6 with them."""
    flags = STEPS.format(branches, 4 if branches == 1 else 6)
    assert rows_of(EXTEND, f"{MTP} {flags}", version=version) == rows


def test_without_a_draft_or_graphs_there_is_no_extend_step() -> None:
    """Nothing is captured of what there is not."""
    assert line_of(EXTEND, DEEPSEEK, version="0.5.11") is None
    assert line_of(EXTEND, f"{MTP} --disable-cuda-graph", version="0.5.11") is None


@pytest.mark.parametrize(
    ("command", "version", "gpu", "tokens"),
    [
        (MTP, "0.5.14", "h200", 0),
        (MTP, "0.5.15", "h200", 2 * 48 * 4),
        (f"{MTP} --max-running-requests 16", "0.5.15", "h200", 2 * 128),
        (DEEPSEEK, "0.5.15", "h200", 128),
        (f"{DEEPSEEK} --max-running-requests 129", "0.5.15", "h200", 129),
        (DEEPSEEK, "0.5.15", "a100", 0),
        (DEEPSEEK, "0.5.15", "rtx-pro-6000-blackwell", 0),
    ],
)
def test_logits_are_gathered_where_gpus_multicast(
    command: str, version: str, gpu: str, tokens: int
) -> None:
    """A row of 16 bits for every token that may be verified at once, of the target and of its draft."""
    found = line_of(GATHERED, command, version=version, gpu=gpu)
    assert (found.gib.best if found else 0) == pytest.approx(tokens * VOCABULARY * 2 / GIB)
