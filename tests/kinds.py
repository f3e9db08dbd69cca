"""What public `config.json` files of further kinds say, and how many parameters their makers publish, 10^9.

A count without a source of its own is on the model's page, https://huggingface.co/ID.
"""

from __future__ import annotations

from typing import Any


def _layers(word: str, other: str, *, every: int, layers: int) -> list[str]:
    return [word if at % every == every - 1 else other for at in range(layers)]


def _flat(
    name: str,
    vocabulary: int,
    hidden: int,
    intermediate: int,
    layers: int,
    heads: int,
    kv: int,
    **more: object,
) -> dict[str, Any]:
    return {
        "architectures": [name],
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "max_position_embeddings": 32768,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "num_key_value_heads": kv,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": vocabulary,
        **more,
    }


_FULL, _WINDOW = "full_attention", "sliding_attention"
_GEMMA_ROPE = {
    _FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
    _WINDOW: {"rope_theta": 10000.0, "rope_type": "default"},
}
_GEMMA4_TEXT = {
    "attention_k_eq_v": False,
    "dtype": "bfloat16",
    "enable_moe_block": False,
    "global_head_dim": 512,
    "head_dim": 256,
    "hidden_size_per_layer_input": 256,
    "max_position_embeddings": 131072,
    "model_type": "gemma4_text",
    "num_attention_heads": 8,
    "num_global_key_value_heads": None,
    "rope_parameters": _GEMMA_ROPE,
    "sliding_window": 512,
    "tie_word_embeddings": True,
    "vocab_size": 262144,
    "vocab_size_per_layer_input": 262144,
}
_GEMMA4_TOWERS = {
    "audio_config": {
        "hidden_size": 1024,
        "model_type": "gemma4_audio",
        "num_attention_heads": 8,
        "num_hidden_layers": 12,
        "output_proj_dims": 1536,
    },
    "vision_config": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "model_type": "gemma4_vision",
        "num_attention_heads": 12,
        "num_hidden_layers": 16,
        "patch_size": 16,
        "position_embedding_size": 10240,
    },
}
_GEMMA3N_TOWERS = {
    "audio_config": {
        "hidden_size": 1536,
        "conf_num_hidden_layers": 12,
        "model_type": "gemma3n_audio",
    },
    "vision_config": {
        "architecture": "mobilenetv5_300m_enc",
        "hidden_size": 2048,
        "model_type": "gemma3n_vision",
    },
}
_INTERN = {
    "hidden_size": 1024,
    "image_size": 448,
    "intermediate_size": 4096,
    "model_type": "intern_vit_6b",
    "num_attention_heads": 16,
    "num_hidden_layers": 24,
    "patch_size": 14,
}


def _gemma3n(layers: int, intermediate: int, shared: int) -> dict[str, Any]:
    return {
        "architectures": ["Gemma3nForConditionalGeneration"],
        "text_config": {
            "altup_num_inputs": 4,
            "head_dim": 256,
            "hidden_size": 2048,
            "hidden_size_per_layer_input": 256,
            "intermediate_size": [intermediate] * layers,
            "laurel_rank": 64,
            "layer_types": _layers(_FULL, _WINDOW, every=5, layers=layers),
            "max_position_embeddings": 32768,
            "model_type": "gemma3n_text",
            "num_attention_heads": 8,
            "num_hidden_layers": layers,
            "num_key_value_heads": 2,
            "num_kv_shared_layers": shared,
            "rope_local_base_freq": 10000.0,
            "sliding_window": 512,
            "torch_dtype": "bfloat16",
            "vocab_size": 262400,
            "vocab_size_per_layer_input": 262144,
        },
        **_GEMMA3N_TOWERS,
    }


