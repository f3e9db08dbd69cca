"""A `config.json` in; the description of the model out, or what keeps it from being described.

Only architectures whose layers are of the kinds that memory is priced by are described. Another one is named with what is
missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from compiler.architecture import Compressed, Mla, Moe, Nextn, Role
from compiler.checkpoint.beside import other_parameters, tables_of
from compiler.checkpoint.experts import dense_layers_of, moe_of
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
        tied: its head is the embedding, whatever its config says.
        full_every: one layer in so many has full attention where its config has a window and does not say which.
    """

    gated: bool = False
    router_bits: int = 16
    gated_mlp: bool = True
    drafts: bool = True
    scale_bits: int = 32
    tied: bool = False
    full_every: int = 1


FAMILIES: Mapping[str, Family] = {
    "LlamaForCausalLM": Family(),
    "MistralForCausalLM": Family(),
    "Ministral3ForCausalLM": Family(),
    "Mistral3ForConditionalGeneration": Family(),
    "MixtralForCausalLM": Family(),
    "Qwen2ForCausalLM": Family(),
    "Qwen2MoeForCausalLM": Family(),
    "Qwen2VLForConditionalGeneration": Family(),
    "Qwen2_5_VLForConditionalGeneration": Family(),
    "Qwen3ForCausalLM": Family(),
    "Qwen3MoeForCausalLM": Family(),
    "Qwen3VLForConditionalGeneration": Family(),
    "Qwen3VLMoeForConditionalGeneration": Family(),
    "Qwen3NextForCausalLM": Family(gated=True),
    "Qwen3_5ForConditionalGeneration": Family(gated=True),
    "Qwen3_5MoeForConditionalGeneration": Family(gated=True),
    "Qwen4ExpForConditionalGeneration": Family(gated=True),
    "DeepseekV2ForCausalLM": Family(),
    "DeepseekV3ForCausalLM": Family(),
    "DeepseekV32ForCausalLM": Family(),
    # Scales are exponents alone (`ue8m0`); the draft of V4.1 has stages of its own (DSpark).
    "DeepseekV4ForCausalLM": Family(scale_bits=8),
    "DeepseekV41ForCausalLM": Family(scale_bits=8, drafts=False),
    "KimiK25ForConditionalGeneration": Family(),
    "KimiVLForConditionalGeneration": Family(),
    "KimiLinearForCausalLM": Family(),
    "Glm4ForCausalLM": Family(),
    "Glm4vForConditionalGeneration": Family(),
    "Glm4vMoeForConditionalGeneration": Family(),
    "Glm4MoeForCausalLM": Family(),
    "Glm4MoeLiteForCausalLM": Family(),
    "GlmMoeDsaForCausalLM": Family(),
    "Ernie4_5_MoeForCausalLM": Family(),
    "BailingMoeForCausalLM": Family(),
    # Its config has the router in fp32 (`router_dtype`).
    "BailingMoeV2ForCausalLM": Family(router_bits=32),
    "HunYuanDenseV1ForCausalLM": Family(),
    "MiMoForCausalLM": Family(),
    "GptOssForCausalLM": Family(),
    "MiniMaxM2ForCausalLM": Family(router_bits=32),
    "MiniMaxM3SparseForConditionalGeneration": Family(drafts=False),
    "MiMoV2FlashForCausalLM": Family(router_bits=32),
    "NemotronHForCausalLM": Family(router_bits=32, gated_mlp=False),
    "Gemma2ForCausalLM": Family(tied=True, full_every=2),
    "Gemma3ForCausalLM": Family(tied=True),
    "Gemma3ForConditionalGeneration": Family(tied=True),
    "Gemma3TextModel": Family(tied=True),
    "Gemma4ForConditionalGeneration": Family(tied=True),
    "Gemma4UnifiedForConditionalGeneration": Family(tied=True),
    "CohereForCausalLM": Family(tied=True),
    "Cohere2ForCausalLM": Family(tied=True),
    "Llama4ForConditionalGeneration": Family(),
    "Grok1ForCausalLM": Family(router_bits=32),
    "GraniteForCausalLM": Family(),
    "GraniteMoeHybridForCausalLM": Family(),
    "Exaone4ForCausalLM": Family(),
    "Phi3ForCausalLM": Family(),
    "InternLM2ForCausalLM": Family(),
    "MiniCPMForCausalLM": Family(),
    "Olmo2ForCausalLM": Family(),
    "BaichuanForCausalLM": Family(),
    "Lfm2ForCausalLM": Family(),
}
"""The architectures that are described."""

UNREAD: Mapping[str, str] = {
    "BailingMoeV2_5ForCausalLM": "layers with a state of their own kind beside latent attention",
    "BailingMoeV3ForCausalLM": "layers with a state of their own kind beside latent attention",
    "FalconH1ForCausalLM": "attention and a state side by side in each layer",
    "HunYuanMoEV1ForCausalLM": "its experts, which the config lists layer by layer",
    "InternVLChatModel": "its vision tower, and its text model under `llm_config`",
    "Phi4MMForCausalLM": "its towers, and the adapters that it keeps beside its layers",
    "Step3p5ForCausalLM": "the heads of its layers with a window, which the config has under keys of its own",
    "Step3VLForConditionalGeneration": "attention whose queries share a low rank, and its vision tower",
}
"""What keeps others that people deploy from being described."""

_MOST_LAYERS = 10_000
"""Ten times those of any model; a layer more is a broken file, and each would be listed."""

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
        layout = UNREAD.get(name, "how its layers are laid out in memory")
        reason = layout if name else "`architectures` is missing"
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
    pattern = pattern_of(keys, layers=layers, full_every=family.full_every)
    moe = moe_of(keys, gated=family.gated_mlp, router_bits=family.router_bits)
    context = context_of(keys)
    model = Model(
        id=id_,
        architecture=architecture,
        context=context,
        vocabulary=keys.need("vocab_size"),
        hidden=hidden,
        layers=layers,
        pattern=pattern,
        dense_layers=dense_layers_of(keys, layers=layers, moe=moe),
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
        tied=family.tied or keys.flag("tie_word_embeddings"),
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
        keys.faults.append(f"`num_hidden_layers` is more than {_MOST_LAYERS:,}")
        return 1
    return layers


def _dtype(keys: Keys) -> object:
    for table in (keys.values, keys.outer):
        found = table.get("dtype") or table.get("torch_dtype")
        if found is not None:
            return found
    return None


def _intermediate(keys: Keys, moe: Moe | None) -> int:
    found = keys.number("intermediate_size_mlp", "dense_intermediate_size", "intermediate_size")
    if found is not None:
        return found
    return moe.intermediate if moe is not None else keys.need("intermediate_size")


def _nextn(keys: Keys, moe: Moe | None) -> Nextn | None:
    layers = keys.count("num_nextn_predict_layers", "mtp_num_hidden_layers")
    return Nextn(layers=layers, experts=moe is not None) if layers else None
