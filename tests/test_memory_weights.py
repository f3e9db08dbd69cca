"""Weights on one GPU: shapes against published sizes, the laws of splitting, and the allocator's rounding."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.architecture import Format, Gqa, Quantization, Role
from compiler.catalog import Kind, open_catalog
from compiler.facts import Draft, Model
from compiler.memory.tensors import (
    draft_tensors,
    moved_below,
    nextn_tensors,
    target_tensors,
    weights_gib,
)
from compiler.memory.tensors.formats import Matrix, format_of, padded
from compiler.memory.weights import Split, Tensors, allocated, exact_gib
from compiler.ranges import Range
from examples import examples
from rows import folded
from servers import lines, sized


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(60))
MIB = 2**20
MODELS = open_catalog().ids(Kind.MODEL)
MADE = ("rotary tables", "attention kv_b, absorbed")


def known(id_: str) -> Model:
    """A model of the catalogue."""
    model, faults = open_catalog().model(id_)
    assert model is not None, faults
    return model


def known_draft(id_: str) -> Draft:
    """A draft of the catalogue."""
    draft, faults = open_catalog().draft(id_)
    assert draft is not None, faults
    return draft


def parameters(model: Model) -> float:
    """Parameters of a model, 10^9, without norms and biases."""
    plain = evolve(model, quantization=None)
    tensors = target_tensors(plain, split=Split())
    return sum(each.elements * each.count for each in tensors if each.role not in MADE) / 1e9


# As their makers publish them, 10^9; a model's own draft is not counted.
PUBLISHED = {
    "deepseek-ai/DeepSeek-V3": 671.0,
    "moonshotai/Kimi-K2-Instruct": 1026.4,
    "moonshotai/Kimi-VL-A3B-Instruct": 16.4,
    "moonshotai/Kimi-Linear-48B-A3B-Instruct": 49.1,
    "zai-org/GLM-4.5-Air": 106.9,
    "zai-org/GLM-4.7-Flash": 29.9,
    "zai-org/GLM-5": 743.9,
    "Qwen/Qwen2.5-0.5B-Instruct": 0.494,
    "Qwen/Qwen2.5-7B-Instruct": 7.62,
    "Qwen/Qwen2.5-72B-Instruct": 72.7,
    "Qwen/Qwen3-0.6B": 0.596,
    "Qwen/Qwen3-8B": 8.19,
    "Qwen/Qwen3-32B": 32.8,
    "Qwen/Qwen3-30B-A3B": 30.5,
    "Qwen/Qwen3-235B-A22B": 235.1,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 480.2,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 79.7,
    "Qwen/Qwen3-VL-8B-Instruct": 8.77,
    "openai/gpt-oss-20b": 20.9,
    "openai/gpt-oss-120b": 116.8,
    "MiniMaxAI/MiniMax-M2": 228.7,
    "meta-llama/Llama-3.2-1B-Instruct": 1.236,
    "meta-llama/Llama-3.1-8B-Instruct": 8.03,
    "meta-llama/Llama-3.3-70B-Instruct": 70.55,
    "meta-llama/Llama-3.1-405B-Instruct": 405.85,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 108.6,
    "mistralai/Mistral-Large-Instruct-2411": 122.6,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": 46.7,
    "mistralai/Devstral-Small-2-24B-Instruct-2512": 24.0,
    "google/gemma-3-27b-it": 27.4,
    "google/embeddinggemma-300m": 0.303,
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": 31.6,
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": 120.6,
    "XiaomiMiMo/MiMo-V2-Flash": 309.0,
    "xai-org/grok-2": 269.5,
    "ibm-granite/granite-4.0-h-tiny": 6.94,
    "ibm-granite/granite-4.0-h-micro": 3.19,
    "LiquidAI/LFM2-700M": 0.742,
}


@folded("id_", PUBLISHED)
def test_the_shapes_have_the_published_parameters(id_: str) -> None:
    """A model's shapes come to the parameters its makers publish, to a thousandth or two."""
    assert parameters(known(id_)) == pytest.approx(PUBLISHED[id_], rel=0.0025)


