"""DeepEP v2: what it keeps to exchange tokens of experts, and where their weights stand."""

from __future__ import annotations

import pytest

from compiler.memory.weights import GIB
from compiler.plan import Memory
from servers import lines, planned, sized


R1 = "--model-path deepseek-ai/DeepSeek-R1 --tp 8 --moe-runner-backend deep_gemm --mem-fraction-static 0.8"
ELASTIC = f"{R1} --moe-a2a-backend deepep_v2"
CAPACITY = "SGLANG_DEEPEP_V2_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
BUFFER, ROWS = "buffers to exchange tokens of experts", "rows of experts in a decode step"
RANKS, EXPERTS, WIDTH, COLUMNS = 8, 256 // 8, 7168, 2048


def _held(words: str, tokens: int, *, version: str = "0.5.19") -> Memory:
    env = {CAPACITY: str(tokens)}
    return sized(words, version=version, gpu="h200", count=8, public=True, **env)


def _words(chunk: int) -> str:
    return f"{ELASTIC} --chunked-prefill-size {chunk} --max-running-requests 64"


def test_the_buffer_holds_what_every_rank_may_send() -> None:
    """What comes back in 16 bits is more than what arrives in fp8; it is made for all that a variable lets a rank send."""
    sizes = {tokens: lines(_held(_words(tokens), tokens))[BUFFER] for tokens in (1024, 8192)}
    grown = sizes[8192].gib.best - sizes[1024].gib.best
    back = 2 * WIDTH + 64
    assert grown == pytest.approx(RANKS * back * (8192 - 1024) / GIB, rel=0.01)


def test_experts_get_rows_for_all_of_it_in_a_decode_step() -> None:
    """Gate and up of every row are 16 bits: at least so much, whatever the batch, to 0.5.22."""
    memory = _held(_words(8192), 8192)
    rows = lines(memory)[ROWS]
    assert rows.gib.low == pytest.approx(EXPERTS * RANKS * 8192 * 4 * COLUMNS / GIB)
    assert rows.gib.best > rows.gib.low
    assert not any("DEEPEP_V2" in each or "moe-a2a" in each for each in memory.unpriced)


def test_a_public_log_tells_the_same() -> None:
    """One of Kimi K3 asks for 21.00, 31.50, and 42.00 GiB at once for 2,048, 3,072, and 4,096 tokens of eight ranks."""
    experts, columns = 896 // RANKS, 3072
    for tokens, gib in ((2048, 21.0), (3072, 31.5), (4096, 42.0)):
        assert experts * RANKS * tokens * 4 * columns / GIB == gib


def test_rows_are_bounded_by_the_batch_from_0_5_23_on() -> None:
    """Ranks without replicas send no more than their batch, each one's share or each one's whole."""
    few = lines(_held(_words(8192), 8192, version="0.5.23"))[ROWS]
    many = lines(_held(_words(8192), 8192, version="0.5.22"))[ROWS]
    assert few.gib.low < many.gib.low / 100
    apart = f"{_words(65_536)} --dp 8 --enable-dp-attention"
    late, early = (
        lines(_held(apart, 8192, version=version))[ROWS].gib.low for version in ("0.5.23", "0.5.22")
    )
    assert late == early


def test_a_server_that_prefills_runs_no_such_step() -> None:
    """The rows are those of decode steps."""
    words = f"{_words(8192)} --disaggregation-mode prefill"
    found = lines(_held(words, 8192))
    assert BUFFER in found
    assert ROWS not in found


def test_shared_experts_stand_whole_and_routed_ones_are_dealt_out() -> None:
    """As with DeepEP itself."""
    weights = {
        backend: lines(
            _held(f"{R1} --moe-a2a-backend {backend} --chunked-prefill-size 1024", 1024)
        )["weights"].gib
        for backend in ("deepep", "deepep_v2")
    }
    assert weights["deepep_v2"] == weights["deepep"]


@pytest.mark.parametrize(
    ("backend", "version", "whole"),
    [
        ("deepep", "0.5.19", True),
        ("mooncake", "0.5.18", False),
        ("mooncake", "0.5.19", True),
        ("flashinfer", "0.5.19", False),
    ],
)
def test_with_which_backends_kimi_k3_keeps_them_whole(
    backend: str, version: str, *, whole: bool
) -> None:
    """Each release lists them: two shared experts of 92 layers are 22.6 GiB on each GPU, or an eighth of that."""
    words = (
        "--model-path moonshotai/Kimi-K3 --trust-remote-code --tp-size 8 --mem-fraction-static 0.9"
    )
    usual = sized(f"{words} --moe-a2a-backend nixl", version=version, gpu="b300", public=False)
    memory = sized(
        f"{words} --moe-a2a-backend {backend}", version=version, gpu="b300", public=False
    )
    more = lines(memory)["weights"].gib.best - lines(usual)["weights"].gib.best
    beside = 92 * 2 * 3 * 3072 * 7168 * 2 * 7 / 8 / GIB
    assert more == pytest.approx(beside if whole else 0.0, abs=0.3)


def test_a_model_that_no_release_runs_with_it_is_not_priced() -> None:
    """A build that makes it run may keep shared experts whole: 20 GiB of each GPU that are the whole pool, or not."""
    words = (
        "--model-path moonshotai/Kimi-K3 --trust-remote-code --tp-size 8 --mem-fraction-static 0.85"
    )
    plan = planned(f"{words} --moe-a2a-backend deepep_v2", version="0.5.19", gpu="b300")
    assert plan.memory is None
    (unknown,) = plan.unknowns
    assert (unknown.code, unknown.name) == ("flag-unpriced", "--moe-a2a-backend")
