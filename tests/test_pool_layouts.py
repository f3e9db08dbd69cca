"""How a rest becomes a pool: bytes of a token by kind of attention and release, states, and the way back."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.catalog import open_catalog
from compiler.engines.sglang.architectures import splits_windows
from compiler.engines.sglang.pool import EXACT, LAYER_SCALED, NONE, Cell, Layout, share_pricing
from compiler.engines.sglang.releases import StatePools, counting
from compiler.engines.sglang.states import StatePool
from compiler.facts import Evidence
from compiler.judged import Judged, Verdict
from compiler.plan import Memory
from compiler.predict import Question, make_predictor
from examples import examples


CATALOG = open_catalog()
GIB = 2**30


def judged(command: str, *, version: str, gpu: str = "h200", count: int = 8) -> Judged:
    words = f"python -m sglang.launch_server {command}".split()
    predictor = make_predictor(CATALOG, engine="sglang", version=version)
    question = Question(gpu=gpu, count=count, engine="sglang", version=version)
    return predictor.predict(words, question)


def memory_of(command: str, *, version: str, gpu: str = "h200", count: int = 8) -> Memory:
    found = judged(command, version=version, gpu=gpu, count=count)
    assert found.plan is not None
    assert found.plan.memory is not None, found.plan.unknowns
    return found.plan.memory


@pytest.mark.parametrize(
    ("command", "version", "gpu", "count", "cell"),
    [
        # latent attention is the same on every rank
        ("--model-path deepseek-ai/DeepSeek-V3 --tp 8", "0.5.11", "h200", 8, 70_272),
        (
            "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --kv-cache-dtype fp8_e4m3",
            "0.5.11",
            "h200",
            8,
            35_136,
        ),
        # the checkpoint asks for fp8
        ("--model-path nvidia/Kimi-K2-Thinking-NVFP4 --tp 8", "0.5.11", "b200", 8, 35_136),
        # KV heads are split, and copied when there are too few
        ("--model-path Qwen/Qwen3-30B-A3B", "0.5.11", "h200", 1, 98_304),
        ("--model-path Qwen/Qwen3-30B-A3B --tp 8", "0.5.11", "h200", 8, 24_576),
        # data parallel attention keeps all heads on each rank
        (
            "--model-path Qwen/Qwen3-30B-A3B --tp 4 --dp 4 --enable-dp-attention",
            "0.5.11",
            "h200",
            4,
            98_304,
        ),
        # sparse attention: the indexer on every layer, later on those that have one
        ("--model-path deepseek-ai/DeepSeek-V3.2 --tp 8", "0.5.11", "h200", 8, 78_324),
        ("--model-path zai-org/GLM-5-FP8 --tp 8", "0.5.11", "h200", 8, 100_152),
        # scaled rows are priced as such from 0.5.17 on
        (
            "--model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --kv-cache-dtype fp8_e4m3",
            "0.5.16",
            "h200",
            8,
            61 * (576 + 132),
        ),
        (
            "--model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --kv-cache-dtype fp8_e4m3",
            "0.5.17",
            "h200",
            8,
            61 * (656 + 132),
        ),
        # a pipeline's tightest stage
        ("--model-path zai-org/GLM-4.7-FP8 --tp 4 --pp-size 2", "0.5.11", "h200", 8, 47_104),
        # fp4: half a byte, and a byte of scale for sixteen
        (
            "--model-path Qwen/Qwen2.5-1.5B-Instruct --kv-cache-dtype fp4_e2m1",
            "0.5.11",
            "h200",
            1,
            8_064,
        ),
        # layers with a window: 0.8 of the tokens unless told otherwise
        ("--model-path google/gemma-4-31B-it --tp 2", "0.5.12", "h200", 2, 40_960 + 327_680),
        (
            "--model-path google/gemma-4-31B-it --tp 2 --swa-full-tokens-ratio 0.1",
            "0.5.12",
            "h200",
            2,
            40_960 + 40_960,
        ),
        # only layers with attention, where others have a state
        ("--model-path Qwen/Qwen3.5-9B --tp 2", "0.5.11", "h200", 2, 16_384),
        ("--model-path Qwen/Qwen3.6-27B", "0.5.11", "h200", 1, 65_536),
    ],
)
def test_bytes_of_a_token(command: str, version: str, gpu: str, count: int, cell: int) -> None:
    """Public boots print these, or figures that come to them."""
    assert memory_of(command, version=version, gpu=gpu, count=count).pool.cell_bytes == cell


@pytest.mark.parametrize(
    ("version", "cell"),
    [("0.5.9", 70_272), ("0.5.13", 70_272), ("0.5.14", 71_424), ("0.5.23", 71_424)],
)
def test_a_nextn_draft_is_priced_from_0_5_14_on(version: str, cell: int) -> None:
    """One more layer like the target's, or nothing."""
    command = "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --speculative-algorithm NEXTN"
    assert memory_of(command, version=version).pool.cell_bytes == cell


