"""Pools of attention that compresses over time, keys that choose blocks, tables on the host, and what an indexer scores."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from compiler.architecture import Compressed, Gqa
from compiler.catalog import open_catalog
from compiler.engines.sglang.compressed import PAGE, CompressedPool
from compiler.engines.sglang.releases import CompressedPools, counting
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import GIB, Split, exact_gib
from compiler.plan import Memory, Plan
from compiler.predict import Question, make_predictor


CATALOG = open_catalog()
FLASH, PRO, NGRAMS = (
    f"deepseek-ai/DeepSeek-{each}" for each in ("V4-Flash", "V4-Pro", "V4.1-Flash")
)
BLOCKS, TABLES = "MiniMaxAI/MiniMax-M3", "Qwen/Qwen3.8-Flash-Next-FP8"


def known(id_: str) -> Model:
    """A model of the catalogue."""
    model, faults = CATALOG.model(id_)
    assert model is not None, faults
    return model


def pool(id_: str, rule: CompressedPools, **changed: Any) -> CompressedPool:  # noqa: ANN401 - fields of a pool
    """The pools of a model of the catalogue."""
    model = known(id_)
    assert isinstance(model.attention, Compressed)
    return CompressedPool(shape=model.attention, rule=rule, layers=model.layers, **changed)


def plan_of(command: str, *, version: str, gpu: str = "h200", count: int = 8) -> Plan:
    words = f"python -m sglang.launch_server {command}".split()
    question = Question(gpu=gpu, count=count, engine="sglang", version=version)
    plan = make_predictor(CATALOG, engine="sglang", version=version).predict(words, question).plan
    assert plan is not None
    return plan


def memory_of(command: str, **asked: Any) -> Memory:  # noqa: ANN401 - as of `plan_of`
    plan = plan_of(command, **asked)
    assert plan.memory is not None, plan.unknowns
    return plan.memory


@pytest.mark.parametrize(
    ("model", "version", "cell"),
    [
        # Public logs print these two to the hundredth of a byte.
        (FLASH, "0.5.12", 15_955.85),
        (PRO, "0.5.12", 23_749.84),
        # Their own drafts' ratios are no longer counted.
        (FLASH, "0.5.13", 15_897.45),
        (FLASH, "0.5.15", 7_705.45),
        (FLASH, "0.5.20", 7_705.45),
    ],
)
def test_bytes_of_a_token_by_release(model: str, version: str, cell: float) -> None:
    """All by slots first; then the states of the high ratio go by requests."""
    rule = counting(version)
    assert rule is not None
    assert pool(model, rule.compressed).cell.priced_bytes == pytest.approx(cell, abs=0.01)


def test_a_window_s_pool_by_requests() -> None:
    """From 0.5.21 on it is taken off first, and what a token costs is its compressed entries alone."""
    capped = pool(FLASH, CompressedPools.CAPPED, chunk=8192, requests=32)
    given = evolve(capped, ratio=0.1)
    before = pool(FLASH, CompressedPools.REQUESTS, chunk=8192, requests=32)
    assert capped.cell.priced_bytes < given.cell.priced_bytes
    assert capped.fixed_gib > given.fixed_gib == before.fixed_gib
    more = evolve(capped, requests=64)
    assert more.fixed_gib > capped.fixed_gib
    assert more.cell.priced_bytes == capped.cell.priced_bytes
    assert evolve(capped, radix=False).fixed_gib < capped.fixed_gib
    # A slot of 43 layers: 584 B of latent in whole rows a page, and the states of ratio 4 that follow it.
    layers = known(FLASH).layers
    row = -(-584 * PAGE // 576) * 576 / PAGE
    fours = known(FLASH).attention.ratios[:layers].count(4)  # type: ignore[union-attr]
    slot = row * layers + fours * 8 / PAGE * 4 * (512 + 128) * 4
    fewer = evolve(capped, chunk=8192 - PAGE // 2)
    assert (capped.fixed_gib - fewer.fixed_gib) * GIB == pytest.approx(PAGE * slot)


def test_states_of_the_high_ratio_are_a_ring_a_request() -> None:
    """128 tokens of both halves in fp32 for each request and one more; 256 under speculation."""
    plain = pool(FLASH, CompressedPools.REQUESTS, requests=10)
    ratios = known(FLASH).attention.ratios[: known(FLASH).layers]  # type: ignore[union-attr]
    rows = -(-(11 * 128 + 129) // 128) * 128
    assert plain.fixed_gib * GIB == rows * 2 * 512 * 4 * ratios.count(128)
    assert evolve(plain, drafted=2).fixed_gib > 1.9 * plain.fixed_gib
    assert pool(FLASH, CompressedPools.SLOTS, requests=10).fixed_gib == 0


def test_low_ratios_share_entries() -> None:
    """Ratios 1 and 2 keep entries where a layer owns them; the last release counts a page's padding."""
    plain = pool(NGRAMS, CompressedPools.CAPPED, chunk=8192).cell.priced_bytes
    paged = pool(NGRAMS, CompressedPools.CAPPED_PAGED, chunk=8192).cell.priced_bytes
    assert round(plain) == 1630
    assert plain < paged < 1.01 * plain


