"""From a `config.json` to a description: what it gives is what the catalogue has, and what is missing is said."""

from __future__ import annotations

from copy import deepcopy

import pytest
from attrs import evolve, fields

from compiler.architecture import Format, Gqa, LayerKind, Role, Rope
from compiler.catalog import Kind, open_catalog
from compiler.checkpoint import FAMILIES, Missing, model_from_config, model_toml
from compiler.checkpoint.families import UNREAD
from compiler.checkpoint.mixers import shortest
from compiler.facts import Model
from compiler.language.syntax import parse_toml
from compiler.language.typed import structure_value
from compiler.source import Source
from configs import CONFIGS
from kinds import ALIKE, KINDS
from rows import folded


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LAYERS_OF_EXPERTS = (
    "moe_layer_end_index",
    "mlp_only_layers",
    "moe_layer_freq",
    "num_experts_per_tok",
)


def changed(**values: object) -> dict[str, object]:
    """A config with other values; `None` removes one."""
    return {**deepcopy(CONFIGS[LLAMA]), **values}


def described(config: dict[str, object]) -> Model:
    """The model of a config that can be described."""
    model = model_from_config(config, id_="a/b")
    assert isinstance(model, Model), model
    return model


def missing(config: dict[str, object]) -> tuple[str, ...]:
    """Why a model cannot be described."""
    found = model_from_config(config, id_="a/b")
    assert isinstance(found, Missing)
    return found.reasons


def shipped(id_: str) -> Model:
    """The catalogue's entry."""
    model, faults = open_catalog().model(id_)
    assert faults == ()
    assert model is not None
    return model


@folded("id_", CONFIGS)
def test_a_config_gives_what_the_catalogue_has(id_: str) -> None:
    """Each family's config and the entry that was written for it agree in every figure."""
    entry = shipped(id_)
    model = evolve(described(CONFIGS[id_]), id=id_)
    for each in fields(Model):
        if each.name not in ("sources", "shipped", "checkpoint_gb", "custom_code", "nextn"):
            assert getattr(model, each.name) == getattr(entry, each.name), each.name


@folded("id_", CONFIGS)
def test_a_description_survives_its_file(id_: str) -> None:
    """What is written to a catalogue file is read back the same."""
    model = evolve(described(CONFIGS[id_]), checkpoint_gb=12.5, shipped=False)
    values, faults = parse_toml(Source("x.toml", model_toml(model, heading=["One.", "Two."])))
    assert faults == ()
    assert values is not None
    again, wrong = structure_value(values, Model, given={"shipped": False})
    assert wrong == ()
    assert again == model


def test_an_unknown_architecture_is_named() -> None:
    """What nobody described is said by name, never guessed at."""
    found = model_from_config(changed(architectures=["Qwen4ExpForCausalLM"]), id_="a/b")
    assert found == Missing(
        architecture="Qwen4ExpForCausalLM", reasons=("how its layers are laid out in memory",)
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FalconH1ForCausalLM", "attention and a state side by side in each layer"),
        ("DeciLMForCausalLM", "its layers, each of which has another shape"),
    ],
)
def test_what_is_missing_of_a_popular_architecture_is_said(name: str, reason: str) -> None:
    """Where it is known what nobody has written down yet, that is told, not only the name."""
    found = model_from_config(changed(architectures=[name]), id_="a/b")
    assert found == Missing(architecture=name, reasons=(reason,))


@pytest.mark.parametrize("value", [None, "absent"])
@pytest.mark.parametrize(
    "id_", ["Qwen/Qwen2.5-VL-3B-Instruct", "google/gemma-4-26B-A4B-it", "zai-org/GLM-4.5V-FP8"]
)
def test_a_tower_that_the_config_leaves_to_the_engine(id_: str, value: str | None) -> None:
    """A model that has a tower is not described as one without; what is missing is said."""
    config = {**deepcopy(CONFIGS[id_]), "vision_config": None}
    if value is not None:
        del config["vision_config"]
    assert "`vision_config` is missing" in missing(config)[0]


