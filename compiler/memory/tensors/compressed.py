"""The tensors of attention that compresses over time (DeepSeek V4).

Sources: SGLang 0.5.15 models/deepseek_v4.py (289-480), layers/attention/dsv4/{compressor,indexer}.py; 0.5.21
models/deepseek_v4.py (1110-1165) for entries that layers share.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Compressed, Role
from compiler.facts import Model
from compiler.memory.tensors.formats import Matrix, format_of
from compiler.memory.weights import Tensors


_INDEXED_RATIO = 4
"""Every layer of this ratio chooses its entries by an indexer of its own."""
_SHARED_RATIOS = (1, 2)


def compressed_tensors(
    model: Model, shape: Compressed, *, layers: range, ranks: int, o_a: Role = Role.ATTENTION
) -> Iterator[Tensors]:
    """The projections of a run of layers: queries and the output are split, all else is whole on every rank.

    `o_a` is the role whose number format the first half of the output's projection has.
    """
    count, heads = len(layers), model.heads // ranks
    groups = max(1, shape.output_groups // ranks)
    for name, elements, whole, role in (
        (
            "q_a and kv",
            model.hidden * (shape.q_lora_rank + shape.head_dim),
            True,
            Role.ATTENTION,
        ),
        ("q_b", shape.q_lora_rank * heads * shape.head_dim, False, Role.ATTENTION),
        # Each group of heads has a matrix of its own.
        (
            "o_a",
            model.heads * shape.head_dim // shape.output_groups * groups * shape.output_rank,
            False,
            o_a,
        ),
    ):
        yield from Matrix(
            name=f"attention {name}", elements=elements, count=count, whole=whole
        ).tensors(format_of(model, role))
    yield from Matrix(
        name="attention o_b", elements=groups * shape.output_rank * model.hidden, count=count
    ).tensors(format_of(model, Role.OUTPUT))
    yield from _compressors(model, shape, layers=layers)
    yield from _indexers(model, shape, layers=layers)


def _compressors(model: Model, shape: Compressed, *, layers: range) -> Iterator[Tensors]:
    # Keys and their gates; ratio 4 overlaps with the group before, which doubles both. Never quantized.
    plain = format_of(model, Role.OTHER)
    ratios = [_kept(shape, layer) for layer in layers]
    overlapping = ratios.count(_INDEXED_RATIO)
    width = 2 * model.hidden * shape.head_dim
    for name, times, count in (
        ("compressor, overlapping", 2, overlapping),
        ("compressor", 1, sum(each > 0 for each in ratios) - overlapping),
    ):
        yield from Matrix(name=name, elements=times * width, count=count, whole=True).tensors(plain)


def _kept(shape: Compressed, layer: int) -> int:
    """The ratio of the entries that a layer keeps itself; 0 when it keeps none."""
    ratio = shape.ratios[layer] if layer < len(shape.ratios) else 0
    return 0 if ratio in _SHARED_RATIOS and layer not in shape.owners else ratio


def _indexers(model: Model, shape: Compressed, *, layers: range) -> Iterator[Tensors]:
    plain, stored = format_of(model, Role.OTHER), format_of(model, Role.INDEXER)
    heads, width = shape.indexer.heads, shape.indexer.head_dim
    own = sum(_kept(shape, layer) == _INDEXED_RATIO for layer in layers)
    shared = sum(layer in shape.indexed for layer in layers)
    for name, elements, count, each in (
        ("wq_b", shape.q_lora_rank * heads * width, own + shared, stored),
        ("weights_proj", model.hidden * heads, own + shared, plain),
        ("compressor", 4 * model.hidden * width, own, plain),
        ("wk", shape.head_dim * width, shared, plain),
    ):
        yield from Matrix(
            name=f"indexer {name}", elements=elements, count=count, whole=True
        ).tensors(each)