@pytest.mark.parametrize(
    ("id_", "split", "logged_gib"),
    [
        ("moonshotai/Kimi-K2.5", Split(tensor=8), 72.33),
        ("zai-org/GLM-5-FP8", Split(tensor=8), 89.58),
        ("zai-org/GLM-4.7-FP8", Split(tensor=4, pipeline=2), 42.86),
        ("nvidia/DeepSeek-R1-0528-FP4", Split(tensor=4, scale_copies=1), 94.51),
        ("Qwen/Qwen3-8B", Split(), 15.28),
        ("Qwen/Qwen3-14B", Split(), 27.69),
        ("Qwen/Qwen3-32B", Split(tensor=4), 15.50),
        ("Qwen/Qwen3-32B", Split(tensor=4, context=2), 18.25),
        ("Qwen/Qwen3-30B-A3B", Split(gpu_experts=32), 16.41),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", Split(), 14.39),
        ("Qwen/Qwen2.5-32B-Instruct", Split(tensor=4), 15.54),
        ("Qwen/Qwen3-30B-A3B-FP8", Split(), 29.15),
        ("Qwen/Qwen3-VL-8B-Instruct", Split(), 16.52),
        ("Qwen/Qwen3.5-9B", Split(tensor=2), 8.85),
        ("Qwen/Qwen3.6-27B", Split(), 51.047),
        ("Qwen/Qwen3.8-27B-FP8", Split(), 28.49),
        ("Qwen/Qwen3.8-27B-FP8", Split(tensor=2), 14.49),
        ("meta-llama/Llama-3.1-8B-Instruct", Split(), 15.09),
        ("ibm-granite/granite-4.0-h-micro", Split(), 5.98),
    ],
)
def test_the_weights_are_what_public_boots_print(id_: str, split: Split, logged_gib: float) -> None:
    """The best estimate is within a hundredth of the log, and the range holds it."""
    weights = weights_gib(known(id_), split=split)
    assert weights.best == pytest.approx(logged_gib, rel=0.01)
    assert weights.low <= logged_gib + 0.005
    assert logged_gib - 0.005 <= weights.high


@folded("id_", MODELS)
def test_every_model_can_be_priced(id_: str) -> None:
    """Each entry has weights on one GPU and on eight, or on as many as its heads divide over: less, never less than the share."""
    model = known(id_)
    ranks = next(each for each in (8, 4, 2, 3) if _divides(model, each))
    whole = exact_gib(target_tensors(model, split=Split()))
    share = exact_gib(target_tensors(model, split=Split(tensor=ranks)))
    assert whole / (ranks + 0.01) < share < whole


@pytest.mark.parametrize(
    ("id_", "parameters"),
    [
        ("ibm-granite/granite-3.3-8b-instruct", 8_170_864_640),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 8_888_227_328),
    ],
)
def test_entries_have_as_many_parameters_as_their_pages_say(id_: str, parameters: int) -> None:
    """But for norms and the like, all matrices of a model come to the count that its public page prints."""
    tensors = target_tensors(known(id_), split=Split())
    count = sum(each.elements * each.count for each in tensors if each.role != "rotary tables")
    assert count == pytest.approx(parameters, rel=0.001)


def _divides(model: Model, ranks: int) -> bool:
    """Whether the heads divide over so many ranks; KV heads are copied where there are fewer."""
    kv = model.attention.kv_heads if isinstance(model.attention, Gqa) else ranks
    return model.heads % ranks == 0 and max(kv, ranks) % min(kv, ranks) == 0


@folded("id_", MODELS)
def test_what_is_split_is_split_evenly(id_: str) -> None:
    """Over two ranks nothing is lost: what is not whole on each comes to the whole again.

    But for KV heads and state groups, which are copied, and experts that are padded.
    """
    model = known(id_)
    if model.heads % 2:
        return  # no server splits it
    method = model.quantization.method if model.quantization is not None else ""
    padded = method in ("mxfp4", "modelopt_mixed") or (
        method == "modelopt_fp4" and not model.gated_mlp
    )
    padding = "routed experts" if padded else "nothing"
    one = {t.role: t for t in target_tensors(model, split=Split())}
    for each in target_tensors(model, split=Split(tensor=2)):
        if each.role == "rotary tables":
            continue  # several of one name
        alone = one[each.role]
        if each.whole:
            assert each.bytes == alone.bytes
        elif not any(part in each.role for part in ("q, k and v", "state projections in", padding)):
            assert 2 * each.elements == pytest.approx(alone.elements, rel=0.001)