def test_no_tower_where_the_architecture_has_none() -> None:
    """A table that is null is nothing to a model of text alone."""
    assert described(changed(vision_config=None)).vision is None


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_a_scaling_without_a_kind_is_not_guessed_at(key: str) -> None:
    """A factor alone says nothing that all releases take alike; with a kind, in the old word or the new, it is read."""
    bare = {"factor": 4.0}
    (reason,) = missing(changed(**{"rope_scaling": None, key: bare}))
    assert "no `rope_type`" in reason
    for kind in ("type", "rope_type"):
        known = described(changed(**{"rope_scaling": None, key: {**bare, kind: "linear"}}))
        assert known.context == 4 * 131_072
    assert described(changed(rope_scaling={"rope_theta": 1e6})).context == 131_072


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (None, "is missing"),
        ([], "is no list of words"),
        ([3], "is no list of words"),
        ("LlamaForCausalLM", "is no list of words"),
    ],
)
def test_a_config_without_an_architecture_is_named(names: object, why: str) -> None:
    """The key that is missing, or of another type, is told."""
    assert missing(changed(architectures=names)) == (f"`architectures` {why}",)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("hidden_size", None, "`hidden_size` is missing"),
        ("num_hidden_layers", "32", "`num_hidden_layers` is no whole number above zero"),
        ("num_hidden_layers", 10_001, "`num_hidden_layers` is more than 10,000"),
        ("vocab_size", -1, "`vocab_size` is no whole number above zero"),
        (
            "vocab_size",
            10**18,
            "`vocab_size` is more than 10,000,000,000,000, and no figure of a model is",
        ),
        ("hidden_size", [4096], "`hidden_size` is no whole number above zero"),
        ("hidden_size", [4096] * 31, "`hidden_size` is no whole number above zero"),
        ("text_config", [1], "`text_config` is no table"),
        ("vision_config", "a tower", "`vision_config` is no table"),
        ("moe_layer_freq", 2, "`moe_layer_freq` has dense layers among those with experts"),
        ("moe_layer_freq", "2", "`moe_layer_freq` is no whole number above zero"),
        ("moe_layer_freq", [0, 1], "`moe_layer_freq` has 2 entries for 32 layers"),
        (
            "moe_layer_freq",
            [1, 0] * 16,
            "`moe_layer_freq` has dense layers among those with experts",
        ),
        ("num_experts_per_tok", 9, "each token goes to 9 experts, and there are 8"),
        ("qk_nope_head_dim", 128, "`kv_lora_rank` is missing, and `qk_nope_head_dim` is there"),
        ("quantization_config", {}, "`quantization_config.quant_method` is missing"),
        ("vocab_size", True, "`vocab_size` is no whole number above zero"),
        ("layer_types", "full", "`layer_types` is no list of words"),
        ("layer_types", ["odd"] * 32, "layers of the kind `odd` are not understood"),
        (
            "layer_types",
            ["full_attention"] * 3,
            "the list of layer kinds has 3 entries for 32 layers",
        ),
        ("rope_scaling", [], "`rope_scaling` is no table"),
        ("compress_ratios", [4, -1], "`compress_ratios` is no list of whole numbers"),
        ("compress_ratios", [4], "`compress_ratios` has 1 entries for 32 layers"),
        (
            "sparse_attention_config",
            {"sparse_attention_freq": [1, 0]},
            "`sparse_attention_freq` has full layers among sparse ones",
        ),
        ("indexer_n_heads", 4, "`indexer_head_dim` is missing"),
        (
            "moe_layer_end_index",
            7,
            "`moe_layer_end_index` leaves dense layers behind those with experts",
        ),
        ("mlp_only_layers", [3], "`mlp_only_layers` has dense layers among those with experts"),
        (
            "ngram_vocab_size_base",
            10**12,
            "`ngram_vocab_size_base`, or the number of heads, is too large",
        ),
        ("partial_rotary_factor", 2.0, "`partial_rotary_factor` is no share"),
        (
            "quantization_config",
            {"quant_method": "quark"},
            "what `quantization_config` says of its method, `quark`, is not understood",
        ),
        *(
            (
                "quantization_config",
                {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}},
                "what `quantization_config` says of its method, `compressed-tensors`, is not understood",
            )
            for group in (
                None,
                -1,
                {"weights": [8]},
                {"weights": {"num_bits": 8, "strategy": "block", "block_structure": ["a", 2]}},
            )
        ),
        (
            "linear_attn_config",
            {"full_attn_layers": [[4]]},
            "`full_attn_layers` is no list of whole numbers",
        ),
    ],
)
def test_what_is_missing_or_wrong_names_its_key(key: str, value: object, reason: str) -> None:
    """Each fault is told in words that name the key, and nothing is assumed in its place."""
    experts = {"num_experts": 8, "num_experts_per_tok": 2} if key in LAYERS_OF_EXPERTS else {}
    assert reason in missing(changed(**{**experts, key: value}))


