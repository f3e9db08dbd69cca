"""A `config.json` in; the description of the model out, or what keeps it from being described.

Only architectures whose tensors were read in SGLang 0.5.11 are described. Another one is named with what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from compiler.architecture import Compressed, Mla, Moe, Nextn, Role
from compiler.checkpoint.beside import other_parameters, tables_of
from compiler.checkpoint.keys import Keys, open_keys
from compiler.checkpoint.mixers import attention_of, pattern_of, state_of, window_of
from compiler.checkpoint.positions import context_of, rope_of
from compiler.checkpoint.quantized import quantization_of
from compiler.checkpoint.towers import vision_of
from compiler.facts import Model
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Family(Value):
    """What the config of an architecture does not say.

    Attributes:
        gated: its attention has an output gate.
        router_bits: bits of the router's weights as the engine keeps them.
        gated_mlp: its MLPs and experts have three matrices.
        drafts: its own extra layers, where it has some, are those of a plain draft; others are not described.
        scale_bits: of the scale of a block in fp8, as the checkpoint stores it.
    """

    gated: bool = False
    router_bits: int = 16
    gated_mlp: bool = True
    drafts: bool = True
    scale_bits: int = 32


FAMILIES: Mapping[str, Family] = {
    "LlamaForCausalLM": Family(),
    "MistralForCausalLM": Family(),
    "Ministral3ForCausalLM": Family(),
    "Mistral3ForConditionalGeneration": Family(),
    "MixtralForCausalLM": Family(),
    "Qwen2ForCausalLM": Family(),
    "Qwen3ForCausalLM": Family(),
    "Qwen3MoeForCausalLM": Family(),
    "Qwen3VLForConditionalGeneration": Family(),
    "Qwen3VLMoeForConditionalGeneration": Family(),
    "Qwen3NextForCausalLM": Family(gated=True),
    "Qwen3_5ForConditionalGeneration": Family(gated=True),
    "Qwen3_5MoeForConditionalGeneration": Family(gated=True),
    "Qwen4ExpForConditionalGeneration": Family(gated=True),
    "DeepseekV3ForCausalLM": Family(),
    "DeepseekV32ForCausalLM": Family(),
    # Scales are exponents alone (`ue8m0`); the draft of V4.1 has stages of its own (DSpark).
    "DeepseekV4ForCausalLM": Family(scale_bits=8),
    "DeepseekV41ForCausalLM": Family(scale_bits=8, drafts=False),
    "KimiK25ForConditionalGeneration": Family(),
    "KimiVLForConditionalGeneration": Family(),
    "KimiLinearForCausalLM": Family(),
    "Glm4MoeForCausalLM": Family(),
    "Glm4MoeLiteForCausalLM": Family(),
    "GlmMoeDsaForCausalLM": Family(),
    "GptOssForCausalLM": Family(),
    "MiniMaxM2ForCausalLM": Family(router_bits=32),
    "MiniMaxM3SparseForConditionalGeneration": Family(drafts=False),
    "MiMoV2FlashForCausalLM": Family(router_bits=32),
    "NemotronHForCausalLM": Family(router_bits=32, gated_mlp=False),
    "Gemma3ForCausalLM": Family(),
    "Gemma3ForConditionalGeneration": Family(),
    "Gemma3TextModel": Family(),
    "Gemma4ForConditionalGeneration": Family(),
    "Gemma4UnifiedForConditionalGeneration": Family(),
    "Llama4ForConditionalGeneration": Family(),
    "Grok1ForCausalLM": Family(router_bits=32),
    "GraniteMoeHybridForCausalLM": Family(),
    "Lfm2ForCausalLM": Family(),
}
"""The architectures that are described."""

_MOST_LAYERS = 10_000
"""No model has as many; a file that says more is broken."""
_DTYPE_BITS = {"float32": 32, "bfloat16": 16, "float16": 16}


@frozen(kw_only=True, eq=False, repr=False)
class Missing(Value):
    """Why a model cannot be described.

    Attributes:
        architecture: its name in the config, or nothing when the config does not say.
        reasons: what is missing, each in words that name the key.
    """

    architecture: str
    reasons: tuple[str, ...]

    @property
    def is_described(self) -> bool:
        """Whether it is a figure that is missing, not the whole architecture."""
        return self.architecture in FAMILIES or not self.architecture


def model_from_config(
    config: Mapping[str, Any],
    *,
    id_: str,
    checkpoint_gb: float | None = None,
    source: str = "from the shapes: its config.json",
) -> Model | Missing:
    """Describe the model of a config, or say what is missing.

    `source` is what its figures are from; `checkpoint_gb` the size of its weight files, 10^9 bytes.
    """
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if name not in FAMILIES:
        reason = "how its layers are laid out in memory" if name else "`architectures` is missing"
        return Missing(architecture=name, reasons=(reason,))
    keys = open_keys(config)
    model = _model(keys, name, id_, checkpoint_gb, source)
    if keys.faults:
        return Missing(architecture=name, reasons=tuple(dict.fromkeys(keys.faults)))
    return model


def _model(
    keys: Keys, architecture: str, id_: str, checkpoint_gb: float | None, source: str
) -> Model:
    family = FAMILIES[architecture]
    layers, hidden = _layers(keys), keys.need("hidden_size")
    attention = attention_of(keys, gated=family.gated)
    pattern = pattern_of(keys, layers=layers)
    moe = _moe(keys, family)
    context = context_of(keys)
    model = Model(
        id=id_,
        architecture=architecture,
        context=context,
        vocabulary=keys.need("vocab_size"),
        hidden=hidden,
        layers=layers,
        pattern=pattern,
        dense_layers=_dense_layers(keys, layers, moe),
        intermediate=_intermediate(keys, moe),
        heads=keys.need("num_attention_heads"),
        attention=attention,
        window=window_of(keys, pattern, attention),
        state=state_of(keys, pattern),
        moe=moe,
        tables=tables_of(keys),
        vision=vision_of(keys, architecture, hidden=hidden),
        nextn=_nextn(keys, moe) if family.drafts else None,
        rope=rope_of(keys, attention, pattern, context=context),
        gated_mlp=family.gated_mlp,
        tied=keys.flag("tie_word_embeddings") or architecture.startswith("Gemma"),
        other_parameters=other_parameters(keys, architecture, pattern=pattern, layers=layers),
        dtype_bits=_DTYPE_BITS.get(str(_dtype(keys)), 16),
        checkpoint_gb=checkpoint_gb,
        sources={"*": source},
    )
    stored = quantization_of(keys, layers=layers, roles=_roles(model), scale_bits=family.scale_bits)
    return evolve(model, quantization=stored)


def _roles(model: Model) -> frozenset[Role]:
    """The roles that the model has and that quantization may touch."""
    moe, attention = model.moe, model.attention
    has = {
        Role.ATTENTION: True,
        Role.OUTPUT: True,
        Role.INDEXER: isinstance(attention, Mla | Compressed) and attention.indexer is not None,
        Role.STATE: model.state is not None,
        Role.DENSE: model.dense_layers > 0,
        Role.EXPERTS: moe is not None,
        Role.SHARED: moe is not None and moe.shared_experts > 0,
        Role.NEXTN: model.nextn is not None,
    }
    return frozenset(role for role, present in has.items() if present)


def _layers(keys: Keys) -> int:
    pattern = keys.values.get("hybrid_override_pattern")
    if not keys.has("num_hidden_layers") and isinstance(pattern, str) and pattern:
        return len(pattern)
    layers = keys.need("num_hidden_layers")
    if layers > _MOST_LAYERS:
        keys.faults.append(f"`num_hidden_layers` is no number of layers: {layers:,}")
        return 1
    return layers


def _dtype(keys: Keys) -> object:
    for table in (keys.values, keys.outer):
        found = table.get("dtype") or table.get("torch_dtype")
        if found is not None:
            return found
    return None


def _moe(keys: Keys, family: Family) -> Moe | None:
    experts = keys.count("n_routed_experts", "num_experts", "num_local_experts")
    if not experts:
        return None
    intermediate = keys.need("moe_intermediate_size", "intermediate_size")
    shared, width = _beside(keys, intermediate)
    return Moe(
        routed_experts=experts,
        active_experts=keys.need("num_experts_per_tok", "num_experts_per_token", "top_k_experts"),
        shared_experts=shared,
        intermediate=intermediate,
        shared_intermediate=width,
        gated=family.gated_mlp,
        latent=keys.number("moe_latent_size"),
        every=keys.number("interleave_moe_layer_step") or 1,
        router_bits=family.router_bits,
    )


def _beside(keys: Keys, intermediate: int) -> tuple[int, int | None]:
    """What stands beside the routed experts: how many shared experts, and their width when it is not the usual one.

    A dense MLP beside the experts (Grok 2, Gemma 4) is one shared expert of its width.
    """
    shared = keys.count("n_shared_experts", "num_shared_experts")
    width = keys.number(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    )
    if width is None and (keys.flag("residual_moe") or keys.flag("enable_moe_block")):
        width = keys.need("intermediate_size")
    if width is None and keys.has("intermediate_size_mlp"):
        width = intermediate  # Llama 4 has one, of the same width
    if width is None:
        return shared, None
    return shared or 1, None if width == (shared or 1) * intermediate else width


def _dense_layers(keys: Keys, layers: int, moe: Moe | None) -> int:
    if moe is None:
        return layers
    if moe.every > 1:
        return layers - layers // moe.every
    flags = keys.values.get("moe_layer_freq")
    if isinstance(flags, list):
        return len(flags) - sum(1 for each in flags if each)
    return keys.count("first_k_dense_replace")


def _intermediate(keys: Keys, moe: Moe | None) -> int:
    found = keys.number("intermediate_size_mlp", "dense_intermediate_size", "intermediate_size")
    if found is not None:
        return found
    return moe.intermediate if moe is not None else keys.need("intermediate_size")


def _nextn(keys: Keys, moe: Moe | None) -> Nextn | None:
    layers = keys.count("num_nextn_predict_layers", "mtp_num_hidden_layers")
    return Nextn(layers=layers, experts=moe is not None) if layers else None
