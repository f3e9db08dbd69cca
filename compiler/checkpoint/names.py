"""The name of a tensor in; the engine's own tensor that it becomes a part of, and how that is split, out.

Names are those of the public checkpoints of the families that `config` describes; how each role is split is told in
`memory.tensors`. Numbers in a name stand as `N`.
"""

from __future__ import annotations

import re
from enum import Enum

from attrs import frozen

from compiler.value import Value


class Share(Enum):
    """How a role is split."""

    EXPERTS = "dealt out, and over the ranks of a group"
    DENSE = "over all ranks, unless dense MLPs stand whole"
    SHARED = "over all ranks, unless shared experts stand whole"
    ATTENTION = "over the ranks of an attention layer"
    KV = "by KV heads"
    HEAD = "over all ranks, or like the attention"
    EMBEDDING = "like the attention, or whole"
    TABLES = "over all ranks, unless the host keeps them"
    VISION_ATTENTION = "vision attention"
    VISION_MLP = "vision MLP"
    VISION_PROJECTOR = "vision projector"
    VISION_OTHER = "vision, the rest"
    WHOLE = "whole"


@frozen(eq=False, repr=False)
class Place(Value):
    """Where a tensor goes: the engine's own tensor that it becomes a part of, and how that is split."""

    part: str
    share: Share


_PROJECTOR = r"(?:^|\.)(?:mm_projector|multi_modal_projector|patch_merge_mlp|embed_vision|mlp1|resampler|projector)\."
_TOWER = r"(?:^|\.)(?:visual|vision_tower|vision_model|vision_encoder|sam_model|vpm|mm_projector|multi_modal_projector|patch_merge_mlp|embed_vision|mlp1|resampler|projector)\."
_SELF = r"\.attention\.self\."
_STATE = r"\.(?:linear_attn|mamba|conv|short_conv)\."
_ATTENTION = r"\.(?:self_attn|attn|attention|self_attention|mixer)\."
_MLP = r"\.(?:mlp|feed_forward|ffn|mixer)\."