@pytest.mark.parametrize(
    ("method", "numbers", "reason"),
    [
        *(
            ("awq", {"bits": bits}, f"bits` is {bits:,}, and weights of `awq` have 4 or 8 bits")
            for bits in (-1, 0, 1, 3, 10**9)
        ),
        ("gptq", {"bits": 1}, "bits` is 1, and weights of `gptq` have 2, 3, 4, or 8 bits"),
        (
            "auto-round",
            {"bits": 16},
            "bits` is 16, and weights of `auto-round` have 2, 3, 4, or 8 bits",
        ),
        ("awq", {"group_size": 0}, "group_size` is 0, and a group has 1 to "),
        ("gptq", {"group_size": -128}, "group_size` is -128, and a group has 1 to "),
        ("gptq", {"group_size": 10**9}, "group_size` is 1,000,000,000, and a group has 1 to "),
        (
            "compressed-tensors",
            {"num_bits": 5},
            "config_groups.a.weights.num_bits` is 5, and weights of ",
        ),
        (
            "compressed-tensors",
            {"group_size": 0},
            "config_groups.a.weights.group_size` is 0, and a group ",
        ),
    ],
)
def test_packed_weights_that_no_format_has_are_refused(
    method: str, numbers: dict[str, int], reason: str
) -> None:
    """Bits that the engine's own class refuses, and groups of no values, are named with their key."""
    table: dict[str, object] = {"bits": 4, "num_bits": 4, "group_size": 32, "strategy": "group"}
    table |= numbers
    if method == "compressed-tensors":
        table = {"config_groups": {"a": {"weights": table}}}
    (found,) = missing(changed(quantization_config={"quant_method": method, **table}))
    assert found.startswith(f"`quantization_config.{reason}")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"quant_method": "awq", "bits": 4}, "`quantization_config.group_size` is missing"),
        (
            {"quant_method": "gptq", "bits": "4", "group_size": 128},
            "`quantization_config.bits` is no whole number",
        ),
    ],
)
def test_what_packed_weights_must_say_is_named(table: dict[str, object], reason: str) -> None:
    """A method that is known is not called unknown: the key that it lacks is told."""
    assert missing(changed(quantization_config=table)) == (reason,)


@pytest.mark.parametrize(
    "table",
    [
        {"quant_method": "AWQ", "bits": 4, "group_size": 128},
        {"quant_method": "awq", "w_bit": 4, "q_group_size": 128},
    ],
)
def test_a_method_is_read_as_the_engine_reads_it(table: dict[str, object]) -> None:
    """Capital letters and AWQ's older names say the same."""
    said = changed(quantization_config={"quant_method": "awq", "bits": 4, "group_size": 128})
    found = described(changed(quantization_config=table))
    assert found.quantization == described(said).quantization


def test_a_cut_model_has_no_more_dense_layers_than_layers() -> None:
    """The first layers of a large model, saved alone to try something, keep its figure for dense ones."""
    config = CONFIGS["deepseek-ai/DeepSeek-V3"]
    assert described({**config, "num_hidden_layers": 2}).dense_layers == 2


def test_plain_attention_may_say_that_it_has_no_parts() -> None:
    """DeepSeek-OCR has the keys of MLA, with nothing in them."""
    assert described(changed(qk_nope_head_dim=0, qk_rope_head_dim=0)) == described(changed())


def test_one_fault_is_told_once() -> None:
    """A key of the wrong type is not held against another as if it were 1."""
    assert missing(changed(num_attention_heads="32")) == (
        "`num_attention_heads` is no whole number above zero",
    )


@pytest.mark.parametrize("group", [-1, 32, 128])
@pytest.mark.parametrize(("method", "bits"), [("awq", 4), ("awq", 8), ("gptq", 2), ("gptq", 3)])
def test_packed_weights_that_a_format_has_are_read(method: str, bits: int, group: int) -> None:
    """A group of -1 is a whole row."""
    table = {"quant_method": method, "bits": bits, "group_size": group}
    model = model_from_config(changed(quantization_config=table), id_="a/b")
    assert isinstance(model, Model)
    assert model.quantization is not None
    assert {each.bits for each in model.quantization.formats} == {bits}


def test_all_that_is_missing_is_told_at_once() -> None:
    """One run is enough to complete a config."""
    config = changed(hidden_size=None, vocab_size=None, intermediate_size=None)
    assert len(missing(config)) == 3


def test_a_tower_nobody_described_is_not_priced() -> None:
    """A text family with images is another model."""
    reasons = missing(changed(vision_config={"hidden_size": 1}))
    assert reasons == ("the vision tower of `LlamaForCausalLM` is not understood",)


@pytest.mark.parametrize(
    ("scaling", "context"),
    [
        (None, 131_072),
        ({"rope_type": "llama3", "factor": 8.0}, 131_072),
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}, 131_072),
        ({"type": "linear", "factor": 2.0}, 262_144),
        ({"type": "yarn", "factor": 4}, 524_288),
    ],
)
def test_scaling_lengthens_the_context_as_the_engine_does(scaling: object, context: int) -> None:
    """A factor counts unless the config already has the long value (YaRN) or the scaling is Llama 3's."""
    assert described(changed(rope_scaling=scaling)).context == context