def _qwen35(
    hidden: int, intermediate: int, *, heads: int, tower: tuple[int, int, int, int]
) -> dict[str, Any]:
    depth, width, inner, tower_heads = tower
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "text_config": {
            "attn_output_gate": True,
            "dtype": "bfloat16",
            "full_attention_interval": 4,
            "head_dim": 256,
            "hidden_size": hidden,
            "intermediate_size": intermediate,
            "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128,
            "linear_num_key_heads": 16,
            "linear_num_value_heads": 16,
            "linear_value_head_dim": 128,
            "max_position_embeddings": 262144,
            "model_type": "qwen3_5_text",
            "mtp_num_hidden_layers": 1,
            "num_attention_heads": heads,
            "num_hidden_layers": 24,
            "num_key_value_heads": 2,
            "rope_parameters": {"partial_rotary_factor": 0.25, "rope_type": "default"},
            "tie_word_embeddings": True,
            "vocab_size": 248320,
        },
        "tie_word_embeddings": True,
        "vision_config": {
            "depth": depth,
            "hidden_size": width,
            "intermediate_size": inner,
            "model_type": "qwen3_5",
            "num_heads": tower_heads,
        },
    }


# Classes that have the config of another: its text model alone, or the model without a head.
ALIKE = {
    "ExaoneMoEForCausalLM": ("ExaoneMoeForCausalLM",),
    "Gemma2ForCausalLM": ("Gemma2ForSequenceClassification",),
    "Gemma3nForConditionalGeneration": ("Gemma3nForCausalLM",),
    "Gemma4ForConditionalGeneration": ("Gemma4ForCausalLM",),
    "InternLM2ForCausalLM": ("InternLM2ForRewardModel",),
    "LlamaForCausalLM": ("IQuestCoderForCausalLM", "LlamaEmbeddingModel"),
    "MiMoV2FlashForCausalLM": ("MiMoV2ForCausalLM",),
    "Qwen2ForCausalLM": ("Qwen2ForRewardModel", "Qwen2ForSequenceClassification"),
    "Qwen3ForCausalLM": ("Qwen3ForRewardModel", "Qwen3ForSequenceClassification"),
    "Qwen3_5ForConditionalGeneration": ("Qwen3_5ForCausalLM",),
    "Qwen3_5MoeForConditionalGeneration": ("Qwen3_5MoeForCausalLM",),
}