@pytest.mark.parametrize(
    ("version", "cell"), [("0.5.11", 77_184), ("0.5.17", 77_184), ("0.5.18", 73_344)]
)
def test_a_dflash_draft_is_priced_by_layers_then_by_heads(version: str, cell: int) -> None:
    """Kimi K2.6 with a draft of six layers, before and after 0.5.18."""
    command = (
        "--model-path moonshotai/Kimi-K2.6 --tp 8 --mem-fraction-static 0.85 --speculative-algorithm DFLASH "
        "--speculative-draft-model-path z-lab/Kimi-K2.6-DFlash"
    )
    assert memory_of(command, version=version).pool.cell_bytes == cell


def test_old_releases_enlarge_the_pool_for_a_draft() -> None:
    """Up to 0.5.8 slots are added for what 48 requests may have in flight: 48 x (3 x 1 + 4) + 100."""
    command = "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --mem-fraction-static 0.9"
    plain = memory_of(command, version="0.5.6").pool.tokens
    drafting = memory_of(f"{command} --speculative-algorithm NEXTN", version="0.5.6").pool.tokens
    assert drafting.best == plain.best + 48 * 7 + 100


def test_draft_weights_move_into_the_static_budget() -> None:
    """Up to 0.5.13 the reserve pays for them, after that the pool shrinks."""
    command = (
        "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --mem-fraction-static 0.9 "
        "--speculative-algorithm NEXTN"
    )
    before, after = (memory_of(command, version=each) for each in ("0.5.13", "0.5.14"))
    assert "draft weights" in {each.item for each in before.reserve_lines}
    assert "draft weights" not in {each.item for each in after.reserve_lines}
    assert after.static[0].gib.best > before.static[0].gib.best


def test_a_later_release_keeps_something_for_images() -> None:
    """From 0.5.18 on 100 MiB of the budget of a multimodal model."""
    command = "--model-path Qwen/Qwen3-VL-8B-Instruct --mem-fraction-static 0.8"
    before, after = (
        memory_of(command, version=each, count=1).pool.tokens for each in ("0.5.17", "0.5.18")
    )
    assert before.best - after.best == pytest.approx(100 * 2**20 / 147_456, abs=2)


@pytest.mark.parametrize(
    ("version", "flags", "slots"),
    [
        ("0.5.11", "", 3),
        ("0.5.15", "", 5),
        ("0.5.15", "--mamba-radix-cache-strategy extra_buffer_lazy", 4),
        ("0.5.15", "--disable-overlap-schedule", 3),
        ("0.5.15", "--disable-radix-cache", 1),
    ],
)
def test_slots_that_a_request_may_hold(version: str, flags: str, slots: int) -> None:
    """48 slots for states admit as many requests as go into them."""
    command = (
        f"--model-path Qwen/Qwen3.6-27B --mem-fraction-static 0.8 --max-mamba-cache-size 48 {flags}"
    )
    plan = judged(command, version=version, count=1).plan
    assert plan is not None
    assert plan.running_requests == 48 // slots


def test_windows_are_split_for_some_architectures() -> None:
    """Gemma 4 from 0.5.11 on; Gemma 3 never; gpt-oss from 0.5.9 on."""
    assert splits_windows("Gemma4ForConditionalGeneration", "0.5.11")
    assert not splits_windows("Gemma4ForConditionalGeneration", "0.5.10")
    assert not splits_windows("Gemma3ForConditionalGeneration", "0.5.11")
    assert splits_windows("GptOssForCausalLM", "0.5.9")
    assert not splits_windows("GptOssForCausalLM", "0.5.6")


@pytest.mark.parametrize(
    ("version", "flags", "ratio"),
    [
        ("0.5.13", "", 0.8),
        ("0.5.13", "--enable-hierarchical-cache", 1.0),
        ("0.5.14", "--enable-hierarchical-cache", 0.8),
    ],
)
def test_windows_of_mimo_are_whole_beside_a_hierarchical_cache_until_0_5_14(
    version: str, flags: str, ratio: float
) -> None:
    """Of the 48 layers 39 have a window, whose pool has 0.8 of the tokens by itself."""
    command = f"--model-path XiaomiMiMo/MiMo-V2-Flash --tp 4 --context-length 65536 {flags}"
    full, window = 9 * (192 + 128) * 2, 39 * 2 * (192 + 128) * 2
    assert memory_of(command, version=version, count=4).pool.cell_bytes == pytest.approx(
        full + ratio * window
    )


@pytest.mark.parametrize("version", ["0.4.0", "0.5.24", "main"])
def test_a_release_nobody_read_is_not_priced(version: str) -> None:
    """What was not written down is not guessed."""
    assert counting(version) is None


