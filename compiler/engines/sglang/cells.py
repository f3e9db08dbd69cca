"""Bytes of one token in the pools of target and draft, priced and real, for each kind of attention.

Sources: 0.5.11 model_executor/pool_configurator.py (61-250), 0.5.9 model_runner_kv_cache_mixin.py (`get_cell_size_per_token`,
`set_num_tokens_hybrid_swa`), 0.5.6 model_runner.py (`set_num_token_hybrid`), 0.5.21 pool_configurator.py (192-560).
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

from attrs import evolve, frozen

from compiler.engines.sglang.backends import KvFormat, KvKind
from compiler.engines.sglang.pool import EXACT, LAYER_SCALED, NONE, Cell
from compiler.engines.sglang.releases import Counting, EaglePool, WindowPools, at_least
from compiler.engines.sglang.speculation import Speculation
from compiler.facts import Compressed, Gqa, Indexer, Mla, Model, Window
from compiler.memory.attention import (
    cell_bytes,
    fp4_cell_bytes,
    indexer_bytes,
    selector_bytes,
    sparse_row_bytes,
)
from compiler.memory.layers import Counts, stage_counts
from compiler.value import Value


Headed = TypeVar("Headed", bound=Gqa | Window)


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Token(Value):
    """What decides a token's bytes.

    Attributes:
        ranks: that share one layer's heads.
        stages: of the pipeline; the stage that has most decides.
        shares: the layers of each stage; empty where they have equal shares.
        counts_all: whether each stage is sized for the layers of all; `keeps_all`: whether it has pools for them.
        splits_windows: whether layers with a window have a pool of their own, with `window_ratio` times the tokens.
        host_ratio: tokens that have a key of the indexer, to those of the pool.
        keys_in_all: whether layers keep such keys that have no indexer of their own.
        draft_kv: how the draft's is stored; `None`: as the target's.
        draft_ranks: that the price takes to share the heads of a draft; `None`: those that do.
    """

    model: Model
    kv: KvFormat
    rule: Counting
    ranks: int
    stages: int = 1
    shares: tuple[int, ...] = ()
    counts_all: bool = False
    keeps_all: bool = False
    splits_windows: bool = False
    window_ratio: float = 1.0
    host_ratio: int = 1
    keys_in_all: bool = False
    draft_kv: KvFormat | None = None
    draft_ranks: int | None = None

    @cached_property
    def layers(self) -> Counts:
        """The layers of the stage whose token costs most."""
        if self.counts_all:
            return stage_counts(self.model)
        stages = (
            stage_counts(self.model, stage=stage, stages=self.stages, shares=self.shares)
            for stage in range(self.stages)
        )
        return max(stages, key=lambda each: (each.attention, each.full))


def cells(token: Token, guess: Speculation, *, pricings: tuple[str, ...]) -> tuple[Cell, ...]:
    """The cell under each pricing of the draft, likeliest first."""
    if not token.layers.attention:
        return (Cell(pricing=NONE, priced_bytes=0, target_bytes=0, draft_bytes=0),)
    target = target_cell(token)
    draft = draft_bytes(token, guess)
    if guess.draft_layers == 0:
        return (target,)
    counted = draft
    if token.draft_ranks is not None:
        counted = draft_bytes(evolve(token, ranks=token.draft_ranks), guess)
    return tuple(
        _with_draft(token, target, guess, draft=draft, counted=counted, pricing=each)
        for each in pricings
    )


def target_cell(token: Token) -> Cell:
    """A token of the target alone."""
    if not token.keeps_all or token.counts_all:
        return _target(token)
    cell, kept = _target(token), _target(evolve(token, counts_all=True)).target_bytes
    return evolve(cell, target_bytes=kept, unpriced_target_bytes=kept - cell.priced_bytes)


def _target(token: Token) -> Cell:
    model, counts = token.model, token.layers
    attention = model.attention
    if isinstance(attention, Compressed):
        raise TypeError("attention that compresses over time has pools of its own")
    if isinstance(attention, Mla):
        return _latent(token, attention, counts)
    full = _bytes(token, attention, layers=counts.full)
    if attention.selector is not None:
        full += selector_bytes(
            attention.selector,
            layers=counts.full - attention.selector.first,
            key_bytes=model.dtype_bits // 8,
        )
    if model.window is None or counts.window == 0:
        return _plain(full)
    window = _bytes(token, model.window, layers=counts.window)
    if not token.splits_windows:
        return _plain(full + window)
    real = full + token.window_ratio * window if counts.full else window
    if token.rule.windows is WindowPools.BY_LAYERS:
        # Tokens are found as if every layer cost the same, then dealt out by layers.
        same = _bytes(token, attention, layers=counts.attention)
        dealt = (counts.full + token.window_ratio * counts.window) / counts.attention
        return evolve(_plain(real), priced_bytes=same * dealt)
    return _plain(real)


def _plain(size: float) -> Cell:
    return Cell(pricing=LAYER_SCALED, priced_bytes=size, target_bytes=size, draft_bytes=0)


def _latent(token: Token, attention: Mla, counts: Counts) -> Cell:
    rows = _bytes(token, attention, layers=counts.full)
    stored = rows
    if token.kv.scaled_rows:
        stored = sparse_row_bytes(attention) * counts.full
    priced_rows = stored if token.rule.sparse_rows else rows
    keys = kept = 0
    if attention.indexer is not None:
        each = key_bytes(token, attention.indexer, layers=keyed_layers(token))
        kept = each * token.host_ratio
        priced = kept if at_least(token.rule.since, _HOST_PRICED_SINCE) else each
        keys = priced if token.rule.indexer else 0
    unpriced = (stored + kept) - (priced_rows + keys)
    return Cell(
        pricing=LAYER_SCALED,
        priced_bytes=priced_rows + keys,
        target_bytes=stored + kept,
        draft_bytes=0,
        unpriced_target_bytes=unpriced,
    )


# With contexts on the host, the indexer's keys are priced for all of them (pool_configurator.py,
# `_compute_dsa_indexer_cell_size`).
_HOST_PRICED_SINCE = "0.5.18"


def key_bytes(token: Token, indexer: Indexer, *, layers: int) -> int:
    """Bytes of one token's keys in the indexers of some layers."""
    return indexer_bytes(indexer, layers=layers, shared=token.rule.pooled_keys)