@pytest.mark.parametrize("id_", ["moonshotai/Kimi-K2.6", "Qwen/Qwen3.5-397B-A17B"])
def test_stages_share_the_layers(id_: str) -> None:
    """Two stages hold what one holds; the tower and the rotary tables stand on both."""
    model = evolve(known(id_), vision=None)
    one = exact_gib(t for t in target_tensors(model, split=Split()) if "rotary" not in t.role)
    split = Split(pipeline=2)
    two = sum(
        exact_gib(t for t in target_tensors(model, split=split, stage=at) if "rotary" not in t.role)
        for at in (0, 1)
    )
    assert two == pytest.approx(one)


def test_data_parallel_attention_keeps_it_whole() -> None:
    """With as many replicas as ranks attention and embedding stand whole, and experts are split as before."""
    model = known("deepseek-ai/DeepSeek-V3")
    plain = {t.role: t.bytes for t in target_tensors(model, split=Split(tensor=8))}
    data = {t.role: t.bytes for t in target_tensors(model, split=Split(tensor=8, data=8))}
    for role in ("attention q_b", "attention kv_b", "attention o", "embedding"):
        assert data[role] == pytest.approx(8 * plain[role], rel=1e-6)
    for role in ("routed experts, down", "shared expert, down", "head", "router"):
        assert data[role] == plain[role]


def test_ranks_that_share_a_prefill_split_attention_less() -> None:
    """Two ranks that share a sequence hold the same heads; the embedding and all MLPs are split as before."""
    model = known("Qwen/Qwen3-30B-A3B")
    plain = {t.role: t.bytes for t in target_tensors(model, split=Split(tensor=4))}
    shared = {t.role: t.bytes for t in target_tensors(model, split=Split(tensor=4, context=2))}
    assert shared["attention o"] == 2 * plain["attention o"]
    for role in ("embedding", "head", "routed experts, down"):
        assert shared[role] == plain[role]


def test_experts_on_the_cpu_take_no_gpu() -> None:
    """Of 128 experts 32 are a quarter; more than there are change nothing."""
    model = known("Qwen/Qwen3-30B-A3B")

    def experts(split: Split) -> int:
        return sum(t.bytes for t in target_tensors(model, split=split) if "routed" in t.role)

    assert experts(Split(gpu_experts=32)) * 4 == experts(Split()) == experts(Split(gpu_experts=200))


def test_a_shared_expert_on_the_cpu_takes_no_gpu() -> None:
    """Where it is fused with the routed ones nothing of an expert layer but its router is left on the GPU."""
    model = known("deepseek-ai/DeepSeek-R1-0528")
    split = Split(tensor=8, gpu_experts=0, shared_on_host=True)
    assert not any("expert" in t.role and t.bytes for t in target_tensors(model, split=split))
    assert any("shared" in t.role for t in target_tensors(model, split=Split(tensor=8)))


def test_layers_with_tables_of_their_own() -> None:
    """Grok-2 has 64 MiB of rotary tables in each of 64 layers, half of them on each of two stages."""
    model = known("xai-org/grok-2")
    for stages, gib in ((1, 4.0), (2, 2.0)):
        tables = (
            t
            for t in target_tensors(model, split=Split(tensor=4, pipeline=stages))
            if t.role == "rotary tables"
        )
        assert sum(each.gib for each in tables) == gib


def test_expert_parallelism_deals_experts_out() -> None:
    """Eight groups of one rank hold as much as one group of eight ranks."""
    model = known("Qwen/Qwen3-235B-A22B")
    split, dealt = Split(tensor=8), Split(tensor=8, expert=8)
    assert exact_gib(target_tensors(model, split=split)) == exact_gib(
        target_tensors(model, split=dealt)
    )


