"""Bytes of KV cache that one token takes on one GPU, and of the state of one request, by kind of layer.

Sources, unless said: SGLang 0.5.11 model_executor/pool_configurator.py (lines 125-250) and configs/mamba_utils.py.
"""

from __future__ import annotations

from attrs import frozen

from compiler.architecture import Compressed, Gqa, Indexer, Mla, Selector, State, Window
from compiler.quantities import counted
from compiler.value import Value


# mem_cache/memory_pool.py: values of an fp8 row of sparse MLA or of an indexer that share one fp32 scale; values of an
# fp4 entry that share one byte.
_FP8_ROW_GROUP = 128
_FP4_GROUP = 16
_FP32_BYTES = 4


def cell_elements(attention: Mla | Gqa | Compressed | Window, *, ranks: int) -> int:
    """KV elements of one token in one layer, on one of `ranks` attention ranks.

    A latent is one vector for all heads and stands whole on every rank; GQA heads are split, and replicated when there are
    fewer heads than ranks.
    """
    if isinstance(attention, Compressed):
        return attention.head_dim
    if isinstance(attention, Mla):
        return attention.kv_lora_rank + attention.qk_rope_head_dim
    heads = max(1, attention.kv_heads // ranks)
    return heads * (attention.head_dim + attention.v_head_dim)


def cell_bytes(
    attention: Mla | Gqa | Compressed | Window, *, layers: int, element_bytes: int, ranks: int
) -> int:
    """Bytes of one token over `layers` layers, on one of `ranks` attention ranks."""
    return cell_elements(attention, ranks=ranks) * layers * element_bytes


def fp4_cell_bytes(attention: Mla | Gqa | Compressed | Window, *, layers: int, ranks: int) -> int:
    """The same when KV is fp4: half a byte an element, and a byte of scale for sixteen."""
    elements = cell_elements(attention, ranks=ranks)
    return layers * (elements // 2 + elements // _FP4_GROUP)


def indexer_bytes(indexer: Indexer, *, layers: int, shared: bool = False) -> int:
    """Bytes of one token in the indexers of `layers` layers: fp8 keys with their scales, whole on every rank.

    `shared`: tokens share keys where the indexer may pool them (0.5.22 pool_configurator.py, line 541).
    """
    key = indexer.head_dim + indexer.head_dim // _FP8_ROW_GROUP * _FP32_BYTES
    return layers * -(-key // (indexer.pool if shared else 1))


def selector_bytes(selector: Selector, *, layers: int, key_bytes: int) -> int:
    """Bytes of one token in the keys of `layers` layers that choose by keys of their own.

    Sources: SGLang 0.5.20 pool_configurator.py, lines 360-402 and 432-449; mem_cache/qsa_kv_pool.py, line 39.
    """
    return selector.head_dim * key_bytes // selector.ratio * layers


def sparse_row_bytes(attention: Mla) -> int:
    """Bytes of one token in one layer of a sparse MLA pool in fp8: the latent with its scales, the rotary part in bf16."""
    latent = attention.kv_lora_rank + attention.kv_lora_rank // _FP8_ROW_GROUP * _FP32_BYTES
    return latent + attention.qk_rope_head_dim * 2


@frozen(kw_only=True, eq=False, repr=False)
class StateElements(Value):
    """Elements of the state of one request in one layer, on one rank."""

    convolution: int
    recurrent: int


def state_elements(state: State, *, ranks: int) -> StateElements:
    """Elements of one request in one layer; groups that do not divide over the ranks are copied until they do."""
    groups = state.groups if state.groups % ranks == 0 else ranks
    channels = state.heads * state.head_dim + 2 * groups * state.state_size
    return StateElements(
        convolution=channels // ranks * (state.conv_kernel - 1),
        recurrent=state.heads // ranks * state.head_dim * state.state_size,
    )


def state_bytes(state: State, *, layers: int, ranks: int, conv_bytes: int = 2) -> int:
    """Bytes of one request's state over `layers` layers; the recurrent part has the model's own width."""
    each = state_elements(state, ranks=ranks)
    recurrent = each.recurrent * state.state_bits // 8
    return layers * (each.convolution * conv_bytes + recurrent)


def cell_formula(
    attention: Mla | Gqa | Compressed | Window, *, layers: int, element_bytes: int, ranks: int
) -> str:
    """The arithmetic of `cell_bytes` for a reader: `61 layers x (512 + 64) x 2 B`."""
    if isinstance(attention, Compressed):
        width = f"{attention.head_dim}"
    elif isinstance(attention, Mla):
        width = f"({attention.kv_lora_rank} + {attention.qk_rope_head_dim})"
    else:
        heads = max(1, attention.kv_heads // ranks)
        width = f"{counted(heads, 'head')} x ({attention.head_dim} + {attention.v_head_dim})"
    return f"{layers} layers x {width} x {element_bytes} B"
