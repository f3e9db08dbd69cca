"""The architectures that are described, with what their configs do not say; and what keeps others from it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

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
        own_head: it has a head beside the embedding, whatever its config says.
        beside: a dense MLP stands beside the experts of a layer.
        states_attend: its layers with a state have the names of attention.
        full_every: one layer in so many has full attention where its config has a window and does not say which.
    """

    gated: bool = False
    router_bits: int = 16
    gated_mlp: bool = True
    drafts: bool = True
    scale_bits: int = 32
    tied: bool = False
    own_head: bool = False
    beside: bool = False
    states_attend: bool = False
    full_every: int = 1


FAMILIES: Mapping[str, Family] = {
    # Without a head: models that embed, rank or reward.
    **dict.fromkeys(
        (
            "Gemma2ForSequenceClassification",
            "InternLM2ForRewardModel",
            "LlamaEmbeddingModel",
            "LlamaForSequenceClassification",
            "MistralModel",
            "Qwen2ForRewardModel",
            "Qwen2ForSequenceClassification",
            "Qwen3ForRewardModel",
            "Qwen3ForSequenceClassification",
        ),
        Family(tied=True),
    ),
    # Encoders: the engine keeps keys and values of their tokens in its pool like those of others.
    **dict.fromkeys(
        (
            "BertForSequenceClassification",
            "BertModel",
            "XLMRobertaForSequenceClassification",
            "XLMRobertaModel",
        ),
        Family(tied=True, gated_mlp=False),
    ),
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
    "Qwen3_5ForCausalLM": Family(gated=True),
    "Qwen3_5MoeForCausalLM": Family(gated=True),
    "Qwen4ExpForConditionalGeneration": Family(gated=True),
    "Qwen3OmniMoeForConditionalGeneration": Family(),
    "DeepseekOCRForCausalLM": Family(),
    "DeepseekV2ForCausalLM": Family(),
    "DeepseekV3ForCausalLM": Family(),
    "DeepseekV32ForCausalLM": Family(),
    # Scales are exponents alone (`ue8m0`); the draft of V4.1 has stages of its own (DSpark).
    "DeepseekV4ForCausalLM": Family(scale_bits=8),
    "DeepseekV41ForCausalLM": Family(scale_bits=8, drafts=False),
    "KimiK25ForConditionalGeneration": Family(),
    "KimiVLForConditionalGeneration": Family(),
    "KimiLinearForCausalLM": Family(states_attend=True),
    "KimiK3ForConditionalGeneration": Family(states_attend=True),
    "Glm4ForCausalLM": Family(),
    "Glm4vForConditionalGeneration": Family(),
    "Glm4vMoeForConditionalGeneration": Family(),
    "Glm4MoeForCausalLM": Family(),
    "Glm4MoeLiteForCausalLM": Family(),
    "GlmMoeDsaForCausalLM": Family(),
    "Glm5NextForConditionalGeneration": Family(states_attend=True),
    "Ernie4_5_MoeForCausalLM": Family(),
    "BailingMoeForCausalLM": Family(),
    # Its config has the router in fp32 (`router_dtype`).
    "BailingMoeV2ForCausalLM": Family(router_bits=32),
    "HunYuanDenseV1ForCausalLM": Family(),
    "MiMoForCausalLM": Family(),
    # The router and its bias are in fp32 (models/hunyuan_v3.py, 105-116; models/laguna.py, 118).
    "HYV3ForCausalLM": Family(router_bits=32, drafts=False),
    "LagunaForCausalLM": Family(router_bits=32),
    "HunYuanMoEV1ForCausalLM": Family(),
    # The draft of EXAONE MoE shares its window's heads; which window it has is not written down.
    "ExaoneMoEForCausalLM": Family(drafts=False),
    "ExaoneMoeForCausalLM": Family(drafts=False),
    "AfmoeForCausalLM": Family(gated=True),
    "Step3p5ForCausalLM": Family(drafts=False),
    "GptOssForCausalLM": Family(),
    "MiniMaxM2ForCausalLM": Family(router_bits=32),
    "MiniMaxM3SparseForConditionalGeneration": Family(drafts=False),
    "MiMoV2FlashForCausalLM": Family(router_bits=32),
    "MiMoV2ForCausalLM": Family(router_bits=32),
    "NemotronHForCausalLM": Family(router_bits=32, gated_mlp=False),
    "GemmaForCausalLM": Family(tied=True),
    "Gemma2ForCausalLM": Family(tied=True, full_every=2),
    "Gemma3ForCausalLM": Family(tied=True),
    "Gemma3ForConditionalGeneration": Family(tied=True),
    "Gemma3TextModel": Family(tied=True),
    "Gemma3nForCausalLM": Family(tied=True),
    "Gemma3nForConditionalGeneration": Family(tied=True),
    "Gemma4ForCausalLM": Family(tied=True, beside=True),
    "Gemma4ForConditionalGeneration": Family(tied=True, beside=True),
    "Gemma4UnifiedForConditionalGeneration": Family(tied=True, beside=True),
    "CohereForCausalLM": Family(tied=True),
    "Cohere2ForCausalLM": Family(tied=True),
    "Llama4ForConditionalGeneration": Family(),
    "Grok1ForCausalLM": Family(router_bits=32),
    "GraniteForCausalLM": Family(),
    "GraniteMoeForCausalLM": Family(),
    "GraniteMoeHybridForCausalLM": Family(),
    "Exaone4ForCausalLM": Family(),
    "Phi3ForCausalLM": Family(),
    "InternLM2ForCausalLM": Family(),
    "MiniCPMForCausalLM": Family(),
    "OlmoForCausalLM": Family(),
    "Olmo2ForCausalLM": Family(),
    "Olmo3ForCausalLM": Family(),
    "OlmoeForCausalLM": Family(),
    "PhiForCausalLM": Family(gated_mlp=False),
    "PhiMoEForCausalLM": Family(),
    "ApertusForCausalLM": Family(gated_mlp=False),
    "ArceeForCausalLM": Family(gated_mlp=False),
    # SGLang has no class of these two: it runs them by the one for models of transformers.
    "SeedOssForCausalLM": Family(),
    "SmolLM3ForCausalLM": Family(),
    "SolarForCausalLM": Family(),
    "StableLmForCausalLM": Family(),
    "ExaoneForCausalLM": Family(),
    "InternLM3ForCausalLM": Family(),
    "IQuestCoderForCausalLM": Family(),
    "ChatGLMModel": Family(),
    "BaichuanForCausalLM": Family(),
    "Lfm2ForCausalLM": Family(),
    "Lfm2MoeForCausalLM": Family(own_head=True),
    "InternS1ForConditionalGeneration": Family(),
    "InternVLChatModel": Family(),
    "MiniCPMV": Family(),
}
"""The architectures that are described."""

