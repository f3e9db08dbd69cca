"""What a draft weighs on one GPU."""

from __future__ import annotations

from functools import lru_cache

from compiler.architecture import Nextn, Role
from compiler.engines.sglang.speculation import Speculation
from compiler.facts import Draft, Model
from compiler.memory.tensors import draft_tensors, format_of, nextn_tensors
from compiler.memory.tensors.ends import VOCABULARY_STEP
from compiler.memory.weights import GIB, Split, allocated
from compiler.ranges import Range
from compiler.same import Same


def draft_weights_gib(guess: Speculation, model: Model, *, split: Split) -> Range:
    """The draft's weights, GiB; nothing without a draft.

    The model's own extra layers come with an embedding and a head that are given up for the target's later. The one public
    boot that shows both loads and its pool (GLM-5.2 on four MI355X) still counts them: they are the range.
    """
    if guess.draft is not None:
        return _draft_gib(Same(guess.draft), split.tensor)
    if guess.nextn is None:
        return Range.exactly(0.0)
    return _nextn_gib(Same(model), Same(guess.nextn), split)


_WEIGHED = 128
"""So many drafts and layouts are remembered."""


@lru_cache(_WEIGHED)
def _draft_gib(draft: Same[Draft], ranks: int) -> Range:
    # A draft has no data parallel attention of its own before 0.5.23: its heads are split over all ranks.
    return allocated(draft_tensors(draft.value, split=Split(tensor=ranks)))


@lru_cache(_WEIGHED)
def _nextn_gib(same: Same[Model], nextn: Same[Nextn], split: Split) -> Range:
    model = same.value
    layers = allocated(nextn_tensors(model, nextn.value, split=split))
    rows = -(-model.vocabulary // VOCABULARY_STEP) * VOCABULARY_STEP
    bits = format_of(model, Role.EMBEDDING).bits
    head_ranks = split.attention if split.head_by_attention else split.tensor
    ends = rows * model.hidden * bits / 8 * (1 / split.attention + 1 / head_ranks) / GIB
    return layers + Range(0.0, ends, ends)


def draft_rotary_gib(draft: Draft, *, ranks: int) -> tuple[float, str]:
    """One fp32 cosine and sine table over the draft's context, and a copy of all layers' stacked K and V weights; GiB."""
    shape = draft.attention
    rotary = draft.context * shape.head_dim * 4 / GIB
    heads = max(1, shape.kv_heads // ranks)
    stacked = draft.layers * heads * (shape.head_dim + shape.v_head_dim) * draft.hidden * 2 / GIB
    table = f"{draft.context:,} x {shape.head_dim} x 4 B"
    copies = (
        f"{draft.layers} x {heads} x ({shape.head_dim} + {shape.v_head_dim}) x {draft.hidden} x 2 B"
    )
    return rotary + stacked, f"{table} + {copies}"