@pytest.mark.parametrize(
    ("change", "role"),
    [
        (Split(tensor=8, dense_whole=True), "dense MLP, down"),
        (Split(tensor=8, shared_whole=True), "shared expert, down"),
        (Split(tensor=8, vision_whole=True), "vision attention o"),
        (Split(tensor=8, data=8, head_by_attention=True), "head"),
    ],
)
def test_a_switch_keeps_its_part_whole(change: Split, role: str) -> None:
    """What a flag of the engine keeps whole is eight times its share."""
    model = known("moonshotai/Kimi-K2.6")
    plain = {t.role: t.bytes for t in target_tensors(model, split=Split(tensor=8))}
    whole = {t.role: t.bytes for t in target_tensors(model, split=change)}
    assert whole[role] == pytest.approx(8 * plain[role], rel=1e-4)


def test_the_vocabulary_is_padded() -> None:
    """151,669 tokens are 151,680 rows."""
    model = known("Qwen/Qwen3-Reranker-0.6B")
    embedding = next(t for t in target_tensors(model, split=Split()) if t.role == "embedding")
    assert embedding.elements == 151_680 * 1024
    assert padded(151_680, step=64) == 151_680


def test_a_tied_head_is_no_second_tensor_but_on_its_own_stage() -> None:
    """One stage has one tensor for both; of two stages the last has a head of its own."""
    model = known("Qwen/Qwen3-0.6B")
    names = [t.role for t in target_tensors(model, split=Split())]
    assert names.count("head") == 0
    last = target_tensors(model, split=Split(pipeline=2), stage=1)
    assert [t.role for t in last if t.role in ("head", "embedding")] == ["head"]


def test_scales_of_nvfp4_may_be_kept_twice() -> None:
    """Once, twice, or not known: then the high end is that of twice."""
    model = known("nvidia/Kimi-K2-Thinking-NVFP4")
    once, twice, open_ = (
        weights_gib(model, split=Split(tensor=8, scale_copies=copies)) for copies in (1, 2, None)
    )
    assert twice.best - once.best == pytest.approx(1.0147e12 / 8 / 16 / 2**30, rel=0.01)
    assert open_ == Range(once.low, once.best, twice.high)


def test_mxfp4_experts_are_padded_to_whole_tiles() -> None:
    """A rank's share of 360 columns of an expert is kept as 384."""
    model = known("openai/gpt-oss-120b")
    down = next(
        t for t in target_tensors(model, split=Split(tensor=8)) if t.role == "routed experts, down"
    )
    assert down.elements == 128 * 2880 * 384


def test_absorbed_copies_are_dequantized() -> None:
    """The copies of kv_b are in the model's number format when it has a scale a block, else as they are stored."""
    model = known("deepseek-ai/DeepSeek-V3")
    channel = Quantization(
        method="compressed-tensors", formats=(Format(roles=(Role.ATTENTION,), bits=8),)
    )
    for each, bits in ((model, 16), (evolve(model, quantization=channel), 8)):
        tensors = target_tensors(each, split=Split(tensor=8))
        copies = next(t for t in tensors if t.role == "attention kv_b, absorbed")
        assert copies.bits == bits


def test_absorbed_copies_of_blocks_may_get_one_scale() -> None:
    """They stay in eight bits then, and nothing else changes."""
    model = known("deepseek-ai/DeepSeek-V3")
    before = target_tensors(model, split=Split(tensor=8))
    after = target_tensors(model, split=Split(tensor=8, blocks_dequantized=False))
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old.bits != new.bits]
    assert [(old.role, old.bits, new.bits) for old, new in changed] == [
        ("attention kv_b, absorbed", 16, 8)
    ]


def test_a_role_without_a_format_is_plain() -> None:
    """What quantization does not name has the model's own width."""
    model = known("moonshotai/Kimi-K2.6")
    assert format_of(model, Role.EXPERTS).bits == 4
    assert format_of(model, Role.HEAD).bits == 16


