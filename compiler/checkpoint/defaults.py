"""A table inside a config in; the table with what its class has by itself out.

Files are written without what the class of such a table has anyway, so that a model made from another, or Google's own Gemma
3, has few keys there. Source: transformers 5.24 models/*/configuration_*.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


_SHAPE = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")
_HEADS = ("num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings")


def _text(shape: tuple[int, ...], heads: tuple[int | None, ...], **more: object) -> dict[str, Any]:
    return {
        **dict(zip(_SHAPE, shape, strict=True)),
        **dict(zip(_HEADS, heads, strict=True)),
        **more,
    }


def _experts(routed: int, active: int, intermediate: int, **more: object) -> dict[str, Any]:
    return {
        "num_experts": routed,
        "num_experts_per_tok": active,
        "moe_intermediate_size": intermediate,
        **more,
    }


_DELTA = {
    "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 128,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_value_head_dim": 128,
}
_SMALL_VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "num_position_embeddings": 2304,
    "patch_size": 16,
    "temporal_patch_size": 2,
}
_DEEP_VISION = {**_SMALL_VISION, "deepstack_visual_indexes": [8, 16, 24]}
_OLDER_VISION = {"depth": 32, "num_heads": 16, "patch_size": 14, "temporal_patch_size": 2}
_GLM_VISION = {
    "depth": 24,
    "hidden_size": 1536,
    "image_size": 336,
    "intermediate_size": 13696,
    "num_heads": 12,
    "out_hidden_size": 4096,
    "patch_size": 14,
    "temporal_patch_size": 2,
}
_QWEN2 = _text((152064, 8192, 29568, 80), (64, 8, None, 32768))
_GLM = _text((151552, 4096, 13696, 40), (32, 2, None, 32768))
_GLM_MOE = _text(
    (151424, 4096, 10944, 46),
    (96, 8, None, 65536),
    first_k_dense_replace=1,
    moe_intermediate_size=1408,
    n_routed_experts=128,
    n_shared_experts=1,
    num_experts_per_tok=8,
)

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "gemma3_text": _text(
        (262208, 2304, 9216, 26),
        (8, 4, 256, 131072),
        rope_local_base_freq=10000,
        sliding_window=4096,
        sliding_window_pattern=6,
    ),
    "gemma3n_text": _text(
        (262400, 2048, 16384, 35),
        (8, 2, 256, 32768),
        altup_num_inputs=4,
        hidden_size_per_layer_input=256,
        laurel_rank=64,
        num_kv_shared_layers=15,
        rope_local_base_freq=10000,
        sliding_window=512,
        sliding_window_pattern=5,
        vocab_size_per_layer_input=262144,
    ),
    "gemma4_text": _text(
        (262144, 2304, 9216, 30),
        (8, 4, 256, 131072),
        global_head_dim=512,
        hidden_size_per_layer_input=256,
        sliding_window=512,
        sliding_window_pattern=6,
        vocab_size_per_layer_input=262144,
    ),
    "gemma4": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "num_hidden_layers": 16,
        "patch_size": 16,
        "position_embedding_size": 10240,
    },
    "glm4v_moe_text": _GLM_MOE,
    "glm4v_moe": _GLM_VISION,
    "glm4v_text": _GLM,
    "glm4v": _GLM_VISION,
    "llama4_text": _text(
        (202048, 5120, 8192, 48),
        (40, 8, 128, 131072),
        attention_chunk_size=8192,
        interleave_moe_layer_step=1,
        intermediate_size_mlp=16384,
        num_experts_per_tok=1,
        num_local_experts=16,
    ),
    "llama4_vision_model": {
        "hidden_size": 768,
        "image_size": 448,
        "intermediate_size": 5632,
        "num_attention_heads": 16,
        "num_hidden_layers": 34,
        "patch_size": 14,
        "projector_input_dim": 4096,
        "vision_output_dim": 7680,
    },
    "ministral3": _text((131072, 4096, 14336, 34), (32, 8, 128, 262144)),
    "mistral": _text((32000, 4096, 14336, 32), (32, 8, None, 131072)),
    "pixtral": {
        "hidden_size": 1024,
        "image_size": 1024,
        "intermediate_size": 4096,
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "patch_size": 16,
    },
    "qwen2_5_vl": {**_OLDER_VISION, "hidden_size": 3584, "intermediate_size": 3420},
    "qwen2_5_vl_text": _QWEN2,
    "qwen2_vl": {**_OLDER_VISION, "embed_dim": 1280, "mlp_ratio": 4},
    "qwen2_vl_text": _QWEN2,
    "qwen3_5": _SMALL_VISION,
    "qwen3_5_moe": _SMALL_VISION,
    "qwen3_5_moe_text": {
        **_DELTA,
        **_text((248320, 2048, 512, 40), (16, 2, 256, 32768)),
        **_experts(256, 8, 512, shared_expert_intermediate_size=512),
    },
    "qwen3_5_text": {**_DELTA, **_text((248320, 4096, 12288, 32), (16, 4, 256, 32768))},
    "qwen3_vl": _DEEP_VISION,
    "qwen3_vl_moe": _DEEP_VISION,
    "qwen3_vl_moe_text": {
        **_text((151936, 2048, 5632, 24), (16, 16, None, 128000)),
        **_experts(60, 4, 1408),
    },
    "qwen3_vl_text": _text((151936, 4096, 22016, 32), (32, 32, 128, 128000)),
}


_VISION = "_vision"
"""Older files lack it in the name of a tower."""


def with_defaults(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table of a text model or a tower, with the defaults of its `model_type` for what it leaves out."""
    kind = str(table.get("model_type")).removesuffix(_VISION)
    return {**_DEFAULTS.get(kind, {}), **table}