def test_a_checkpoint_says_its_kv_format() -> None:
    """An fp8 KV cache that the checkpoint asks for is kept with its quantization."""
    config = changed(
        quantization_config={
            "quant_method": "modelopt",
            "quant_algo": "NVFP4",
            "kv_cache_quant_algo": "FP8",
            "exclude_modules": ["lm_head", "model.layers.*.self_attn*"],
        }
    )
    quantization = described(config).quantization
    assert quantization is not None
    assert quantization.kv_cache == "fp8_e4m3"
    assert quantization.formats == (
        Format(roles=(Role.DENSE,), bits=4, group_size=16, scale_bits=8),
    )


def test_exceptions_of_a_few_layers_do_not_unquantize_a_role() -> None:
    """A role is left out when most of its layers are."""
    few = {
        **_fp8(),
        "modules_to_not_convert": [f"model.layers.{n}.self_attn.q_proj" for n in (0, 1)],
    }
    most = {
        **_fp8(),
        "modules_to_not_convert": [f"model.layers.{n}.self_attn.q_proj" for n in range(30)],
    }
    for config, kept in ((few, True), (most, False)):
        quantization = described(changed(quantization_config=config)).quantization
        assert quantization is not None
        assert (Role.ATTENTION in quantization.formats[0].roles) == kept


def _fp8() -> dict[str, object]:
    return {"quant_method": "fp8", "weight_block_size": [128, 128]}


def test_heads_default_as_configs_of_the_family_mean_them() -> None:
    """Without KV heads there are as many as query heads; without a head size the hidden size is shared out."""
    model = described(changed(num_key_value_heads=None, head_dim=None))
    assert model.attention == Gqa(kv_heads=32, head_dim=128, v_head_dim=128)


def test_a_pattern_is_as_short_as_it_repeats() -> None:
    """A run that gives the same layers when repeated stands for all of them, also when the last is cut off."""
    full, window = LayerKind.FULL, LayerKind.WINDOW
    assert shortest((full,) * 5) == (full,)
    assert shortest((window, window, full) * 3) == (window, window, full)
    assert shortest((window, full, window, full, window)) == (window, full)
    assert shortest((full, window, window)) == (full, window, window)


@pytest.mark.parametrize(
    ("keys", "pattern"),
    [
        ({"sliding_window": 4096, "sliding_window_pattern": "LLLG"}, ("window",) * 3 + ("full",)),
        ({"sliding_window": 4096, "sliding_window_pattern": 4}, ("window",) * 3 + ("full",)),
        ({"sliding_window": None, "sliding_window_pattern": "LLLG"}, ("full",)),
        ({"sliding_window": 4096}, ("full",)),
        ({"sliding_window": 4096, "architectures": ["Gemma2ForCausalLM"]}, ("window", "full")),
    ],
)
def test_windows_are_read_as_their_family_writes_them(
    keys: dict[str, object], pattern: tuple[str, ...]
) -> None:
    """An interval, letters, or nothing at all say which layers look through a window; without one none does."""
    assert described(changed(**keys)).pattern == tuple(LayerKind(each) for each in pattern)


def test_rotary_tables_are_described_where_they_are_not_the_plain_one() -> None:
    """A part of a head, or a scaling, is told; a table as wide as a head is not."""
    assert described(changed(rope_scaling=None)).rope is None
    assert described(changed(rope_scaling=None, partial_rotary_factor=0.5)).rope == Rope(dims=(64,))


@pytest.mark.parametrize(
    ("scaling", "reaches"),
    [
        ({"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 32_768}, 262_144),
        ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}, None),
        ({"type": "yarn", "factor": 8.0}, None),
        ({"type": "yarn", "factor": 1e300, "original_max_position_embeddings": 32_768}, None),
        ({"type": "yarn", "factor": "8", "original_max_position_embeddings": 32_768}, None),
        ({"type": "linear", "factor": 8.0, "original_max_position_embeddings": 32_768}, None),
    ],
)
def test_a_scaling_says_how_far_it_reaches(scaling: object, reaches: int | None) -> None:
    """Where YaRN stretches positions beyond what the config declares, the length it reaches is kept."""
    rope = described(changed(rope_scaling=scaling, max_position_embeddings=131_072)).rope
    assert (rope.reaches if rope else None) == reaches


def test_every_family_has_an_entry_or_a_config() -> None:
    """The architectures whose configs are read are those that models of are known, but for entries by hand."""
    catalogue = open_catalog()
    entries = (catalogue.model(id_)[0] for id_ in catalogue.ids(Kind.MODEL))
    found = {each.architecture for each in entries if each is not None}
    assert found <= FAMILIES.keys() | UNREAD.keys()
    configs = {config["architectures"][0] for config, _ in KINDS.values()}
    alike = {shape for shapes in ALIKE.values() for shape in shapes}
    assert set(FAMILIES) <= found | configs | alike
    assert ALIKE.keys() <= found | configs
