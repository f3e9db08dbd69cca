"""Configs of further kinds: they come to the parameters that their makers publish, and lists and defaults are understood."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.sizes import Size, described_bytes, sizes
from compiler.architecture import Format, Role
from compiler.catalog import Kind, open_catalog
from compiler.checkpoint import Missing, model_from_config
from compiler.checkpoint.names import is_draft, place
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import Split
from configs import CONFIGS
from kinds import KINDS
from rows import folded


_MOE, _HYBRID, _NEMOTRON = (
    "Qwen/Qwen3-30B-A3B-FP8",
    "Qwen/Qwen3.5-397B-A17B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
)
_INT4 = {"num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": True, "type": "int"}
_CHANNEL = {"num_bits": 8, "strategy": "channel", "symmetric": True, "type": "float"}


def described(config: dict[str, Any]) -> Model:
    """The model of a config that can be described."""
    model = model_from_config(config, id_="a/b")
    assert isinstance(model, Model), model
    return model


@folded("id_", KINDS)
def test_a_kind_has_as_many_parameters_as_its_makers_say(id_: str) -> None:
    """The tensors of one GPU come to the published count, within half a percent."""
    config, billions = KINDS[id_]
    tensors = target_tensors(described(config), split=Split())
    held = sum(each.elements * each.count for each in tensors if each.role != "rotary tables")
    assert held / 1e9 == pytest.approx(billions, rel=0.005)


@folded("id_", sorted(KINDS.keys() & set(open_catalog().ids(Kind.MODEL))))
def test_an_entry_is_what_its_config_says(id_: str) -> None:
    """Where the catalogue has a model of these, its layers, heads, experts, and ends are those of the config."""
    entry, _ = open_catalog().model(id_)
    model = described(KINDS[id_][0])
    assert entry is not None
    for name in (
        *("architecture", "vocabulary", "hidden", "layers", "pattern", "dense_layers", "heads"),
        *("intermediate", "attention", "window", "state", "moe", "vision", "tied", "wide_layers"),
        *("gated_mlp", "other_parameters", "context", "rope"),
    ):
        assert getattr(model, name) == getattr(entry, name), name


@folded("size", tuple(sizes()), ids=lambda size: size.id)
def test_a_checkpoint_is_as_large_as_its_tensors(size: Size) -> None:
    """The shapes and number formats of the catalogue come to the bytes of the public files, within one percent."""
    assert abs(size.error) < 0.01


@pytest.mark.parametrize(
    ("id_", "gb"),
    [
        ("nvidia/DeepSeek-V4-Pro-NVFP4", 913),
        ("nvidia/DeepSeek-V4-Flash-NVFP4", 168),
        ("nvidia/Qwen3.5-397B-A17B-NVFP4", 234 * 2**30 / 1e9),
        ("lukealonso/Qwen3.5-397B-A17B-NVFP4", 233 * 2**30 / 1e9),
        ("cyankiwi/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit", 18.1),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", 5.70),
    ],
)
def test_a_checkpoint_known_by_its_name_is_as_large_as_published(id_: str, gb: float) -> None:
    """Who made it, and how it is called, gives number formats that come to the size on its page, within one percent."""
    model, _ = open_catalog().model(id_)
    assert model is not None
    assert described_bytes(model) / 1e9 == pytest.approx(gb, rel=0.01)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_checkpoint_in_fp32_is_loaded_in_16_bits(dtype: str) -> None:
    """The engine casts it down by itself, so that weights and cache have two bytes a number."""
    config, _ = KINDS["BAAI/bge-large-en-v1.5"]
    assert described({**config, "torch_dtype": dtype}).dtype_bits == 16


@folded(
    "name, part",
    [
        ("model.language_model.embed_tokens_per_layer.weight", "embeddings for each layer"),
        ("model.language_model.layers.N.per_layer_input_gate.weight", "embeddings for each layer"),
        ("model.language_model.layers.N.laurel.linear_left.weight", "embeddings for each layer"),
        ("model.audio_tower.layers.N.self_attn.q_proj.linear.weight", "tower for sound"),
        ("thinker.audio_tower.layers.N.fc1.weight", "tower for sound"),
        ("thinker.visual.merger_list.N.mlp.N.weight", "vision projector"),
        ("mlp1.N.weight", "vision projector"),
        ("resampler.kv_proj.weight", "vision projector"),
        ("vpm.encoder.layers.N.self_attn.q_proj.weight", "vision attention"),
        ("vision_model.encoder.layers.N.attn.qkv.weight", "vision attention"),
        ("thinker.model.layers.N.self_attn.k_proj.weight", "attention q, k and v"),
        ("llm.model.layers.N.mlp.up_proj.weight", "dense MLP, gate and up"),
        ("model.layers.N.self_attn.gate_proj.weight", "attention q, k and v"),
        ("model.layers.N.mlp.gate.wg.weight", "router"),
        ("model.layers.N.mlp.expert_bias", "router"),
        ("model.layers.N.mlp.shared_mlp.up_proj.weight", "shared expert, gate and up"),
        ("model.layers.N.mlp.shared_mlp.down_proj.weight", "shared expert, down"),
        ("model.layers.N.share_expert.down_proj.weight", "shared expert, down"),
        ("model.layers.N.moe.gate_proj.weight", "routed experts, gate and up"),
        ("model.layers.N.moe.down_proj.weight", "routed experts, down"),
        ("model.layers.N.moe.gate.weight", "router"),
        ("model.layers.N.feed_forward.experts.N.w2.weight", "routed experts, down"),
        ("model.layers.N.mlp.act_fn.alpha_p", "norms"),
        ("model.layers.N.mlp.fc1.weight", "dense MLP, gate and up"),
        ("transformer.h.N.mlp.c_fc_N.weight", "dense MLP, gate and up"),
        ("transformer.h.N.mlp.c_proj.weight", "dense MLP, down"),
        ("transformer.h.N.attn.attention.out_proj.weight", "attention o"),
        (
            "transformer.encoder.layers.N.self_attention.query_key_value.weight",
            "attention q, k and v",
        ),
        ("transformer.encoder.layers.N.self_attention.dense.weight", "attention o"),
        ("transformer.encoder.layers.N.mlp.dense_4h_to_h.weight", "dense MLP, down"),
        ("transformer.output_layer.weight", "head"),
        ("encoder.layer.N.attention.self.query.weight", "attention q, k and v"),
        ("encoder.layer.N.attention.output.dense.weight", "attention o"),
        ("encoder.layer.N.intermediate.dense.weight", "dense MLP, gate and up"),
        ("encoder.layer.N.output.dense.weight", "dense MLP, down"),
        ("embeddings.word_embeddings.weight", "embedding"),
        ("score.weight", "what ranks or pools"),
    ],
)
def test_public_names_have_a_role(name: str, part: str) -> None:
    """Tensors are placed by the names that the files of each kind have."""
    found = place(name)
    assert found is not None
    assert found.part == part


@pytest.mark.parametrize("name", ["talker.model.layers.N.mlp.gate.weight", "code2wav.conv.weight"])
def test_what_speaks_is_left_out(name: str) -> None:
    """The engine loads the thinker of an omni model alone."""
    assert is_draft(name)


def formats(id_: str, quantization: dict[str, Any]) -> dict[Role, Format]:
    """The number formats by role of a known config with another quantization."""
    model = described({**CONFIGS[id_], "quantization_config": quantization})
    assert model.quantization is not None
    return {role: each for each in model.quantization.formats for role in each.roles}


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, 4 + 16 / 128),
        (
            {"quant_method": "gptq", "bits": None, "w_bit": 4, "group_size": 128, "sym": True},
            4 + 16 / 128,
        ),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4 + 32 / 64),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_use_double_quant": True,
            },
            4 + 8 / 64,
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        ({"quant_method": "mxfp8"}, 8 + 8 / 32),
        (
            {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}},
            4 + 8 / 32,
        ),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, 8),
    ],
)
def test_what_others_publish_is_read(quantization: dict[str, Any], bits: float) -> None:
    """Each way to quantize takes its bits and those of its scales, in every role."""
    found = formats(_MOE, quantization)
    assert found.keys() == {Role.ATTENTION, Role.OUTPUT, Role.EXPERTS}
    for each in found.values():
        assert each.bits + each.scale_bits / (each.group_size or 1) == pytest.approx(bits)


@pytest.mark.parametrize(
    "values",
    [{"layer_quant_config": {"*": {}}}, {"global_quant_config": {"weight": {"dtype": "int4"}}}],
)
def test_what_is_not_understood_of_quark_is_said(values: dict[str, Any]) -> None:
    """Formats by layer, and others than fp4 and fp8, are not guessed at."""
    table = {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}, **values}
    found = model_from_config({**CONFIGS[_MOE], "quantization_config": table}, id_="a/b")
    assert isinstance(found, Missing)
    assert found.reasons == (
        "what `quantization_config` says of its method, `quark`, is not understood",
    )


def test_groups_are_told_apart_by_their_targets() -> None:
    """Each role has the format of the first group that is for it; one without a group keeps its own."""
    groups = {
        "group_0": {"targets": ["re:.*mlp.experts.*"], "weights": _INT4},
        "group_1": {"targets": ["re:.*self_attn.q_proj"], "weights": _CHANNEL},
    }
    found = formats(_MOE, {"quant_method": "compressed-tensors", "config_groups": groups})
    assert {role: each.bits for role, each in found.items()} == {Role.EXPERTS: 4, Role.ATTENTION: 8}


@pytest.mark.parametrize("before", ["model.", "model.language_model.", "language_model.model."])
def test_layers_of_one_kind_are_left_out_by_number(before: str) -> None:
    """A list that names every layer with full attention leaves attention out, although these are a quarter of all."""
    names = [f"{before}layers.{layer}.self_attn" for layer in range(3, 60, 4)]
    table = {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": names,
    }
    found = formats(_HYBRID, table)
    assert Role.ATTENTION not in found
    assert {Role.STATE, Role.EXPERTS, Role.SHARED} <= found.keys()
    few = formats(_HYBRID, {**table, "modules_to_not_convert": names[:3]})
    assert Role.ATTENTION in few


def test_layers_of_other_bits_are_left_out() -> None:
    """AutoRound lists what it kept in 16 bits by module; what it gave other bits below 16 counts as quantized."""
    apart = {f"model.layers.{at}.self_attn.q_proj": {"bits": 16} for at in range(48)}
    apart |= {f"model.layers.{at}.self_attn.o_proj": {"bits": 8} for at in range(48)}
    table = {"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}
    found = formats(_MOE, {**table, "extra_config": apart})
    assert found.keys() == {Role.OUTPUT, Role.EXPERTS}


def test_one_numbered_layer_leaves_no_role_out() -> None:
    """A list with one layer, whichever it is, keeps the role in the format of the other layers."""
    names = ["model.layers.5.self_attn.q_proj", "model.layers.5.mlp"]
    found = formats(_MOE, {"quant_method": "fp8", "modules_to_not_convert": names})
    assert found.keys() == {Role.ATTENTION, Role.OUTPUT, Role.EXPERTS}


def test_mixers_of_nemotron_are_told_apart_by_number() -> None:
    """Where all layers are called mixers, a list of those with attention leaves attention out alone."""
    names = [f"backbone.layers.{layer}.mixer*" for layer in (5, 12, 19, 26, 33, 42)]
    table = {"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": names}
    found = formats(_NEMOTRON, table)
    assert found.keys() == {Role.STATE, Role.EXPERTS, Role.SHARED}


def mixed(layers: int) -> dict[str, object]:
    """A list of formats by module as ModelOpt writes it, for so many layers with experts."""
    pattern = str(CONFIGS[_NEMOTRON]["hybrid_override_pattern"])
    listed: dict[str, object] = {}
    for at in [at for at, letter in enumerate(pattern) if letter == "E"][:layers]:
        start = f"backbone.layers.{at}.mixer"
        for name in ("up_proj", "down_proj"):
            listed[f"{start}.experts.0.{name}"] = {"quant_algo": "NVFP4", "group_size": 16}
            listed[f"{start}.shared_experts.{name}"] = {"quant_algo": "FP8"}
    for at in [at for at, letter in enumerate(pattern) if letter == "M"]:
        listed[f"backbone.layers.{at}.mixer.in_proj"] = {"quant_algo": "FP8"}
    return {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        "quantized_layers": listed,
    }


def test_formats_listed_by_module_are_read() -> None:
    """Routed experts in NVFP4 beside shared ones and states in FP8, and attention as it was."""
    found = formats(_NEMOTRON, mixed(layers=23))
    bits = {role: each.bits for role, each in found.items()}
    assert bits == {Role.EXPERTS: 4, Role.SHARED: 8, Role.STATE: 8}
    few = formats(_NEMOTRON, mixed(layers=3))
    assert few.keys() == {Role.STATE}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"quantized_layers": None}, "`quantization_config.quantized_layers` is missing"),
        (
            {
                "quantized_layers": {
                    f"backbone.layers.{at}.mixer.in_proj": {"quant_algo": "W2"} for at in range(52)
                }
            },
            "the quantization `W2` is not understood",
        ),
    ],
)
def test_a_list_by_module_that_says_too_little_is_a_fault(
    values: dict[str, Any], reason: str
) -> None:
    """Without the list, or with a format that nobody described, the model is not described."""
    table = {**mixed(layers=23), **values}
    found = model_from_config({**CONFIGS[_NEMOTRON], "quantization_config": table}, id_="a/b")
    assert isinstance(found, Missing)
    assert found.reasons == (reason,)


def test_what_a_table_leaves_out_is_its_class_default() -> None:
    """Google's own Gemma 3 of 4B has five keys in the table of its text model."""
    entry, _ = open_catalog().model("google/gemma-3-4b-it")
    text = {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    }
    tower = {
        "hidden_size": 1152,
        "image_size": 896,
        "intermediate_size": 4304,
        "model_type": "siglip_vision_model",
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
    }
    name = "Gemma3ForConditionalGeneration"
    model = described({"architectures": [name], "text_config": text, "vision_config": tower})
    assert entry is not None
    for each in ("heads", "attention", "window", "pattern", "hidden", "layers", "vision"):
        assert getattr(model, each) == getattr(entry, each), each


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (
            "mlp_layer_types",
            ["sparse", "dense", *["sparse"] * 38],
            "`mlp_layer_types` has dense layers among those with experts",
        ),
        (
            "num_attention_heads_per_layer",
            [48, 64, 32, *[64] * 37],
            "`num_attention_heads_per_layer` differs among layers of one kind",
        ),
    ],
)
def test_lists_that_no_description_can_hold_are_said(key: str, value: object, reason: str) -> None:
    """Dense layers behind others, and heads that differ within a kind, are faults and no guess."""
    found = model_from_config({**KINDS["poolside/Laguna-XS.2"][0], key: value}, id_="a/b")
    assert isinstance(found, Missing)
    assert found.reasons == (reason,)
