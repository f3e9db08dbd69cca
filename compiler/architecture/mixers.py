"""What a layer mixes tokens with: attention of each kind, and states. No behaviour."""

from enum import StrEnum
from typing import Literal

from attrs import frozen

from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Indexer(Value):
    """The small attention that picks the tokens an MLA layer attends to (DSA).

    Attributes:
        first: so many layers at the start have one of their own each.
        every: after them one layer in so many has; the others reuse its choice.
        pool: tokens that may share one key.
    """

    heads: int
    head_dim: int
    first: int = 2
    every: int = 1
    pool: int = 1


@frozen(kw_only=True, eq=False, repr=False)
class Mla(Value):
    """Multi-head latent attention: one latent a token and layer, the same on every tensor parallel rank.

    Attributes:
        q_lora_rank: 0 when queries are not low rank.
        gated: a gate as wide as the output has a projection of its own.
    """

    kind: Literal["mla"] = "mla"
    kv_lora_rank: int
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int
    q_lora_rank: int
    gated: bool = False
    indexer: Indexer | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Compressed(Value):
    """One latent a token, whole in a window and compressed over time beyond it (DeepSeek V4); the same on every rank.

    Attributes:
        output_groups, output_rank: of the output projection, which is low rank.
        ratios: tokens that share one compressed entry, by layer, 0 for the window alone; those of the model's own draft
            stand behind its layers'.
        owners: the layers that keep entries of ratio 1 and 2; those behind them share these.
        indexed: the layers that choose entries of ratio 1 and 2.
    """

    kind: Literal["compressed"] = "compressed"
    head_dim: int
    rope_head_dim: int
    q_lora_rank: int
    output_groups: int
    output_rank: int
    window: int
    ratios: tuple[int, ...]
    owners: tuple[int, ...] = ()
    indexed: tuple[int, ...] = ()
    indexer: Indexer


@frozen(kw_only=True, eq=False, repr=False)
class Selector(Value):
    """Keys of their own by which layers of grouped-query attention choose what they attend to; the same on every rank.

    Attributes:
        heads: of the queries; the keys have one.
        first: so many layers at the start have none.
        ratio: tokens that share one key.
    """

    heads: int
    head_dim: int
    first: int = 0
    ratio: int = 1


@frozen(kw_only=True, eq=False, repr=False)
class Gqa(Value):
    """Multi-head or grouped-query attention.

    Attributes:
        gated: a gate as wide as the output comes with the query projection.
        shared_projection: keys are used as values: there is no projection of its own for them.
    """

    kind: Literal["gqa"] = "gqa"
    kv_heads: int
    head_dim: int
    v_head_dim: int
    gated: bool = False
    shared_projection: bool = False
    selector: Selector | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Window(Value):
    """The attention of the layers that see a window only.

    Attributes:
        size: tokens.
        heads: query heads; `None` when they are as many as in the other layers.
    """

    size: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    heads: int | None = None
    gated: bool = False


class StateKind(StrEnum):
    """Families of layers with a state; their weights differ, their states have one formula."""

    GDN = "gdn"
    KDA = "kda"
    MAMBA2 = "mamba2"
    LIGHTNING = "lightning"
    CONVOLUTION = "convolution"


@frozen(kw_only=True, eq=False, repr=False)
class State(Value):
    """The layers that keep a state.

    Attributes:
        heads, head_dim: of the values; together the width of the layer.
        groups, state_size: key heads and their width (Mamba: groups and state); 0 without.
        conv_kernel: 1 without a convolution.
        state_bits: bits of an element of the recurrent state.
        full_gate: the output gate of `kda` is one matrix; else it is low rank, like the decay.
    """

    kind: StateKind
    heads: int
    head_dim: int
    groups: int = 0
    state_size: int = 0
    conv_kernel: int = 1
    state_bits: int = 32
    full_gate: bool = False
