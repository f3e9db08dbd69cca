"""How layers are dealt out to pipeline stages, and what that does to weights and pool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from compiler.catalog import open_catalog
from compiler.engines.sglang.stages import PARTITION
from compiler.memory.layers import stage_slice
from compiler.plan import Memory
from compiler.predict import Predictor, Question, make_predictor


@cache
def predictor(version: str) -> Predictor:
    """A predictor of the shipped catalogue."""
    return make_predictor(open_catalog(), engine="sglang", version=version)


def memory(
    *words: str,
    stages: int,
    shares: str = "",
    version: str = "0.5.11",
    model: str = "Qwen/Qwen3-32B",
) -> Memory:
    """Both budgets of a server of so many stages."""
    question = Question(gpu="h100", count=stages, engine="sglang", version=version, public=False)
    start: Sequence[str] = (f"{PARTITION}={shares}",) if shares else ()
    command = ["python3", "-m", "sglang.launch_server", "--model-path", model]
    given = [*start, *command, "--pp-size", str(stages), "--mem-fraction-static", "0.85", *words]
    plan = predictor(version).predict(given, question).plan
    assert plan is not None
    assert plan.memory is not None
    return plan.memory


@pytest.mark.parametrize("shares", ["63,1", "1,63", "40,24"])
def test_the_stage_with_most_layers_decides(shares: str) -> None:
    """Its layers are in the bytes of a token, and its weights are those of the GPU that holds most."""
    even, uneven = memory(stages=2), memory(stages=2, shares=shares)
    most = max(map(int, shares.split(",")))
    assert uneven.pool.cell_bytes * 32 == even.pool.cell_bytes * most
    grown = uneven.static[0].gib.best / even.static[0].gib.best
    assert grown == pytest.approx(most / 32, rel=0.1)
    assert uneven.pool.tokens.best < even.pool.tokens.best


def test_even_shares_change_nothing() -> None:
    """They are what the engine deals out by itself."""
    assert memory(stages=2, shares="32,32").pool == memory(stages=2).pool


def test_what_is_left_over_goes_to_the_last_stage_in_old_releases() -> None:
    """Of 64 layers on six stages the last has fourteen up to 0.5.5, and eleven from 0.5.6 on."""
    old, new = (memory(stages=6, version=each) for each in ("0.5.5", "0.5.6"))
    layer = memory(stages=64, version="0.5.11").pool.cell_bytes
    assert old.pool.cell_bytes == 14 * layer
    assert new.pool.cell_bytes == 11 * layer


def test_a_stage_without_layers_bounds_the_pool_by_the_context() -> None:
    """Each stage gets the smallest pool of all (0.5.17 on)."""
    bounded = memory(stages=65, version="0.5.17").pool
    assert bounded.tokens.high == 40_960
    assert "pool = 40,960 tokens, the context: a stage keeps no keys" in bounded.best_formula
    capped = memory("--max-total-tokens", "50000", stages=65, version="0.5.17").pool
    assert capped.tokens.high == 50_000
    assert memory(stages=64, version="0.5.17").pool.tokens.low > 40_960


@pytest.mark.parametrize("shares", [(), (5, 0, 2), (0, 7, 0)])
def test_stages_hold_each_layer_once(shares: tuple[int, ...]) -> None:
    """Whatever their shares are."""
    slices = [stage_slice(7, stage=each, stages=3, shares=shares) for each in range(3)]
    assert [at for each in slices for at in range(7)[each]] == list(range(7))


def _states_gib(version: str, *, stages: int) -> float:
    flags = ("--max-mamba-cache-size", "64", "--max-running-requests", "8")
    found = memory(*flags, stages=stages, version=version, model="Qwen/Qwen3.5-9B")
    return next(each.gib.best for each in found.static if each.item == "states")


def test_each_stage_is_sized_for_all_states_until_0_5_17() -> None:
    """Of 24 layers with a state two stages have 12 each; the release counts them for itself from then on."""
    assert _states_gib("0.5.16", stages=2) == pytest.approx(_states_gib("0.5.16", stages=1))
    one, two = (_states_gib("0.5.17", stages=each) for each in (1, 2))
    assert two == pytest.approx(one / 2)


def test_each_stage_of_a_hybrid_counted_all_full_layers_until_0_5_8() -> None:
    """Seven layers of Kimi Linear keep latents, four of them on the last stage; 0.5.8 still makes pools for all."""
    kimi = "moonshotai/Kimi-Linear-48B-A3B-Instruct"
    found = {
        version: memory("--trust-remote-code", stages=2, version=version, model=kimi)
        for version in ("0.5.7", "0.5.8", "0.5.9")
    }
    a_layer = 576 * 2
    layers = {version: each.pool.cell_bytes // a_layer for version, each in found.items()}
    assert layers == {"0.5.7": 7, "0.5.8": 4, "0.5.9": 4}
    pools = {
        version: next(line for line in each.static if line.item == "KV pool").gib.best
        / each.pool.tokens.best
        for version, each in found.items()
    }
    assert pools["0.5.8"] == pytest.approx(pools["0.5.7"])
    assert pools["0.5.8"] == pytest.approx(pools["0.5.9"] * 7 / 4)