def test_a_format_adds_scales_and_zero_points() -> None:
    """Four bits with a scale and a zero point for 128 values: three tensors."""
    awq = Format(roles=(Role.DENSE,), bits=4, group_size=128, scale_bits=16, zero_bits=4)
    tensors = tuple(Matrix(name="x", elements=1280, count=2).tensors(awq))
    assert [(t.role, t.elements, t.bits) for t in tensors] == [
        ("x", 1280, 4),
        ("x, scales", 10, 16),
        ("x, zero points", 10, 4),
    ]


def test_nothing_is_no_tensor() -> None:
    """A part that a model does not have is left out."""
    plain = Format(roles=(), bits=16)
    assert tuple(Matrix(name="x", elements=5, count=0).tensors(plain)) == ()
    assert tuple(Matrix(name="x", elements=0).tensors(plain)) == ()


def test_the_kimi_draft_is_what_its_files_hold() -> None:
    """Six layers and the taps: 3.479e9 parameters, 1.31 GiB on each of eight ranks."""
    draft = known_draft("z-lab/Kimi-K2.6-DFlash")
    whole = draft_tensors(draft, split=Split())
    assert sum(t.elements * t.count for t in whole) == pytest.approx(3.479e9, rel=0.001)
    assert exact_gib(draft_tensors(draft, split=Split(tensor=8))) == pytest.approx(1.31, abs=0.005)


def test_yarn_of_latent_attention_has_three_tables_in_some_releases() -> None:
    """Its own, and with `rotary_halves` the cosines and the sines of both halves: 0.25 GiB each over a million tokens."""
    model = known("mistralai/Mistral-Small-4-119B-2603")
    for halves, tables in ((False, 1), (True, 3)):
        tensors = target_tensors(model, split=Split(rotary_halves=halves))
        assert [t.count for t in tensors if t.role == "rotary tables"] == [tables]
    command = f"--model-path {model.id} --tp 2 --context-length 32768"
    had, has = (
        lines(sized(command, version=version, gpu="h100", count=2))["weights"].gib.best
        for version in ("0.5.12.post1", "0.5.13")
    )
    assert had - has == pytest.approx(0.5, abs=0.01)


def test_scales_of_what_comes_out_of_experts_are_whole() -> None:
    """With a scale an output each of eight ranks has 8192 for each expert, 0.59 GiB, and an eighth of those of what goes in."""
    model = known("inclusionAI/Ring-2.5-1T")
    tensors = target_tensors(model, split=Split(tensor=8))
    size = {t.role: t.elements * t.count * t.bits / 8 for t in tensors}
    assert size["routed experts, scales out"] == 76 * 256 * 8192 * 4
    assert size["routed experts, scales in"] == 76 * 256 * 2 * 2048 / 8 * 4
    plain = target_tensors(known("Qwen/Qwen3-235B-A22B-Instruct-2507"), split=Split(tensor=8))
    assert not any("scales" in t.role for t in plain)


def test_a_models_own_draft_may_have_a_format_that_is_its_alone() -> None:
    """Experts of the model are in four bits and those of its draft in eight; what neither names is in sixteen."""
    model = known("nvidia/Qwen3.8-Flash-Next-NVFP4")
    assert model.nextn is not None
    bits = {t.role: t.bits for t in nextn_tensors(model, model.nextn, split=Split())}
    assert bits["routed experts, down"] == 8
    assert bits["routed experts, down, scales"] == 32
    assert bits["attention q, k and v"] == 16
    bits = {t.role: t.bits for t in target_tensors(model, split=Split())}
    assert bits["routed experts, down"] == 4


def test_a_models_own_draft_is_one_of_its_layers() -> None:
    """DeepSeek V3's draft has 11.6e9 parameters without the embedding and head it shares, as published."""
    model = known("deepseek-ai/DeepSeek-V3")
    assert model.nextn is not None
    tensors = nextn_tensors(model, model.nextn, split=Split())
    own = sum(t.elements * t.count for t in tensors if t.bits > 4 and "scales" not in t.role)
    absorbed = sum(t.elements for t in tensors if "absorbed" in t.role)
    assert (own - absorbed) / 1e9 == pytest.approx(11.6, abs=0.06)


def one(size: int, count: int = 1) -> Range:
    """What tensors of one size take, MiB."""
    gib = allocated([Tensors(role="x", elements=size, bits=8, count=count)])
    return Range(gib.low * 1024, gib.best * 1024, gib.high * 1024)