# The first that is found in a name counts.
_PATTERNS: tuple[tuple[str, Share, tuple[str, ...]], ...] = (
    ("tower for sound", Share.WHOLE, (r"(?:^|\.)(?:audio_tower|embed_audio|apm)\.",)),
    (
        "embeddings for each layer",
        Share.WHOLE,
        (
            r"\.embed_tokens_per_layer\b",
            r"\.per_layer_(?:model_projection|input_gate|projection)\b",
            r"\.(?:altup|laurel|altup_projections|altup_unembed_projections)\.",
        ),
    ),
    (
        "vision projector",
        Share.VISION_PROJECTOR,
        (
            _TOWER + r".*merger",
            _PROJECTOR,
        ),
    ),
    (
        "vision attention",
        Share.VISION_ATTENTION,
        (_TOWER + r".*(?:attn|attention|wqkv|wo)\b", _TOWER + r".*[qkvo]_proj\b"),
    ),
    (
        "vision MLP",
        Share.VISION_MLP,
        (_TOWER + r".*\.(?:mlp|feed_forward|fc\d)\b", _TOWER + r".*(?:gate|up|down)_proj\b"),
    ),
    ("vision, the rest", Share.VISION_OTHER, (_TOWER,)),
    (
        "router",
        Share.WHOLE,
        (
            r"\.shared_experts?_gate\.",
            r"\.gate\.(?:weight|bias|bias_vl|tid2eid|e_score_correction_bias|expert_bias|wg\.weight)$",
            r"\.router\.(?:\w+\.)*\w+$",
            r"\.(?:e_score_correction_bias|per_expert_scale|expert_bias|router_bias)$",
        ),
    ),
    (
        "shared expert, down",
        Share.SHARED,
        (r"\.shared?_experts?\..*(?:down_proj|w2)\b", r"\.shared_mlp\.(?:output_linear|down_proj)"),
    ),
    (
        "shared expert, gate and up",
        Share.SHARED,
        (r"\.shared?_experts?\.", r"\.shared_mlp\.(?:input_linear|gate_proj|up_proj)"),
    ),
    (
        "routed experts, down",
        Share.EXPERTS,
        (
            r"\.experts\b.*(?:down_proj|w2)",
            r"\.block_sparse_moe\.output_linear",
            r"\.moe\.down_proj\b",
        ),
    ),
    (
        "routed experts, gate and up",
        Share.EXPERTS,
        (
            r"\.experts\b",
            r"\.block_sparse_moe\.input_linear",
            r"\.moe\.(?:gate|up)_proj\b",
        ),
    ),
    ("latent projection", Share.WHOLE, (r"\.fc\w_latent_proj\.",)),
    ("tables of n-grams", Share.TABLES, (r"\.engram\.embed\b", r"\.ngram_embedding\.")),
    ("projections of the tables", Share.WHOLE, (r"\.(?:engram|ple)\.",)),
    (
        "mixing of hidden states",
        Share.WHOLE,
        (
            r"(?:^|\.)hc_(?:attn|ffn|head)_\w+$",
            r"\.(?:input_mix_weight_(?:down|up)|block_inject_weight)\b",
        ),
    ),
    ("indexer", Share.WHOLE, (r"\.indexer\.", r"\.index_[qk]_(?:proj|norm)\b")),
    ("compressor", Share.WHOLE, (r"\.compressor\.",)),
    (
        "attention q_a and kv_a",
        Share.WHOLE,
        (
            r"\.(?:q_a_proj|kv_a_proj_with_mqa|q_a_layernorm|kv_a_layernorm)\b",
            r"\.attn\.(?:wq_a|wkv)\b",
        ),
    ),
    ("attention q_b", Share.ATTENTION, (r"\.q_b_proj\b", r"\.attn\.wq_b\b")),
    ("attention kv_b", Share.ATTENTION, (r"\.kv_b_proj\b",)),
    ("state gates, first half", Share.WHOLE, (r"\.(?:f_a_proj|g_a_proj)\b",)),
    ("state gates, second half", Share.ATTENTION, (r"\.(?:f_b_proj|g_b_proj)\b",)),
    (
        "state projection out",
        Share.ATTENTION,
        (_STATE + r"out_proj\b", r"\.mixer\.out_proj\b"),
    ),
    (
        "state projections in",
        Share.ATTENTION,
        (_STATE, r"\.mixer\.(?:in_proj|conv\w*|A_log|D|dt_bias|norm)\b"),
    ),
    ("attention q, k and v", Share.KV, (_ATTENTION + r"[kv]_proj\b", _SELF + r"(?:key|value)\b")),
    (
        "attention q, k and v",
        Share.ATTENTION,
        (
            _ATTENTION
            + r"(?:q_proj|qkv_proj|query_key_value|W_pack|wqkv|gate_proj|g_proj|b_proj|[qkv]_conv\w*|sinks|attn_sink|A_log|dt_bias)\b",
            _SELF + r"query\b",
        ),
    ),
    (
        "attention o",
        Share.ATTENTION,
        (_ATTENTION + r"(?:o_proj|out_proj|dense|wo|wo_[ab]|output\.dense)\b",),
    ),
    (
        "dense MLP, down",
        Share.DENSE,
        (
            _MLP + r"(?:down_proj|w2|dense_4h_to_h|c_proj|fc2)\b",
            r"\.layer\.N\.output\.dense\b",
        ),
    ),
    (
        "dense MLP, gate and up",
        Share.DENSE,
        (
            _MLP + r"(?:gate_proj|up_proj|gate_up_proj|w1|w3|dense_h_to_4h|c_fc_N|fc1)\b",
            r"\.layer\.N\.intermediate\.dense\b",
        ),
    ),
    (
        "embedding",
        Share.EMBEDDING,
        (r"(?:^|\.)(?:embed_tokens|tok_embeddings|embeddings|word_embeddings|wte)\b", r"^embed\."),
    ),
    ("head", Share.HEAD, (r"(?:^|\.)(?:lm_head|output_layer)\b", r"^(?:head|output)\.")),
    ("what ranks or pools", Share.WHOLE, (r"(?:^|\.)(?:pooler|score|classifier|v_head)\.",)),
    (
        "norms",
        Share.WHOLE,
        (
            r"norm",
            r"[kv]_scale$",
            r"\.layer_scalar$",
            r"rotary_(?:pos_)?emb",
            r"\.N\.bias$",
            r"\.ln_(?:N|f)\.",
            r"\.act_fn\.",
            r"\.(?:image_newline|view_seperator)$",
        ),
    ),
)
_COMPILED = tuple(
    (re.compile("|".join(patterns)), Place(part, share)) for part, share, patterns in _PATTERNS
)
# What speaks (Qwen's omni models) is not loaded either.
_DRAFT = re.compile(
    r"(?:^|\.)(?:mtp|nextn)\.|\.(?:eh_proj|enorm|hnorm|shared_head)\.|^(?:talker|code2wav|token2wav)\."
)
_VISION = re.compile(_TOWER)


def place(name: str) -> Place | None:
    """Where a tensor of this name goes; `None` when no role is known for it."""
    return next((found for pattern, found in _COMPILED if pattern.search(name)), None)


def is_vision(name: str) -> bool:
    """Whether a tensor is of the vision tower or its projector."""
    return _VISION.search(name) is not None


def is_draft(name: str) -> bool:
    """Whether a tensor's name says that it is of the model's own draft."""
    return _DRAFT.search(name) is not None
