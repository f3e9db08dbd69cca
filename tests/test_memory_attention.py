"""Bytes a token and a state take on one GPU, against what public boots of each family print."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.architecture import Gqa, Indexer, LayerKind, Mla, State, StateKind, Window
from compiler.catalog import open_catalog
from compiler.facts import Model
from compiler.memory.attention import (
    cell_bytes,
    cell_elements,
    cell_formula,
    fp4_cell_bytes,
    indexer_bytes,
    sparse_row_bytes,
    state_bytes,
    state_elements,
)
from compiler.memory.layers import Layer, count, layers_of, stage_slice
from examples import examples


PROPERTY = settings(derandomize=True, deadline=None, max_examples=examples(200))


def known(id_: str) -> Model:
    """A model of the catalogue."""
    model, faults = open_catalog().model(id_)
    assert model is not None, faults
    return model


def full_bytes(model: Model, *, element_bytes: int, ranks: int, layers: int | None = None) -> int:
    """Bytes of one token in the full layers of a model."""
    full = count(layers_of(model)).full if layers is None else layers
    return cell_bytes(model.attention, layers=full, element_bytes=element_bytes, ranks=ranks)


@pytest.mark.parametrize(
    ("id_", "element_bytes", "ranks", "expected"),
    [
        ("moonshotai/Kimi-K2.6", 2, 8, 70_272),
        ("deepseek-ai/DeepSeek-R1", 2, 8, 70_272),
        ("deepseek-ai/DeepSeek-R1", 1, 16, 35_136),
        ("nvidia/Kimi-K2-Thinking-NVFP4", 1, 8, 35_136),
        ("zai-org/GLM-4.7-Flash", 2, 2, 54_144),
        ("zai-org/GLM-4.7-FP8", 2, 8, 47_104),
        ("Qwen/Qwen3-30B-A3B", 2, 1, 98_304),
        ("Qwen/Qwen3-235B-A22B-FP8", 2, 4, 48_128),
        ("Qwen/Qwen3-8B", 2, 1, 147_456),
        ("Qwen/Qwen3-14B", 2, 1, 163_840),
        ("Qwen/Qwen3-32B", 2, 4, 65_536),
        ("Qwen/Qwen2.5-0.5B-Instruct", 2, 1, 12_288),
        ("Qwen/Qwen2.5-1.5B-Instruct", 2, 1, 28_672),
        ("Qwen/Qwen3-0.6B", 2, 1, 114_688),
        ("Qwen/Qwen3-1.7B", 2, 1, 114_688),
        ("Qwen/Qwen3.5-9B", 2, 1, 32_768),
        ("Qwen/Qwen3.5-9B", 2, 2, 16_384),
        ("Qwen/Qwen3.5-35B-A3B", 2, 2, 10_240),
        ("Qwen/Qwen3.6-35B-A3B", 2, 4, 10_240),
        ("Qwen/Qwen3.6-27B", 2, 1, 65_536),
        ("Qwen/Qwen3.8-27B", 1, 1, 32_768),
        ("Qwen/Qwen3.8-27B", 2, 2, 32_768),
        ("meta-llama/Llama-3.1-8B-Instruct", 2, 1, 131_072),
        ("meta-llama/Llama-3.3-70B-Instruct", 2, 4, 81_920),
        ("meta-llama/Llama-3.1-70B-Instruct", 2, 8, 40_960),
        ("mistralai/Mistral-Large-Instruct-2411", 2, 4, 90_112),
        ("mistralai/Devstral-Small-2-24B-Instruct-2512", 1, 2, 40_960),
        ("google/gemma-4-26B-A4B-it", 2, 2, 10_240),
        ("google/gemma-4-31B-it", 2, 2, 40_960),
        ("xai-org/grok-2", 2, 8, 32_768),
        ("xai-org/grok-2", 2, 16, 32_768),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 2, 4, 6_144 // 2),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 1, 4, 2_048),
        ("LiquidAI/LFM2-700M", 2, 1, 12_288),
        ("ibm-granite/granite-4.0-h-tiny", 2, 1, 8_192),
        ("ibm-granite/granite-4.0-h-micro", 2, 1, 8_192),
    ],
)
def test_a_token_takes_what_public_boots_print(
    id_: str, element_bytes: int, ranks: int, expected: int
) -> None:
    """The full attention layers of each family, on one rank, come to the bytes a token of its logs."""
    assert full_bytes(known(id_), element_bytes=element_bytes, ranks=ranks) == expected


@pytest.mark.parametrize(
    ("id_", "ranks", "expected"),
    [
        ("google/gemma-4-26B-A4B-it", 2, 102_400),
        ("google/gemma-4-31B-it", 2, 409_600),
        ("XiaomiMiMo/MiMo-V2-Flash", 4, 39 * 2 * (192 + 128) * 2),
    ],
)
def test_window_layers_have_heads_of_their_own(id_: str, ranks: int, expected: int) -> None:
    """The window layers of a model come to their own bytes a token."""
    model = known(id_)
    assert model.window is not None
    layers = count(layers_of(model)).window
    assert cell_bytes(model.window, layers=layers, element_bytes=2, ranks=ranks) == expected


def test_a_model_of_windows_and_full_layers_of_one_shape_adds_up() -> None:
    """Embeddinggemma: 24 layers of one head, of which the engine keeps all at full length."""
    model = known("google/embeddinggemma-300m")
    assert full_bytes(model, element_bytes=2, ranks=1, layers=model.layers) == 24_576


@pytest.mark.parametrize(
    ("id_", "indexed", "expected"),
    [
        ("deepseek-ai/DeepSeek-V3.2", 61, 61 * (576 + 132)),
        ("zai-org/GLM-5-FP8", 78, 55_224),
        ("zai-org/GLM-5.2-FP8", 21, 47_700),
    ],
)
def test_indexers_come_on_top(id_: str, indexed: int, expected: int) -> None:
    """Sparse attention in fp8: the latent in all layers, and 132 bytes in each layer with its own indexer."""
    model = known(id_)
    assert isinstance(model.attention, Mla)
    assert model.attention.indexer is not None
    found = count(layers_of(model)).indexed
    assert found == indexed
    latent = full_bytes(model, element_bytes=1, ranks=8)
    assert latent + indexer_bytes(model.attention.indexer, layers=found) == expected


def test_a_sparse_pool_of_fp8_has_wider_rows() -> None:
    """GLM-5 in fp8: 656 bytes of row and 132 of indexer in each of 78 layers, in bf16 1,152 and 132."""
    model = known("zai-org/GLM-5-FP8")
    assert isinstance(model.attention, Mla)
    assert model.attention.indexer is not None
    indexer = indexer_bytes(model.attention.indexer, layers=78)
    assert 78 * sparse_row_bytes(model.attention) + indexer == 61_464
    assert full_bytes(model, element_bytes=2, ranks=8) + indexer == 100_152


def test_fp4_takes_half_and_a_scale_for_sixteen() -> None:
    """Qwen2.5-1.5B in fp4: 28 layers x 2 heads x 2 x (64 + 8)."""
    attention = known("Qwen/Qwen2.5-1.5B-Instruct").attention
    assert fp4_cell_bytes(attention, layers=28, ranks=1) == 8_064


@pytest.mark.parametrize(
    ("id_", "ranks", "slots", "conv_gib", "state_gib"),
    [
        ("Qwen/Qwen3.5-9B", 2, 186, 0.10, 4.38),
        ("Qwen/Qwen3.6-27B-FP8", 1, 154, 0.43, 21.80),
        ("nvidia/Qwen3.8-27B-NVFP4", 1, 360, 0.99, 50.77),
        ("ibm-granite/granite-4.0-h-micro", 1, 38, 0.03, 2.74),
        ("LiquidAI/LFM2-700M", 1, 85_292, 4.88, 0.0),
    ],
)
def test_a_state_takes_what_public_boots_print(
    id_: str, ranks: int, slots: int, conv_gib: float, state_gib: float
) -> None:
    """The slots a log names, and one for padding, come to both of its figures, to their two decimals."""
    model = known(id_)
    assert model.state is not None
    layers = count(layers_of(model)).state
    each = state_elements(model.state, ranks=ranks)
    rows = (slots + 1) * layers / 2**30
    assert rows * each.convolution * 2 == pytest.approx(conv_gib, abs=0.005)
    assert rows * each.recurrent * model.state.state_bits / 8 == pytest.approx(state_gib, abs=0.005)


def test_a_state_is_split_by_heads() -> None:
    """On two ranks half of it stands on each; its elements have the width the model gives."""
    state = State(
        kind=StateKind.GDN, heads=32, head_dim=128, groups=16, state_size=128, conv_kernel=4
    )
    one = state_bytes(state, layers=24, ranks=1)
    assert one == 24 * (3 * (32 * 128 + 2 * 16 * 128) * 2 + 32 * 128 * 128 * 4)
    assert state_bytes(state, layers=24, ranks=2) * 2 == one


def test_groups_that_do_not_divide_are_copied() -> None:
    """One group on four ranks is four groups."""
    state = State(
        kind=StateKind.MAMBA2, heads=48, head_dim=64, groups=1, state_size=128, conv_kernel=4
    )
    assert state_elements(state, ranks=4).convolution == (48 * 64 + 2 * 4 * 128) // 4 * 3


def test_a_convolution_has_no_recurrent_part() -> None:
    """A short convolution keeps its last inputs only."""
    state = State(kind=StateKind.CONVOLUTION, heads=1, head_dim=1536, groups=1, conv_kernel=3)
    assert state_bytes(state, layers=10, ranks=1) == 10 * 1536 * 2 * 2


@PROPERTY
@given(kv_heads=st.sampled_from([1, 2, 4, 8, 16]), ranks=st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_heads_are_split_and_never_lost(kv_heads: int, ranks: int) -> None:
    """Over all ranks the heads are all there, once when they divide, and no rank is without one."""
    shape = Gqa(kv_heads=kv_heads, head_dim=128, v_head_dim=64)
    each = cell_elements(shape, ranks=ranks)
    assert each * ranks == max(kv_heads, ranks) * (128 + 64)


@PROPERTY
@given(ranks=st.integers(min_value=1, max_value=64))
def test_a_latent_stands_whole_on_every_rank(ranks: int) -> None:
    """MLA does not care for tensor parallelism."""
    shape = Mla(
        kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, q_lora_rank=0
    )
    assert cell_bytes(shape, layers=61, element_bytes=2, ranks=ranks) == 70_272


def test_the_formula_is_the_arithmetic() -> None:
    """The words a reader sees come to the number."""
    for shape in (
        known("moonshotai/Kimi-K2.6").attention,
        Gqa(kv_heads=8, head_dim=128, v_head_dim=64),
        Window(size=1, kv_heads=1, head_dim=32, v_head_dim=32),
    ):
        text = cell_formula(shape, layers=61, element_bytes=2, ranks=4)
        plain = text.replace(" layers", "").replace(" heads", "").replace(" head", "")
        arithmetic = plain.replace(" B", "").replace("x", "*")
        assert eval(arithmetic) == cell_bytes(shape, layers=61, element_bytes=2, ranks=4)


@pytest.mark.parametrize(
    ("id_", "full", "window", "state", "experts", "dense"),
    [
        ("moonshotai/Kimi-K2.6", 61, 0, 0, 60, 1),
        ("openai/gpt-oss-120b", 18, 18, 0, 36, 0),
        ("google/gemma-4-31B-it", 10, 50, 0, 0, 60),
        ("XiaomiMiMo/MiMo-V2-Flash", 9, 39, 0, 47, 1),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct", 12, 36, 0, 24, 24),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 12, 0, 36, 48, 0),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 7, 0, 20, 26, 1),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 6, 0, 23, 23, 0),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 8, 0, 40, 40, 0),
    ],
)
def test_layers_are_counted_by_kind(
    id_: str, full: int, window: int, state: int, experts: int, dense: int
) -> None:
    """The kinds of a model's layers, and what MLP each has."""
    counts = count(layers_of(known(id_)))
    found = (counts.full, counts.window, counts.state, counts.experts, counts.dense)
    assert found == (full, window, state, experts, dense)


