"""What a draft weighs on one GPU: its own layers, and the ends that it loads and gives up for the target's.

A draft that works token by token is made with an embedding and a head of its own, in 16 bits whatever the checkpoint's
format. It gives them up in `init_lm_head`, before graphs are captured: to 0.5.13 right after its load, when the target's
pool is there already, and from 0.5.14 on in `alloc_memory_pool`, after the target's pool was sized
(speculative/eagle_worker.py, eagle_worker_v2.py, and multi_layer_eagle_worker_v2.py; managers/scheduler.py,
`init_model_worker`; sgl-project/sglang#36452).
"""

from __future__ import annotations

from functools import lru_cache

from compiler.architecture import Nextn, Role, Stages
from compiler.engines.sglang.speculation import DSPARK, STANDALONE, Speculation
from compiler.facts import Draft, Model
from compiler.memory.tensors import draft_tensors, format_of, nextn_tensors, stage_tensors
from compiler.memory.tensors.ends import VOCABULARY_STEP
from compiler.memory.weights import GIB, Split, allocated
from compiler.ranges import Range
from compiler.same import Same


def draft_weights_gib(guess: Speculation, model: Model, *, split: Split) -> Range:
    """The weights that a draft keeps, GiB; nothing without a draft."""
    if guess.draft is not None:
        # With data parallel attention a draft of DSpark runs on the ranks of one replica (0.5.16 to 0.5.23
        # speculative/dspark_components/dspark_worker_v2.py, `_draft_context`).
        ranks = split.attention if guess.algorithm == DSPARK else split.tensor
        return _draft_gib(Same(guess.draft), ranks, guess.writes_only)
    if guess.stages is not None:
        return _stages_gib(Same(model), Same(guess.stages), split)
    if guess.nextn is None:
        return Range.exactly(0.0)
    return _nextn_gib(Same(model), Same(guess.nextn), split)


_TIES = ("Qwen3_5",)
"""Classes that tie the draft's ends where the target's are (0.5.14 models/qwen3_5_mtp.py, 104)."""


def given_up_gib(guess: Speculation, model: Model, *, split: Split) -> Range:
    """An embedding and a head, GiB, that a draft loads and then shares with the target.

    A draft of its own may keep a head for a shorter vocabulary, and none but those that work token by token has any. Layers
    that each draft one token are models of their own. Where the target's ends are tied, not every class ties the draft's.
    """
    if not guess.stepwise or guess.algorithm == STANDALONE or guess.draft_layers == 0:
        return Range.exactly(0.0)
    rows = -(-model.vocabulary // VOCABULARY_STEP) * VOCABULARY_STEP
    draft = guess.draft
    if draft is not None:
        ends = (not draft.embedding_vocabulary) + (not draft.head_vocabulary)
        return Range.exactly(ends * rows * draft.hidden * 2 / split.tensor / GIB)
    bits = format_of(model, Role.EMBEDDING).bits
    head_ranks = split.attention if split.head_by_attention else split.tensor
    end = rows * model.hidden * bits / 8 / GIB * guess.draft_layers
    embedding = end / split.attention
    both = embedding + end / head_ranks
    if not model.tied:
        return Range.exactly(both)
    return Range(embedding, embedding if model.architecture.startswith(_TIES) else both, both)


def loaded_gib(guess: Speculation, model: Model, *, split: Split, ranks: int) -> Range:
    """What a draft that is loaded before the pool has when it is sized, GiB."""
    kept = draft_weights_gib(guess, model, split=split) + given_up_gib(guess, model, split=split)
    if guess.draft is None:
        return kept
    at_once = guess.drafts_blocks and guess.algorithm != DSPARK
    beside, _ = draft_rotary_gib(guess.draft, ranks=ranks, stacked=at_once)
    return kept + Range.exactly(beside)


_WEIGHED = 128
"""So many drafts and layouts are remembered."""


@lru_cache(_WEIGHED)
def _draft_gib(draft: Same[Draft], ranks: int, writes_only: bool) -> Range:  # noqa: FBT001 - a key of the cache
    # A draft of DFlash has no data parallel attention of its own before 0.5.23: its heads are split over all ranks.
    tensors = draft_tensors(draft.value, split=Split(tensor=ranks), writes_only=writes_only)
    return allocated(tensors)


@lru_cache(_WEIGHED)
def _nextn_gib(same: Same[Model], nextn: Same[Nextn], split: Split) -> Range:
    return allocated(nextn_tensors(same.value, nextn.value, split=split))


@lru_cache(_WEIGHED)
def _stages_gib(same: Same[Model], stages: Same[Stages], split: Split) -> Range:
    return allocated(stage_tensors(same.value, stages.value, split=split))


def draft_rotary_gib(draft: Draft, *, ranks: int, stacked: bool = True) -> tuple[float, str]:
    """One fp32 cosine and sine table over the draft's context, and a copy of all layers' stacked K and V weights; GiB.

    A block drafter makes that copy when its worker is made (0.5.14 and 0.5.19 speculative/dflash_worker_v2.py, 244 and 404), of
    plain weights alone (0.5.19 speculative/dflash_utils.py, `can_dflash_slice_qkv_weight`).
    """
    shape = draft.attention
    rotary = draft.context * shape.head_dim * 4 / GIB
    table = f"{draft.context:,} x {shape.head_dim} x 4 B"
    if not stacked or not _is_sliced(draft):
        return rotary, table
    copied, copies = stacked_gib(draft, ranks=ranks)
    return rotary + copied, f"{table} + {copies}"


def stacked_gib(draft: Draft, *, ranks: int) -> tuple[float, str]:
    """A copy of all layers' K and V weights in one, GiB.

    DSpark makes it once the first states of the target come in, from 0.5.17 on (models/dspark.py, `_stacked_ctx_kv_params`; from
    0.5.18 `_build_fused_kv_write_bundle`).
    """
    if not _is_sliced(draft):
        return 0.0, "no copy of weights in few bits"
    shape = draft.attention
    heads = max(1, shape.kv_heads // ranks)
    copied = draft.layers * heads * (shape.head_dim + shape.v_head_dim) * draft.hidden * 2 / GIB
    copies = (
        f"{draft.layers} x {heads} x ({shape.head_dim} + {shape.v_head_dim}) x {draft.hidden} x 2 B"
    )
    return copied, copies


def _is_sliced(draft: Draft) -> bool:
    """Whether K and V are cut out of the weight: one in few bits is applied layer by layer."""
    return format_of(draft, Role.ATTENTION).bits == draft.dtype_bits
