"""The tensors of the architectures we know, by role."""

from __future__ import annotations

from compiler.facts import Draft, Gqa, Mla, Model, Moe, Quantization, Vision
from compiler.memory.weights import Layout, Tensors


def target_tensors(model: Model) -> tuple[Tensors, ...] | None:
    """All tensors of a model, or `None` when its kind of layers is not understood yet.

    Roles and their split: SGLang 0.5.11 models/deepseek_v2.py and models/kimi_k25.py.
    """
    if not isinstance(model.attention, Mla) or model.moe is None:
        return None
    groups = [*_embeddings(model), *_mla(model, model.attention), *_dense_mlp(model)]
    groups += _experts(model, model.moe, model.quantization)
    groups += _rotary(model, model.attention)
    if model.vision is not None:
        groups += _vision(model.vision, bits=model.dtype_bits)
    return tuple(groups)


def _embeddings(model: Model) -> list[Tensors]:
    size = model.vocabulary * model.hidden
    return [
        Tensors(
            role="embedding and head",
            elements=size,
            bits=model.dtype_bits,
            layout=Layout.SPLIT,
            count=2,
        )
    ]


def _mla(model: Model, shape: Mla) -> list[Tensors]:
    query = shape.qk_nope_head_dim + shape.qk_rope_head_dim
    up = model.heads * (shape.qk_nope_head_dim + shape.v_head_dim)
    split = [
        ("q_b", shape.q_lora_rank * model.heads * query),
        ("kv_b", shape.kv_lora_rank * up),
        ("o", model.heads * shape.v_head_dim * model.hidden),
        # The absorbed form of kv_b is kept beside it: w_kc and w_vc (deepseek_v2.py, post_load_weights).
        ("absorbed kv_b", shape.kv_lora_rank * up),
    ]
    down = model.hidden * (shape.q_lora_rank + shape.kv_lora_rank + shape.qk_rope_head_dim)
    return [
        *(
            Tensors(
                role=f"attention {name}",
                elements=elements,
                bits=model.dtype_bits,
                layout=Layout.SPLIT,
                count=model.layers,
            )
            for name, elements in split
        ),
        Tensors(
            role="attention q_a and kv_a",
            elements=down,
            bits=model.dtype_bits,
            layout=Layout.REPLICATED,
            count=model.layers,
        ),
    ]


def _dense_mlp(model: Model) -> list[Tensors]:
    return [
        Tensors(
            role="dense MLP",
            elements=3 * model.hidden * model.intermediate,
            bits=model.dtype_bits,
            layout=Layout.SPLIT,
            count=model.dense_layers,
        )
    ]


def _experts(model: Model, moe: Moe, quantization: Quantization | None) -> list[Tensors]:
    layers = model.layers - model.dense_layers
    expert = 3 * model.hidden * moe.intermediate
    bits = float(model.dtype_bits)
    if quantization is not None:
        bits = quantization.expert_bits + quantization.scale_bits / quantization.group_size
    return [
        Tensors(
            role="routed experts",
            elements=expert * moe.routed_experts,
            bits=bits,
            layout=Layout.SPLIT,
            count=layers,
        ),
        Tensors(
            role="shared expert",
            elements=expert * moe.shared_experts,
            bits=model.dtype_bits,
            layout=Layout.SPLIT,
            count=layers,
        ),
        Tensors(
            role="router",
            elements=model.hidden * moe.routed_experts,
            bits=model.dtype_bits,
            layout=Layout.REPLICATED,
            count=layers,
        ),
    ]


def _vision(vision: Vision, *, bits: int) -> list[Tensors]:
    # Only the attention is split; the MLPs are plain linears (kimi_k25.py, lines 126-133; layers/attention/vision.py, 797-880).
    return [
        Tensors(
            role="vision attention",
            elements=4 * vision.hidden**2,
            bits=bits,
            layout=Layout.SPLIT,
            count=vision.layers,
        ),
        Tensors(
            role="vision MLP",
            elements=2 * vision.hidden * vision.intermediate,
            bits=bits,
            layout=Layout.REPLICATED,
            count=vision.layers,
        ),
        Tensors(
            role="vision projector and embeddings",
            elements=vision.projector_parameters + vision.other_parameters,
            bits=bits,
            layout=Layout.REPLICATED,
        ),
    ]


def _rotary(model: Model, shape: Mla) -> list[Tensors]:
    # fp32 cache, cosines and sines over the whole context, shared by all layers (rotary_embedding/rope_variant.py, 405-419).
    return [
        Tensors(
            role="rotary tables",
            elements=model.context * shape.qk_rope_head_dim,
            bits=32,
            layout=Layout.REPLICATED,
            count=3,
        )
    ]


def draft_tensors(draft: Draft) -> tuple[Tensors, ...]:
    """The tensors of a DFlash draft: GQA layers, and a plain linear that takes the target's tapped hidden states.

    Source: SGLang 0.5.11 models/dflash.py; it has no embedding or head of its own.
    """
    shape: Gqa = draft.attention
    attention = draft.hidden * (
        2 * draft.heads * shape.head_dim + shape.kv_heads * (shape.head_dim + shape.v_head_dim)
    )
    return (
        Tensors(
            role="draft attention",
            elements=attention,
            bits=draft.dtype_bits,
            layout=Layout.SPLIT,
            count=draft.layers,
        ),
        Tensors(
            role="draft MLP",
            elements=3 * draft.hidden * draft.intermediate,
            bits=draft.dtype_bits,
            layout=Layout.SPLIT,
            count=draft.layers,
        ),
        Tensors(
            role="draft fc",
            elements=draft.taps * draft.hidden * draft.hidden,
            bits=draft.dtype_bits,
            layout=Layout.REPLICATED,
        ),
    )