def keyed_layers(token: Token) -> int:
    """Layers of sparse attention that keep keys of their indexer."""
    counts = token.layers
    left_out = token.rule.indexer_sparse and not token.keys_in_all
    return counts.indexed if left_out else counts.full


def shape_of(token: Token, attention: Headed) -> Headed:
    """The attention as the release sizes it: up to 0.5.8 values are taken to be as wide as keys."""
    if token.rule.value_width:
        return attention
    return evolve(attention, v_head_dim=attention.head_dim)


def _bytes(token: Token, attention: Mla | Gqa | Window, *, layers: int) -> int:
    shape = attention if isinstance(attention, Mla) else shape_of(token, attention)
    if token.kv.kind is KvKind.FP4:
        return fp4_cell_bytes(shape, layers=layers, ranks=token.ranks)
    return cell_bytes(shape, layers=layers, element_bytes=token.kv.bytes, ranks=token.ranks)


def draft_bytes(token: Token, guess: Speculation) -> int:
    """What a token really takes in the draft's pool."""
    if token.draft_kv is not None:
        token = evolve(token, kv=token.draft_kv, draft_kv=None)
    if guess.draft is not None:
        return _bytes(token, guess.draft.attention, layers=guess.draft.layers)
    if guess.nextn is None:
        return 0
    attention = token.model.attention
    if guess.nextn.windowed and token.model.window is not None:
        return _bytes(token, token.model.window, layers=guess.nextn.layers)
    if isinstance(attention, Compressed):
        return 0
    if not isinstance(attention, Mla):
        return _bytes(token, attention, layers=guess.nextn.layers)
    rows = _bytes(token, attention, layers=guess.nextn.layers)
    if token.kv.scaled_rows:
        rows = sparse_row_bytes(attention) * guess.nextn.layers
    keys = 0
    if attention.indexer is not None:
        keys = key_bytes(token, attention.indexer, layers=guess.nextn.layers)
    return rows + keys


def _with_draft(
    token: Token, target: Cell, guess: Speculation, *, draft: int, counted: int, pricing: str
) -> Cell:
    layers = token.layers.attention
    priced = target.priced_bytes
    if pricing == EXACT:
        priced += counted
    elif pricing == LAYER_SCALED and guess.drafts_blocks:
        # speculative/dflash_utils.py, lines 51-89.
        priced = -(-int(priced) * (layers + guess.draft_layers) // layers)
    elif pricing == LAYER_SCALED:
        priced = _stepwise(token, target, guess, layers=layers)
    return evolve(target, pricing=pricing, priced_bytes=priced, draft_bytes=draft)


def _stepwise(token: Token, target: Cell, guess: Speculation, *, layers: int) -> float:
    attention = token.model.attention
    more = _counted_layers(token, guess)
    if token.splits_windows and isinstance(attention, Gqa):
        return target.priced_bytes + _bytes(token, attention, layers=more)
    if isinstance(attention, Mla) and attention.indexer is not None and token.rule.indexer_sparse:
        keys = key_bytes(token, attention.indexer, layers=keyed_layers(token))
        rows = int((target.priced_bytes - keys) * more / layers)
        return target.priced_bytes + rows + key_bytes(token, attention.indexer, layers=more)
    return int(target.priced_bytes * (1 + more / layers))


# Their number of extra layers is written where the sizing does not look for it (0.5.14 to 0.5.17 configs/model_config.py,
# `_config_draft_model`; from 0.5.18 on the text config has it too; sgl-project/sglang#29857).
_NESTED = ("Qwen3_5ForConditional", "Qwen3_5MoeForConditional")
_HIDDEN_SINCE, _HIDDEN_UNTIL = "0.5.14", "0.5.18"


def _counted_layers(token: Token, guess: Speculation) -> int:
    """Layers of the draft, as the sizing reads them."""
    since = token.rule.since
    hidden = at_least(since, _HIDDEN_SINCE) and not at_least(since, _HIDDEN_UNTIL)
    own = guess.nextn is not None and token.model.architecture.startswith(_NESTED)
    return token.model.layers if own and hidden else guess.draft_layers


def stepwise_pricing(rule: Counting, *, splits_windows: bool) -> str:
    """Whether a draft that works token by token is in a token's bytes."""
    if rule.eagle is not EaglePool.SCALED or (splits_windows and not rule.window_drafts):
        return NONE
    return LAYER_SCALED