UNREAD: Mapping[str, str] = {
    "BailingMoeV2_5ForCausalLM": "layers with a state of their own kind beside latent attention",
    "BailingMoeV3ForCausalLM": "layers with a state of their own kind beside latent attention",
    "DeciLMForCausalLM": "its layers, each of which has another shape",
    "GlmOcrForConditionalGeneration": "its vision tower",
    "InklingForConditionalGeneration": "attention by relative positions, and its towers",
    "LLaDA2MoeModelLM": "the blocks of tokens that it fills in at once",
    "LongcatFlashForCausalLM": "two attentions in each layer, and experts that compute nothing",
    "MiniMaxM1ForCausalLM": "a class: no engine that is known has one",
    "NemotronH_Nano_Omni_Reasoning_V3": "its towers for images and sound",
    "NemotronH_Nano_VL_V2": "its vision tower",
    "PixtralForConditionalGeneration": "its vision tower, and which of its weights are in fp8",
    "PaddleOCRVLForConditionalGeneration": "its vision tower",
    "Qwen2_5OmniModel": "a class: no engine that is known has one",
    "SolarOpenForCausalLM": "a class of its own: it runs by the one for models of transformers",
    "Step3p7ForConditionalGeneration": "its vision tower",
    "FalconH1ForCausalLM": "attention and a state side by side in each layer",
    "MistralLarge3ForCausalLM": "its vision tower, and which of its weights are in fp8",
    "MllamaForConditionalGeneration": "its layers that attend to images, whose keys are kept beside the pool",
    "Phi4MMForCausalLM": "its towers, and the adapters that it keeps beside its layers",
    "Step3VLForConditionalGeneration": "attention whose queries share a low rank, and its vision tower",
}
"""What keeps others that people deploy from being described."""