@pytest.mark.parametrize(
    ("size", "count", "best"),
    [
        (100, 1, 2),
        (MIB, 2, 2),
        (MIB, 3, 4),
        (5 * MIB, 4, 20),
        (5 * MIB, 5, 40),
        (10 * MIB, 1, 10),
        (11 * MIB, 2, 24),
        (64 * MIB + 1, 1, 66),
    ],
)
def test_tensors_take_whole_segments(size: int, count: int, best: int) -> None:
    """Up to 1 MiB in segments of 2, below 10 MiB in segments of 20, larger ones in steps of 2 of their own."""
    assert one(size, count).best == best


@PROPERTY
@given(
    sizes=st.lists(st.integers(min_value=1, max_value=200 * MIB), min_size=1, max_size=20),
)
def test_no_tensor_takes_less_than_itself(sizes: list[int]) -> None:
    """The low end is the values themselves, and the best estimate adds less than a segment each."""
    tensors = [Tensors(role="x", elements=size, bits=8) for size in sizes]
    found = allocated(tensors)
    assert found.low == pytest.approx(sum(sizes) / 2**30)
    assert found.low <= found.best <= found.low + (len(sizes) * 2 + 22) / 1024


def test_what_stays_where_it_was_made_keeps_no_rests() -> None:
    """Tensors of enough bits are as large as their segments; others, and those made late, may keep a rest each."""
    large = Tensors(role="x", elements=10 * MIB, bits=16, count=64)
    still, moved = allocated([large]), allocated([large], moved_below=32)
    assert still.best == moved.best
    assert still.high - still.best == pytest.approx(0.2)
    assert moved.high - still.high == pytest.approx(64 * MIB / 2**30)
    assert allocated([evolve(large, late=True)]) == moved
    # Two of 8 MiB fit into a segment of 20.
    middle = Tensors(role="x", elements=8 * MIB, bits=8, count=10)
    found = allocated([middle], moved_below=8)
    assert found.high - found.best - 0.2 == pytest.approx(20 * MIB / 2**30)


def test_what_is_known_of_the_load_narrows_the_weights() -> None:
    """Blocks of fp8 stay on the generations that take them as they are; AWQ's linear layers stay or change places."""
    blocks = known("Qwen/Qwen3-30B-A3B-FP8")
    assert moved_below(blocks, split=Split()) == 16
    assert moved_below(blocks, split=Split(blocks_stay=True)) == 8
    assert moved_below(known("zai-org/GLM-4.7-FP8"), split=Split(blocks_stay=True)) == 16
    assert moved_below(known("Qwen/Qwen2.5-72B-Instruct-AWQ"), split=Split()) == 4
    wide, narrow = (weights_gib(blocks, split=Split(blocks_stay=stay)) for stay in (False, True))
    assert (narrow.low, narrow.best) == (wide.low, wide.best)
    assert narrow.high < wide.high


def test_a_draft_that_is_loading_has_ends_of_its_own() -> None:
    """Qwen3.6-27B's draft took 5.46 GiB of a log while it loaded; its layer alone is a sixth of that."""
    model = evolve(known("Qwen/Qwen3.6-27B-FP8"), quantization=None)
    assert model.nextn is not None
    loading = exact_gib(nextn_tensors(model, model.nextn, split=Split(), loading=True))
    alone = exact_gib(nextn_tensors(model, model.nextn, split=Split()))
    assert loading == pytest.approx(5.46, rel=0.02)
    assert loading - alone == pytest.approx(2 * 248_320 * 5120 * 2 / 2**30)


def test_triton_keeps_the_order_of_inputs() -> None:
    """1.27 GiB of Kimi K2.5 in INT4 on eight ranks: two numbers for each input of 384 experts in 60 layers."""
    model = known("moonshotai/Kimi-K2.5")
    before, after = (
        exact_gib(target_tensors(model, split=Split(tensor=8, orders_kept=kept)))
        for kept in (False, True)
    )
    assert after - before == pytest.approx(60 * 384 * (7168 + 256) * 2 * 4 / 2**30)
