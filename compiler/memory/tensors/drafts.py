"""The tensors of drafts: block drafters, heads that draft token by token, and a model's own extra layers.

Sources: SGLang 0.5.11 models/dflash.py, models/llama_eagle3.py, models/deepseek_nextn.py; 0.5.16 to 0.5.23 models/dspark.py and
models/deepseek_v4_dspark.py. They share the target's embedding and head unless they have their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.architecture import Compressed, LayerKind, Nextn, Role, Stages
from compiler.facts import Draft, Model
from compiler.memory.layers import Counts
from compiler.memory.tensors.attention import attention_tensors
from compiler.memory.tensors.compressed import compressed_tensors
from compiler.memory.tensors.ends import VOCABULARY_STEP, embedding_tensors
from compiler.memory.tensors.formats import Matrix, format_of, padded
from compiler.memory.tensors.mlp import dense_tensors, expert_tensors
from compiler.memory.weights import Split, Tensors


def draft_tensors(draft: Draft, *, split: Split, writes_only: bool = False) -> tuple[Tensors, ...]:
    """The tensors of a draft model on one rank; `writes_only`: those that a block drafter writes its KV with."""
    tensors = tuple(_draft(draft, ranks=split.attention))
    return (
        tuple(each for each in tensors if each.role.startswith(_WRITERS))
        if writes_only
        else tensors
    )


_INWARD, _TAPPED = "draft attention q, k and v", "draft fc"
_WRITERS = (_INWARD, _TAPPED)
"""With their scales."""


def _draft(draft: Draft, *, ranks: int) -> Iterator[Tensors]:
    shape, bits = draft.attention, draft.dtype_bits
    queries = draft.heads // ranks * shape.head_dim
    kv = max(1, shape.kv_heads // ranks) * (shape.head_dim + shape.v_head_dim)
    wide = 2 if draft.wide_input else 1
    output, inner = draft.heads // ranks * shape.v_head_dim, draft.intermediate // ranks
    parts = (
        (_INWARD, Role.ATTENTION, wide * draft.hidden * (queries + kv)),
        ("draft attention o", Role.OUTPUT, output * draft.hidden),
        ("draft MLP, gate and up", Role.DENSE, 2 * draft.hidden * inner),
        ("draft MLP, down", Role.DENSE, draft.hidden * inner),
    )
    for name, role, elements in parts:
        matrix = Matrix(name=name, elements=elements, count=draft.layers)
        yield from matrix.tensors(format_of(draft, role))
    tapped = draft.taps * (draft.target_hidden or draft.hidden) * draft.hidden
    # A plain layer whatever the checkpoint's format (0.5.11 to 0.5.23 models/dflash.py).
    yield Tensors(role=_TAPPED, elements=tapped, bits=bits, whole=True)
    if draft.other_parameters:
        yield Tensors(
            role="draft, the rest", elements=draft.other_parameters, bits=bits, whole=True
        )
    for name, rows in (
        ("embedding", draft.embedding_vocabulary),
        ("head", draft.head_vocabulary),
    ):
        if rows:
            elements = padded(rows, step=VOCABULARY_STEP) // ranks * draft.hidden
            yield Tensors(role=f"draft {name}", elements=elements, bits=bits)


def nextn_tensors(
    model: Model, nextn: Nextn, *, split: Split, loading: bool = False
) -> tuple[Tensors, ...]:
    """The model's own extra layers: each is one of its layers, and a projection of two hidden states to one.

    While it is loading the draft also has an embedding and a head, which it then gives up for the target's.
    """
    stored = _own(model)
    kind = LayerKind.WINDOW if nextn.windowed else LayerKind.FULL
    counts = Counts(
        full=nextn.layers if kind is LayerKind.FULL else 0,
        window=nextn.layers if kind is LayerKind.WINDOW else 0,
        state=0,
        indexed=nextn.layers,
        experts=nextn.layers if nextn.experts else 0,
        dense=0 if nextn.experts else nextn.layers,
    )
    tensors = [*attention_tensors(stored, counts, split=split)]
    if nextn.experts and model.moe is not None:
        tensors += expert_tensors(stored, model.moe, counts, split=split)
    else:
        dense = evolve(stored, intermediate=nextn.intermediate or model.intermediate)
        tensors += dense_tensors(dense, count=counts.dense, split=split)
    tensors.append(
        Tensors(
            role="projection of two hidden states",
            elements=2 * model.hidden**2,
            bits=model.dtype_bits,
            count=nextn.layers,
            whole=True,
        )
    )
    if loading:
        untied = evolve(model, tied=False)
        tensors += embedding_tensors(untied, split=split, first=True, last=True)
    return tuple(tensors)


def stage_tensors(model: Model, stages: Stages, *, split: Split) -> tuple[Tensors, ...]:
    """The stages of a model's own block drafter; their embedding and head are the target's.

    The first half of the output's projection is dequantized while it loads (`wo_a_fp8`), and both tables of the Markov head are
    whole on every rank. The confidence head is made for ragged verify steps alone, and has a few thousand numbers.
    """
    return tuple(_stages(model, stages, split=split))


def _stages(model: Model, stages: Stages, *, split: Split) -> Iterator[Tensors]:
    stored = _own(model)
    attention, moe, count = stored.attention, stored.moe, stages.layers
    if isinstance(attention, Compressed):
        yield from compressed_tensors(
            stored,
            attention,
            layers=range(model.layers, model.layers + count),
            ranks=split.attention,
            o_a=Role.OTHER,
        )
    if moe is not None:
        counts = Counts(full=count, window=0, state=0, indexed=0, experts=count, dense=0)
        own = evolve(moe, routed_experts=stages.routed_experts or moe.routed_experts)
        yield from expert_tensors(stored, own, counts, split=split)
    yield from Matrix(
        name="projection of the tapped states",
        elements=stages.taps * model.hidden**2,
        whole=True,
    ).tensors(format_of(stored, Role.ATTENTION))
    for role, elements in (
        ("Markov head", 2 * model.vocabulary * stages.markov_rank),
        ("mixing of the stages' hidden states", stages.mixing_parameters),
    ):
        yield Tensors(role=role, elements=elements, bits=model.dtype_bits, whole=True)


def _own(model: Model) -> Model:
    """The model in the formats of its draft: its own, the one that names the draft alone, or none."""
    kind = model.quantization
    formats = () if kind is None else kind.formats
    named = next((each for each in formats if Role.NEXTN in each.roles), None)
    if kind is None or named is None:
        return evolve(model, quantization=None)
    if len(named.roles) > 1:
        return model
    return evolve(model, quantization=evolve(kind, formats=(evolve(named, roles=(Role.EXPERTS,)),)))