@pytest.mark.parametrize(
    ("version", "gpu", "missing"),
    [
        ("0.5.10", "h200", "from 0.5.12 on"),
        ("0.5.11", "h200", "how the release sizes its pools"),
        ("0.5.20", "mi355x", ""),
    ],
)
def test_where_it_is_not_known_nothing_is_priced(version: str, gpu: str, missing: str) -> None:
    """An earlier release does not know the architecture or has builds that size it in another way, and AMD's pools are others."""
    plan = plan_of(f"--model-path {FLASH} --tp 8", version=version, gpu=gpu)
    assert plan.memory is None
    assert any(missing in each.missing for each in plan.unknowns)


def test_a_page_is_256_tokens() -> None:
    """Whatever is asked for, and the backend is its own."""
    plan = plan_of(f"--model-path {FLASH} --tp 8 --context-length 32768", version="0.5.12")
    assert plan.attention_backend == "dsv4"
    assert plan.memory is not None
    assert plan.memory.pool.tokens.best % PAGE == 0
    assert plan.memory.pool.request_tokens % PAGE == 0


def test_scores_of_the_indexer_are_in_the_reserve() -> None:
    """Chunk times a quarter of the context in fp32, up to 0.5.20: a longer context needs more."""
    words = f"--model-path {FLASH} --tp 8 --chunked-prefill-size 8192 --context-length"
    needed = {
        (version, context): memory_of(f"{words} {context}", version=version).reserve.needed_gib.best
        for version in ("0.5.20", "0.5.21")
        for context in (65_536, 1_048_576)
    }
    scores = 8192 * (1_048_576 - 65_536) / 4 * 4 / GIB
    grown, later = (
        needed[version, 1_048_576] - needed[version, 65_536] for version in ("0.5.20", "0.5.21")
    )
    assert grown - later == pytest.approx(scores, rel=0.05)


def test_keys_that_choose_blocks_cost_bytes() -> None:
    """Layers that choose blocks keep one more key a token, the same on every rank."""
    model = known(BLOCKS)
    assert isinstance(model.attention, Gqa)
    selector = model.attention.selector
    assert selector is not None
    cells = {
        ranks: memory_of(f"--model-path {BLOCKS} --tp {ranks}", version="0.5.16").pool.cell_bytes
        for ranks in (4, 8)
    }
    heads = model.attention.kv_heads // 4 * 2 * model.attention.head_dim * 2 * model.layers
    chosen = cells[4] - heads
    assert chosen > 0
    assert chosen % selector.head_dim == 0
    assert cells[4] - cells[8] == heads - max(1, model.attention.kv_heads // 8) * heads // (
        model.attention.kv_heads // 4
    )


def test_tables_may_stay_on_the_host() -> None:
    """A flag or a variable takes them off the GPU."""
    model = known(TABLES)
    assert model.tables is not None
    on_gpu, on_host = (
        exact_gib(target_tensors(model, split=Split(tensor=2, tables_on_host=host)))
        for host in (False, True)
    )
    assert on_gpu - on_host == pytest.approx(
        sum(
            each.gib
            for each in target_tensors(model, split=Split(tensor=2))
            if each not in target_tensors(model, split=Split(tensor=2, tables_on_host=True))
        )
    )
    words = f"--model-path {TABLES} --tp 8 --context-length 32768"
    plain, offloaded = (
        memory_of(f"{words} {flag}", version="0.5.20").pool.tokens.best
        for flag in ("", "--ple-offload-embedding")
    )
    assert offloaded > plain
