"""Bytes of KV cache that one token takes on one GPU, by kind of attention."""

from __future__ import annotations

from compiler.facts import Gqa, Mla


def cell_bytes(attention: Mla | Gqa, *, layers: int, element_bytes: int, ranks: int) -> int:
    """Bytes of one token over `layers` layers, on one of `ranks` attention ranks.

    An MLA latent is one vector for all heads and stands whole on every rank; GQA heads are split, and replicated
    when there are fewer heads than ranks. Source: SGLang 0.5.11 model_executor/pool_configurator.py, lines 125-173.
    """
    match attention:
        case Mla():
            elements = attention.kv_lora_rank + attention.qk_rope_head_dim
        case Gqa():
            heads = max(1, attention.kv_heads // ranks)
            elements = heads * (attention.head_dim + attention.v_head_dim)
    return elements * layers * element_bytes


def cell_formula(attention: Mla | Gqa, *, layers: int, element_bytes: int, ranks: int) -> str:
    """The same as arithmetic a reader can check: `61 layers x (512 + 64) x 2 B`."""
    match attention:
        case Mla():
            width = f"({attention.kv_lora_rank} + {attention.qk_rope_head_dim})"
        case Gqa():
            heads = max(1, attention.kv_heads // ranks)
            plural = "head" if heads == 1 else "heads"
            width = f"{heads} {plural} x ({attention.head_dim} + {attention.v_head_dim})"
    return f"{layers} layers x {width} x {element_bytes} B"
