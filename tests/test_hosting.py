"""Sparse MLA whose contexts are kept in host memory (`--enable-hisparse`)."""

from __future__ import annotations

import pytest

from compiler.engines.sglang.hosting import Hosted
from compiler.memory.weights import GIB
from servers import lines, planned, sized


GLM = "--model-path zai-org/GLM-5.2-FP8 --tp 8 --mem-fraction-static 0.82 --context-length 262144 --page-size 64"
HOSTED = f"{GLM} --enable-hisparse --disable-radix-cache"
TABLES = "tables of what is on the host"


def test_the_pool_is_sized_as_without() -> None:
    """To 0.5.17; what the indexer's keys of the host's tokens take comes out of the reserve."""
    words = "--max-running-requests 8"
    plain, kept = (sized(f"{each} {words}", version="0.5.13") for each in (GLM, HOSTED))
    assert kept.pool.tokens == plain.pool.tokens
    keys = kept.pool.tokens.best * 78 * (128 + 4) / GIB
    gone = plain.reserve.available_gib.best - kept.reserve.available_gib.best
    assert gone == pytest.approx(keys, rel=0.01)


def test_from_0_5_18_keys_of_the_host_s_tokens_are_priced() -> None:
    """The pool becomes smaller, and the reserve keeps what it has."""
    words = "--max-running-requests 8"
    plain, kept = (sized(f"{each} {words}", version="0.5.18") for each in (GLM, HOSTED))
    assert kept.pool.cell_bytes > plain.pool.cell_bytes
    assert kept.pool.tokens.best < plain.pool.tokens.best
    assert kept.reserve.available_gib.best == pytest.approx(
        plain.reserve.available_gib.best, abs=0.1
    )


def test_each_request_has_tables() -> None:
    """Two numbers a layer for each token of its buffer, their order, and where each token of its context is on the host."""
    line = lines(sized(f"{HOSTED} --max-running-requests 8", version="0.5.13"))[TABLES]
    padded = 4096 + 64
    each = padded * 8 + (262_148 + 64) * 8 + 78 * (padded * 8 + 4096 * 2) + 2048 * 8
    assert line.gib.best == pytest.approx(9 * each / GIB)


@pytest.mark.parametrize(
    ("requests", "slots"),
    [
        (1, 100_032),
        (2, 100_032 + 4160),
        # from here on the host's room decides: 22 x 100,032 / 2
        (22, 1_100_352),
    ],
)
def test_what_a_promise_needs(requests: int, slots: int) -> None:
    """One prompt whole, a buffer and a page of each other request, and on the host all of them."""
    assert Hosted().required(100_032, requests=requests, page=64) == slots


def test_a_short_context_is_no_more_than_itself() -> None:
    """Requests below the buffer's size take what they are."""
    assert Hosted(ratio=8).required(640, requests=3, page=64) == 3 * 640


def test_the_plan_says_what_is_promised() -> None:
    """Whose memory holds the contexts, and what counts on the GPU."""
    plan = planned(f"{HOSTED} --max-running-requests 8", version="0.5.13")
    said = next(each for each in plan.assumptions if "host memory" in each)
    assert "2 x the pool" in said
    assert "4,096 tokens and a page" in said


@pytest.mark.parametrize(
    ("words", "version"),
    [
        (f"{HOSTED} --max-running-requests 8 --speculative-algorithm EAGLE", "0.5.13"),
        (f"{HOSTED} --max-running-requests 8 --disaggregation-mode decode", "0.5.13"),
        (f"{HOSTED} --max-running-requests 8 --hisparse-config []", "0.5.13"),
        (f"{HOSTED} --max-running-requests 8", "0.5.11"),
        (f"{HOSTED} --max-running-requests 8", "0.5.23"),
    ],
)
def test_what_is_not_priced(words: str, version: str) -> None:
    """Drafts, a server that only decodes, a config that is none, and other releases."""
    plan = planned(words, version=version)
    assert "--enable-hisparse" in {each.name for each in plan.unknowns}
    assert not any("host memory" in each for each in plan.assumptions)


def test_as_many_requests_as_the_release_takes_by_itself_have_tables() -> None:
    """Without a number of requests the request table has 2,048 rows and more, each with tables of what is on the host."""
    few = planned(f"{HOSTED} --max-running-requests 8", version="0.5.13").memory
    many = planned(HOSTED, version="0.5.13").memory
    assert few is not None
    assert many is not None
    assert many.pool.tokens == few.pool.tokens
    assert many.reserve.needed_gib.best > few.reserve.needed_gib.best + 10