def test_a_layer_mixes_with_one_thing() -> None:
    """Where MLPs stand alone, a layer has a mixer or an MLP, elsewhere both."""
    alone = layers_of(known("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"))
    assert alone[0] == Layer(kind=LayerKind.STATE, experts=False, dense=False, indexed=False)
    assert alone[1] == Layer(kind=LayerKind.EXPERTS, experts=True, dense=False, indexed=False)
    both = layers_of(known("Qwen/Qwen3-Next-80B-A3B-Instruct"))
    assert all(each.experts for each in both)


def test_indexers_follow_their_schedule() -> None:
    """GLM-5.2: the first three layers, then one in four."""
    layers = layers_of(known("zai-org/GLM-5.2-FP8"))
    assert [at for at, each in enumerate(layers) if each.indexed][:6] == [0, 1, 2, 6, 10, 14]


def test_an_indexer_of_every_layer_needs_no_schedule() -> None:
    """The default is one a layer."""
    assert Indexer(heads=64, head_dim=128).every == 1


@PROPERTY
@given(
    layers=st.integers(min_value=1, max_value=130), stages=st.integers(min_value=1, max_value=16)
)
def test_stages_share_all_layers(layers: int, stages: int) -> None:
    """Stages follow each other without a gap, differ by one at most, and the last have more."""
    slices = [stage_slice(layers, stage=stage, stages=stages) for stage in range(stages)]
    assert [at for each in slices for at in range(layers)[each]] == list(range(layers))
    lengths = [each.stop - each.start for each in slices]
    assert lengths == sorted(lengths)
    assert max(lengths) - min(lengths) <= 1
