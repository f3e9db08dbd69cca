"""The tensors of layers that mix tokens: attention of each kind, and layers with a state.

Sources: SGLang 0.5.11 models/deepseek_v2.py (1132-1320), models/qwen3_moe.py (460-510), models/qwen3_next.py (70-240),
models/kimi_linear.py (215-315), layers/attention/mamba/mamba.py, layers/attention/nsa/nsa_indexer.py (206-227).
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Compressed, Format, Gqa, Mla, Role, State, StateKind, Window
from compiler.facts import Model
from compiler.memory.layers import Counts
from compiler.memory.tensors.compressed import compressed_tensors
from compiler.memory.tensors.formats import Matrix, format_of
from compiler.memory.weights import Split, Tensors


_FP8_BITS = 8


def attention_tensors(model: Model, counts: Counts, *, split: Split) -> Iterator[Tensors]:
    """The projections of all attention layers of a run of layers."""
    ranks = split.attention
    if isinstance(model.attention, Mla):
        yield from _mla(model, model.attention, counts, split=split)
    elif isinstance(model.attention, Compressed):
        # The layers of its own draft: the window alone.
        yield from compressed_tensors(
            model,
            model.attention,
            layers=range(model.layers, model.layers + counts.full),
            ranks=ranks,
        )
    else:
        yield from _grouped(
            model, model.attention, heads=model.heads, count=counts.full, ranks=ranks
        )
    if model.window is not None:
        heads = model.window.heads or model.heads
        yield from _grouped(model, model.window, heads=heads, count=counts.window, ranks=ranks)


def _grouped(
    model: Model, shape: Gqa | Window, *, heads: int, count: int, ranks: int
) -> Iterator[Tensors]:
    # One fused projection; KV heads are copied when there are fewer than ranks (layers/linear.py, QKVParallelLinear).
    queries = heads // ranks * shape.head_dim
    gates = heads // ranks * shape.v_head_dim if shape.gated else 0
    kv = max(1, shape.kv_heads // ranks) * (shape.head_dim + shape.v_head_dim)
    name = "window attention" if isinstance(shape, Window) else "attention"
    yield from Matrix(
        name=f"{name} q, k and v", elements=model.hidden * (queries + gates + kv), count=count
    ).tensors(format_of(model, Role.ATTENTION))
    if isinstance(shape, Gqa) and shape.selector is not None:
        keys = shape.selector
        yield from Matrix(
            name="keys to choose by",
            elements=model.hidden * (keys.heads + 1) * keys.head_dim,
            count=max(0, count - keys.first),
            whole=True,
        ).tensors(format_of(model, Role.INDEXER))
    yield from Matrix(
        name=f"{name} o", elements=heads // ranks * shape.v_head_dim * model.hidden, count=count
    ).tensors(format_of(model, Role.OUTPUT))


def _mla(model: Model, shape: Mla, counts: Counts, *, split: Split) -> Iterator[Tensors]:
    stored = format_of(model, Role.ATTENTION)
    heads = model.heads // split.attention
    query = shape.qk_nope_head_dim + shape.qk_rope_head_dim
    down = shape.kv_lora_rank + shape.qk_rope_head_dim
    up = shape.kv_lora_rank * heads * (shape.qk_nope_head_dim + shape.v_head_dim)
    low_rank = shape.q_lora_rank > 0
    parts = [
        ("q_b" if low_rank else "q", (shape.q_lora_rank or model.hidden) * heads * query, False),
        ("q_a and kv_a" if low_rank else "kv_a", model.hidden * (shape.q_lora_rank + down), True),
        ("kv_b", up, False),
        ("gate", model.hidden * heads * shape.v_head_dim if shape.gated else 0, False),
    ]
    for name, elements, whole in parts:
        yield from Matrix(
            name=f"attention {name}", elements=elements, count=counts.full, whole=whole
        ).tensors(stored)
    yield from Matrix(
        name="attention o", elements=heads * shape.v_head_dim * model.hidden, count=counts.full
    ).tensors(format_of(model, Role.OUTPUT))
    # Both halves of kv_b are kept beside it in the form decoding absorbs, w_kc and w_vc; no release frees it then
    # (models/deepseek_common/deepseek_weight_loader.py, 411-600).
    yield from Matrix(
        name="attention kv_b, absorbed", elements=up, count=counts.full, late=True
    ).tensors(_absorbed(model, stored, split=split))
    if shape.indexer is not None:
        yield from _indexer(model, shape, counts)


def _absorbed(model: Model, stored: Format, *, split: Split) -> Format:
    """The copies are dequantized, unless a tensor or channel has one scale, or those of blocks are made one."""
    one_scale = stored.group_size == 0 or not split.blocks_dequantized
    kept = stored.bits == _FP8_BITS and one_scale
    return Format(roles=stored.roles, bits=_FP8_BITS if kept else model.dtype_bits)


def _indexer(model: Model, shape: Mla, counts: Counts) -> Iterator[Tensors]:
    # Whole on every rank, and in 0.5.11 in every layer, also those that reuse another layer's choice.
    if shape.indexer is None:
        return
    stored = format_of(model, Role.INDEXER)
    heads, width = shape.indexer.heads, shape.indexer.head_dim
    for name, elements, each in (
        ("wq_b", shape.q_lora_rank * heads * width, stored),
        ("wk", model.hidden * width, stored),
        ("weights_proj", model.hidden * heads, format_of(model, Role.ROUTER)),
    ):
        yield from Matrix(
            name=f"indexer {name}", elements=elements, count=counts.full, whole=True
        ).tensors(each)


def state_tensors(model: Model, state: State, *, count: int, split: Split) -> Iterator[Tensors]:
    """The projections of layers with a state; convolutions, gates by head, and decays are too small to list."""
    ranks = split.attention
    stored = format_of(model, Role.STATE)
    wide = state.heads * state.head_dim
    groups = state.groups if state.groups % ranks == 0 else ranks
    keys = groups * state.state_size
    match state.kind:
        case StateKind.GDN:
            columns = 2 * keys + 2 * wide + 2 * state.heads
        case StateKind.KDA:
            # Queries, keys and values; the decay and the gate are low rank, their first halves whole on every rank. The gate
            # may be one matrix as well (0.5.17 models/kimi_k3.py, 1272).
            low_rank = 1 if state.full_gate else 2
            columns = (5 - low_rank) * wide + state.heads
            low = Matrix(
                name="state gates, first half",
                elements=low_rank * model.hidden * state.head_dim,
                count=count,
                whole=True,
            )
            yield from low.tensors(stored)
            second = low_rank * state.head_dim * wide // ranks
            yield from Matrix(
                name="state gates, second half", elements=second, count=count
            ).tensors(stored)
        case StateKind.MAMBA2:
            columns = 2 * wide + 2 * keys + state.heads
        case StateKind.LIGHTNING:
            columns = 4 * wide
        case StateKind.CONVOLUTION:
            columns = 3 * wide
    inward = Matrix(
        name="state projections in", elements=model.hidden * columns // ranks, count=count
    )
    yield from inward.tensors(stored)
    outward = Matrix(
        name="state projection out", elements=wide // ranks * model.hidden, count=count
    )
    yield from outward.tensors(stored)
