"""The tensors at both ends of a model: embedding, head, rotary tables, and the vision tower.

Sources: SGLang 0.5.11 layers/vocab_parallel_embedding.py (64-300), layers/rotary_embedding/{base,rope_variant}.py,
layers/attention/vision.py (770-880).
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Compressed, Format, Mla, Role, Tables, Vision, VisionPart
from compiler.facts import Model
from compiler.memory.tensors.formats import Matrix, format_of, padded
from compiler.memory.weights import PLAIN_BITS, Split, Tensors


VOCABULARY_STEP = 64
"""The vocabulary is padded to a multiple of this before it is split."""

# Their embedding is a plain one, not split (models/gemma3_causal.py, 518; models/gemma4_causal.py).
_WHOLE_EMBEDDING = ("Gemma3", "Gemma4")

_ROTARY_BITS = 32


def embedding_tensors(model: Model, *, split: Split, first: bool, last: bool) -> Iterator[Tensors]:
    """Embedding on the first stage, head on the last; one tensor when they are tied and the stages are one."""
    rows = padded(model.vocabulary, step=VOCABULARY_STEP)
    whole = model.architecture.startswith(_WHOLE_EMBEDDING)
    ranks = 1 if whole else split.vocabulary
    if first:
        elements = rows // ranks * model.hidden
        yield from Matrix(name="embedding", elements=elements, whole=whole).tensors(
            format_of(model, Role.EMBEDDING)
        )
    if last and not (model.tied and first):
        tied = model.tied and whole
        ranks = split.vocabulary if split.head_by_attention else split.tensor
        elements = rows // (1 if tied else ranks) * model.hidden
        yield from Matrix(name="head", elements=elements).tensors(format_of(model, Role.HEAD))


def rotary_tensors(model: Model, *, layers: int, split: Split) -> Iterator[Tensors]:
    """Cosines and sines over the whole context, fp32, one set for all layers of a kind.

    Grok scales its positions in a class that it makes anew in each layer (0.5.11 models/grok.py, 394). The YaRN of latent
    attention may keep the cosines and the sines of both halves as well, and attention that compresses over time has a table
    of complex numbers beside them, or that table alone.
    """
    attention = model.attention
    yarn = model.rope is not None and model.rope.kind == "yarn"
    plain = 2 if isinstance(attention, Compressed) and not split.rotary_alone else 1
    scaled = 3 if isinstance(attention, Mla) and split.rotary_halves else plain
    owners = layers if model.rope is not None and model.rope.each_layer else 1
    # The table of a YaRN is as long as its scaling reaches (layers/rotary_embedding/yarn.py, `_compute_cos_sin_cache`).
    reaches = model.rope.reaches or 0 if model.rope is not None else 0
    for dim in rotary_dims(model):
        yield Tensors(
            role="rotary tables",
            elements=max(model.context, reaches) * dim,
            bits=_ROTARY_BITS,
            count=(scaled if yarn else plain) * owners,
            whole=True,
        )
    if isinstance(attention, Compressed) and split.rotary_in_each:
        yield Tensors(
            role="rotary tables of each layer",
            elements=max(model.context, reaches) * attention.rope_head_dim // 2,
            bits=PLAIN_BITS,
            count=2 * layers,
            whole=True,
        )


def rotary_dims(model: Model) -> tuple[int, ...]:
    """The dimensions that a table rotates, one for each table."""
    attention = model.attention
    if isinstance(attention, Compressed):
        # One base for layers with the window alone, another for those that compress (0.5.12 models/deepseek_v4.py, 206).
        return (attention.rope_head_dim,) * len(
            {each > 0 for each in attention.ratios[: model.layers]}
        )
    if model.rope is not None:
        return model.rope.dims
    if isinstance(attention, Mla):
        return (attention.qk_rope_head_dim,)
    return (attention.head_dim,)


def table_tensors(tables: Tables, *, split: Split) -> Iterator[Tensors]:
    """Tables of n-grams, their rows split over all ranks (0.5.20 models/qwen4_exp.py, 510; 0.5.21 layers/engram.py, 679)."""
    stored = Format(
        roles=(Role.EMBEDDING,),
        bits=tables.bits,
        group_size=tables.group_size,
        scale_bits=tables.scale_bits,
    )
    elements = tables.rows // split.tensor * tables.width
    yield from Matrix(name="tables of n-grams", elements=elements).tensors(stored)


def vision_tensors(model: Model, vision: Vision, *, split: Split) -> Iterator[Tensors]:
    """The vision tower and its projector."""
    stored = format_of(model, Role.VISION)
    parts = (
        (VisionPart.ATTENTION, "q, k and v", 3 * vision.hidden**2, vision.layers),
        (VisionPart.ATTENTION, "o", vision.hidden**2, vision.layers),
        (
            VisionPart.MLP,
            "up",
            (2 if vision.gated else 1) * vision.hidden * vision.intermediate,
            vision.layers,
        ),
        (VisionPart.MLP, "down", vision.hidden * vision.intermediate, vision.layers),
        (VisionPart.PROJECTOR, "", vision.projector_parameters, 1),
        (VisionPart.OTHER, "", vision.other_parameters, 1),
    )
    for part, name, elements, count in parts:
        whole = split.vision_whole or part not in vision.split
        yield from Matrix(
            name=f"vision {part} {name}".rstrip(),
            elements=elements // (1 if whole else split.attention),
            count=count,
            whole=whole,
        ).tensors(stored)