def test_between_two_rows_the_earlier_one_holds() -> None:
    """0.5.19 counts like 0.5.18, and 0.5.20 does not."""
    assert counting("0.5.19") == counting("0.5.18")
    assert counting("0.5.12") != counting("0.5.13")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--model-path Qwen/Qwen3-8B --enable-lora", "flag-unpriced"),
        (
            "--model-path deepseek-ai/DeepSeek-V2-Lite-Chat --cpu-offload-gb 4",
            "flag-unpriced",
        ),
        (
            "--model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --enable-nsa-prefill-context-parallel",
            "flag-unpriced",
        ),
        ("--model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --attn-cp-size 2", "flag-unpriced"),
        ("--model-path Qwen/Qwen3-8B --quantization gptq", "flag-unpriced"),
        ("--model-path Qwen/Qwen3-8B --speculative-algorithm NEXTN", "speculation-unpriced"),
        ("--model-path nobody/Knows-This", "model-unknown"),
    ],
)
def test_what_is_not_understood_is_named(command: str, code: str) -> None:
    """The verdict is `unknown`, with what is missing."""
    found = judged(command, version="0.5.11", count=1)
    assert found.verdict is Verdict.UNKNOWN
    assert found.plan is not None
    assert code in {each.code for each in found.plan.unknowns}


def test_the_pool_of_a_prediction_is_derived() -> None:
    """Without a boot or a log the weights come from the model's tensors."""
    memory = memory_of("--model-path Qwen/Qwen3-8B", version="0.5.11", count=1)
    assert memory.pool.evidence is Evidence.DERIVED


CELLS = st.floats(1_000, 200_000).map(lambda size: round(size, 1))
POOLS = st.builds(
    StatePool,
    rule=st.sampled_from(
        [StatePools.BEFORE, StatePools.JOINT, StatePools.PADDED, StatePools.DIVIDED]
    ),
    request_bytes=st.integers(10**6, 2 * 10**8),
    ratio=st.floats(0.1, 4),
    given=st.none() | st.integers(1, 200),
    drafted=st.integers(0, 8),
    requests=st.integers(1, 48),
    per_request=st.integers(1, 5),
)


@given(pool=st.none() | POOLS, cell=CELLS, tokens=st.integers(1_000, 3_000_000))
@settings(derandomize=True, deadline=None, max_examples=examples(200))
def test_a_rest_can_be_found_from_its_pool(
    pool: StatePool | None, cell: float, tokens: int
) -> None:
    """What a recorded pool says about its rest gives that pool again, within the slots of one state."""
    layout = Layout(
        cell=Cell(pricing="exact", priced_bytes=cell, target_bytes=cell, draft_bytes=0),
        states=pool,
        taken=(("cache of images", 0.1),),
    )
    first, *others = layout.rests_gib(tokens + 0.5)
    slack = 1 if pool is None else 1 + pool.request_bytes * (2 + pool.drafted) / cell
    assert abs(layout.tokens(first) - tokens) <= slack
    for rest in others:
        assert abs(layout.tokens(rest) - tokens) <= slack


def test_a_pool_beside_states_may_be_of_several_rests() -> None:
    """Two public boots of one machine, whose logs have 38 and 23 slots: one slot more is more memory for the same pool."""
    states = StatePool(
        rule=StatePools.PADDED,
        request_bytes=153_944_064,
        ratio=4.59,
        given=None,
        drafted=0,
        requests=1,
        per_request=5,
    )
    cell = Cell(pricing="exact", priced_bytes=32_768, target_bytes=32_768, draft_bytes=0)
    first, second = (Layout(cell=cell, states=evolve(states, ratio=ratio)) for ratio in (4.59, 1.0))
    rests = sorted(first.rests_gib(42_710 + 0.5))
    assert {first.slots(rest) for rest in rests} >= {38, 39}
    assert {first.tokens(rest) for rest in rests} == {42_710}
    pools = [second.tokens(rest) for rest in rests]
    assert min(pools) < 113_180 <= max(pools)


@given(pool=POOLS, rest=st.floats(1, 200))
@settings(derandomize=True, deadline=None, max_examples=examples(200))
def test_states_and_kv_share_the_rest(pool: StatePool, rest: float) -> None:
    """What states take and what is left for KV is the rest, no more and no less."""
    share = pool.split(rest)
    assert share.left_gib + share.taken_gib == pytest.approx(rest)


def test_ranks_that_share_a_prompt_keep_the_same_latents() -> None:
    """Two groups of four ranks: a token costs what it does without, and each rank has twice the heads."""
    words = "--model-path deepseek-ai/DeepSeek-V3 --tp 8"
    alone, shared = (
        memory_of(f"{words} {flags}", version="0.5.18") for flags in ("", "--attn-cp-size 2")
    )
    assert alone.pool.cell_bytes == shared.pool.cell_bytes
    weights = [
        next(each.gib.best for each in memory.static if each.item == "weights")
        for memory in (alone, shared)
    ]
    assert weights[1] > weights[0]


def test_a_draft_is_counted_alike_where_one_way_is_in_both() -> None:
    """Of a boot and this start each way of pricing a draft is compared; two that share none are told apart."""
    scaled, exact, none = (
        Layout(cell=Cell(pricing=each, priced_bytes=1, target_bytes=1, draft_bytes=0))
        for each in (LAYER_SCALED, EXACT, NONE)
    )
    assert share_pricing((scaled, exact), (none, exact))
    assert not share_pricing((scaled, exact), (none,))