_YARN = {"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "yarn"}
_LLAMA3 = {"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}

KINDS: dict[str, tuple[dict[str, Any], float]] = {
    "google/gemma-4-E2B-it": (
        {
            "architectures": ["Gemma4ForConditionalGeneration"],
            "text_config": {
                **_GEMMA4_TEXT,
                "hidden_size": 1536,
                "intermediate_size": 6144,
                "layer_types": _layers(_FULL, _WINDOW, every=5, layers=35),
                "num_hidden_layers": 35,
                "num_key_value_heads": 1,
                "num_kv_shared_layers": 20,
                "use_double_wide_mlp": True,
            },
            **_GEMMA4_TOWERS,
        },
        5.12,
    ),
    "google/gemma-4-E4B-it": (
        {
            "architectures": ["Gemma4ForConditionalGeneration"],
            "text_config": {
                **_GEMMA4_TEXT,
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "layer_types": _layers(_FULL, _WINDOW, every=6, layers=42),
                "num_hidden_layers": 42,
                "num_key_value_heads": 2,
                "num_kv_shared_layers": 18,
                "use_double_wide_mlp": False,
            },
            **_GEMMA4_TOWERS,
        },
        8.00,
    ),
    "google/gemma-3n-E4B-it": (_gemma3n(35, 16384, 15), 7.85),
    "google/gemma-3n-E2B-it": (_gemma3n(30, 8192, 10), 5.44),
    "google/gemma-7b-it": (
        _flat("GemmaForCausalLM", 256000, 3072, 24576, 28, 16, 16, head_dim=256),
        8.54,
    ),
    "allenai/Olmo-3-32B-Think": (
        _flat(
            "Olmo3ForCausalLM",
            100278,
            5120,
            27648,
            64,
            40,
            8,
            max_position_embeddings=65536,
            rope_scaling=_YARN,
            sliding_window=4096,
            layer_types=_layers(_FULL, _WINDOW, every=4, layers=64),
        ),
        32.23,
    ),
    "allenai/Olmo-3-7B-Instruct": (
        _flat(
            "Olmo3ForCausalLM",
            100278,
            4096,
            11008,
            32,
            32,
            32,
            max_position_embeddings=65536,
            rope_scaling=_YARN,
            sliding_window=4096,
            layer_types=_layers(_FULL, _WINDOW, every=4, layers=32),
        ),
        7.30,
    ),
    "allenai/OLMoE-1B-7B-0924-Instruct": (
        _flat(
            "OlmoeForCausalLM", 50304, 2048, 1024, 16, 16, 16, num_experts=64, num_experts_per_tok=8
        ),
        6.92,
    ),
    "allenai/OLMo-7B-0724-Instruct-hf": (
        _flat("OlmoForCausalLM", 50304, 4096, 11008, 32, 32, 32),
        6.89,
    ),
    "swiss-ai/Apertus-8B-Instruct-2509": (
        _flat(
            "ApertusForCausalLM",
            131072,
            4096,
            21504,
            32,
            32,
            8,
            max_position_embeddings=65536,
            rope_scaling=_LLAMA3,
        ),
        8.05,
    ),
    "swiss-ai/Apertus-70B-Instruct-2509": (
        _flat(
            "ApertusForCausalLM",
            131072,
            8192,
            43008,
            80,
            64,
            8,
            max_position_embeddings=65536,
            rope_scaling=_LLAMA3,
        ),
        70.6,
    ),
    "LGAI-EXAONE/K-EXAONE-236B-A23B": (
        _flat(
            "ExaoneMoEForCausalLM",
            153600,
            6144,
            18432,
            48,
            64,
            8,
            first_last_k_dense_replace=1,
            head_dim=128,
            is_moe_layer=[False] + [True] * 47,
            layer_types=_layers(_FULL, _WINDOW, every=4, layers=48),
            max_position_embeddings=262144,
            moe_intermediate_size=2048,
            num_experts=128,
            num_experts_per_tok=8,
            num_shared_experts=1,
            sliding_window=128,
            sliding_window_pattern="LLLG",
        ),
        236.6,
    ),
    "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct": (
        {
            **_flat("ExaoneForCausalLM", 102400, 4096, 14336, 32, 32, 8, num_layers=32),
            "num_hidden_layers": None,
        },
        7.82,
    ),
    "LiquidAI/LFM2-8B-A1B": (
        _flat(
            "Lfm2MoeForCausalLM",
            65536,
            2048,
            7168,
            24,
            32,
            8,
            conv_L_cache=3,
            max_position_embeddings=128000,
            layer_types=[
                "full_attention" if at in (2, 6, 10, 14, 18, 21) else "conv" for at in range(24)
            ],
            moe_intermediate_size=1792,
            num_dense_layers=2,
            num_experts=32,
            num_experts_per_tok=4,
        ),
        8.34 + 65536 * 2048 / 1e9,
    ),
    "ibm-granite/granite-3.1-3b-a800m-instruct": (
        _flat(
            "GraniteMoeForCausalLM",
            49155,
            1536,
            512,
            32,
            24,
            8,
            num_local_experts=40,
            num_experts_per_tok=8,
            tie_word_embeddings=True,
        ),
        3.30,
    ),
    "microsoft/Phi-3.5-MoE-instruct": (
        _flat(
            "PhiMoEForCausalLM",
            32064,
            4096,
            6400,
            32,
            32,
            8,
            num_local_experts=16,
            num_experts_per_tok=2,
        ),
        41.9,
    ),
    "microsoft/phi-2": (
        _flat("PhiForCausalLM", 51200, 2560, 10240, 32, 32, 32, partial_rotary_factor=0.4),
        2.78,
    ),
    "zai-org/glm-4-9b-chat": (
        {
            "architectures": ["ChatGLMModel"],
            "ffn_hidden_size": 13696,
            "hidden_size": 4096,
            "kv_channels": 128,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "num_attention_heads": 32,
            "num_layers": 40,
            "padded_vocab_size": 151552,
            "seq_length": 131072,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
        },
        9.40,
    ),
    "internlm/internlm3-8b-instruct": (
        _flat("InternLM3ForCausalLM", 128512, 4096, 10240, 48, 32, 2, head_dim=128),
        8.80,
    ),
    "stabilityai/stablelm-2-12b-chat": (
        _flat("StableLmForCausalLM", 100352, 5120, 13824, 40, 32, 8, partial_rotary_factor=0.25),
        12.14,
    ),
    "upstage/solar-pro-preview-instruct": (
        _flat("SolarForCausalLM", 32128, 5120, 17920, 64, 40, 10),
        22.1,
    ),
    "arcee-ai/AFM-4.5B": (
        _flat("ArceeForCausalLM", 128004, 2560, 18432, 36, 20, 4, head_dim=128),
        4.62,
    ),
    "intfloat/e5-mistral-7b-instruct": (_flat("MistralModel", 32000, 4096, 14336, 32, 32, 8), 7.11),
    "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2": (
        _flat("LlamaForSequenceClassification", 128256, 4096, 14336, 32, 32, 8),
        7.50,
    ),
    "tencent/Hy3-preview": (
        _flat(
            "HYV3ForCausalLM",
            120832,
            4096,
            13312,
            80,
            64,
            8,
            first_k_dense_replace=1,
            head_dim=128,
            max_position_embeddings=131072,
            moe_intermediate_size=1536,
            num_experts=192,
            num_experts_per_tok=8,
            num_shared_experts=1,
        ),
        295.0,
    ),
    "tencent/Hunyuan-A13B-Instruct": (
        _flat(
            "HunYuanMoEV1ForCausalLM",
            128167,
            4096,
            3072,
            32,
            32,
            8,
            moe_intermediate_size=[3072] * 32,
            moe_topk=[8] * 32,
            num_experts=64,
            num_shared_expert=[1] * 32,
            tie_word_embeddings=True,
        ),
        80.4,
    ),
    "poolside/Laguna-XS.2": (
        _flat(
            "LagunaForCausalLM",
            100352,
            2048,
            8192,
            40,
            48,
            8,
            gating="per-head",
            head_dim=128,
            layer_types=[_FULL if at % 4 == 0 else _WINDOW for at in range(40)],
            max_position_embeddings=262144,
            mlp_layer_types=["dense"] + ["sparse"] * 39,
            moe_intermediate_size=512,
            num_experts=256,
            num_attention_heads_per_layer=[48 if at % 4 == 0 else 64 for at in range(40)],
            num_experts_per_tok=8,
            shared_expert_intermediate_size=512,
            sliding_window=512,
        ),
        33.4,
    ),
    "arcee-ai/Trinity-Mini": (
        _flat(
            "AfmoeForCausalLM",
            200192,
            2048,
            6144,
            32,
            32,
            4,
            head_dim=128,
            max_position_embeddings=131072,
            layer_types=_layers(_FULL, _WINDOW, every=4, layers=32),
            moe_intermediate_size=1024,
            num_dense_layers=2,
            num_experts=128,
            num_experts_per_tok=8,
            num_shared_experts=1,
            sliding_window=2048,
        ),
        26.1,
    ),
    "OpenGVLab/InternVL3-78B": (
        {
            "architectures": ["InternVLChatModel"],
            "llm_config": _flat("Qwen2ForCausalLM", 151674, 8192, 29568, 80, 64, 8),
            "vision_config": {
                **_INTERN,
                "hidden_size": 3200,
                "intermediate_size": 12800,
                "num_attention_heads": 25,
                "num_hidden_layers": 45,
            },
        },
        78.4,
    ),
    "OpenGVLab/InternVL3-8B": (
        {
            "architectures": ["InternVLChatModel"],
            "llm_config": _flat("Qwen2ForCausalLM", 151674, 3584, 18944, 28, 28, 4),
            "vision_config": _INTERN,
        },
        7.94,
    ),
    "openbmb/MiniCPM-V-4_5": (
        _flat(
            "MiniCPMV",
            151748,
            4096,
            12288,
            36,
            32,
            8,
            head_dim=128,
            max_position_embeddings=40960,
            vision_config={
                "hidden_size": 1152,
                "image_size": 980,
                "intermediate_size": 4304,
                "model_type": "siglip_vision_model",
                "num_attention_heads": 16,
                "num_hidden_layers": 27,
                "patch_size": 14,
            },
        ),
        8.70,
    ),
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": (
        {
            "architectures": ["Qwen3OmniMoeForConditionalGeneration"],
            "dtype": "bfloat16",
            "thinker_config": {
                "audio_config": {
                    "d_model": 1280,
                    "downsample_hidden_size": 480,
                    "encoder_ffn_dim": 5120,
                    "encoder_layers": 32,
                    "num_mel_bins": 128,
                    "output_dim": 2048,
                },
                "text_config": {
                    "decoder_sparse_step": 1,
                    "head_dim": 128,
                    "hidden_size": 2048,
                    "intermediate_size": 768,
                    "max_position_embeddings": 65536,
                    "mlp_only_layers": [],
                    "model_type": "qwen3_omni_moe_text",
                    "moe_intermediate_size": 768,
                    "num_attention_heads": 32,
                    "num_experts": 128,
                    "num_experts_per_tok": 8,
                    "num_hidden_layers": 48,
                    "num_key_value_heads": 4,
                    "rope_parameters": {
                        "mrope_section": [24, 20, 20],
                        "rope_type": "default",
                        "type": "default",
                    },
                    "shared_expert_intermediate_size": 0,
                    "sliding_window": None,
                    "tie_word_embeddings": False,
                    "vocab_size": 152064,
                },
                "vision_config": {
                    "deepstack_visual_indexes": [8, 16, 24],
                    "depth": 27,
                    "hidden_size": 1152,
                    "image_size": 768,
                    "intermediate_size": 4304,
                    "num_heads": 16,
                    "num_position_embeddings": 2304,
                    "out_hidden_size": 2048,
                    "patch_size": 16,
                    "temporal_patch_size": 2,
                },
            },
        },
        # Qwen3-30B-A3B, and the towers for sound and images, as the report on the model counts them
        # (https://arxiv.org/abs/2509.17765, table 1).
        30.53 + 0.65 + 0.54,
    ),
    "stepfun-ai/Step-3.5-Flash": (
        {
            "architectures": ["Step3p5ForCausalLM"],
            "attention_other_setting": {
                "attention_type": "sliding_attention",
                "head_dim": 128,
                "num_attention_groups": 8,
                "num_attention_heads": 96,
            },
            "head_dim": 128,
            "hidden_size": 4096,
            "intermediate_size": 11264,
            "layer_types": [_FULL if at % 4 == 0 else _WINDOW for at in range(48)],
            "max_position_embeddings": 262144,
            "moe_intermediate_size": 1280,
            "moe_layers_enum": ",".join(map(str, range(3, 45))),
            "moe_num_experts": 288,
            "moe_top_k": 8,
            "num_attention_groups": 8,
            "num_attention_heads": 64,
            "num_hidden_layers": 45,
            "num_nextn_predict_layers": 3,
            "share_expert_dim": 1280,
            "sliding_window": 512,
            "torch_dtype": "bfloat16",
            "vocab_size": 128896,
        },
        196.8,
    ),
    # Without the draft, whose tensors are apart in the headers of the files
    # (https://github.com/KinChow/model-structure-viewer, models/Qwen/*/header-truth.json: 873,438,784 and 2,274,069,824 with it).
    "Qwen/Qwen3.5-0.8B": (_qwen35(1024, 3584, heads=8, tower=(12, 768, 3072, 12)), 0.853),
    "Qwen/Qwen3.5-2B": (_qwen35(2048, 6144, heads=8, tower=(24, 1024, 4096, 16)), 2.213),
}
