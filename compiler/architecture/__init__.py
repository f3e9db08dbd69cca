"""The types of what a model is made of, by feature: attention, states, experts, vision, number formats. No behaviour.

A new model is one file of these values. A family that needs a feature that is not here is not described at all.
"""

from enum import StrEnum

from attrs import frozen

from compiler.architecture.mixers import (
    Compressed,
    Gqa,
    Indexer,
    Mla,
    Selector,
    State,
    StateKind,
    Window,
)
from compiler.value import Value


__all__ = [
    "Compressed",
    "Format",
    "Gqa",
    "Indexer",
    "LayerKind",
    "Mla",
    "Moe",
    "Nextn",
    "Quantization",
    "Role",
    "Rope",
    "Selector",
    "Stages",
    "State",
    "StateKind",
    "Tables",
    "Vision",
    "VisionPart",
    "Window",
]


class LayerKind(StrEnum):
    """What a layer mixes tokens with; the last two are layers that hold an MLP alone (Nemotron-H)."""

    FULL = "full"
    """Attention over the whole context."""
    WINDOW = "window"
    """Attention over a sliding window or chunk."""
    STATE = "state"
    """A state of fixed size a request: linear attention, Mamba, short convolution."""
    MLP = "mlp"
    EXPERTS = "experts"


class Role(StrEnum):
    """What a weight is for: the unit by which checkpoints choose a number format."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    """All projections of an attention layer but the last."""
    OUTPUT = "attention-output"
    """The last projection of an attention layer."""
    INDEXER = "indexer"
    STATE = "state"
    """Both projections of a layer with a state."""
    DENSE = "dense"
    EXPERTS = "experts"
    SHARED = "shared"
    """The MLP that stands beside the routed experts: a shared expert, or a dense MLP (Gemma 4)."""
    ROUTER = "router"
    VISION = "vision"
    NEXTN = "nextn"
    """The layers of the model's own draft: their parts have the formats of the other roles, or their experts one that is theirs
    alone."""
    OTHER = "other"


@frozen(kw_only=True, eq=False, repr=False)
class Moe(Value):
    """Mixture of experts.

    Attributes:
        intermediate: of one routed expert.
        shared_intermediate: of the shared experts together; `None`: as many times `intermediate`.
        gated: an expert has three matrices, else two.
        latent: the width routed experts work in; `None`: the hidden size.
        every: one layer in so many has experts, the last of each group; the others have a dense MLP.
        router_bits: bits of a weight of the router as the engine keeps it.
    """

    routed_experts: int
    active_experts: int
    shared_experts: int
    intermediate: int
    shared_intermediate: int | None = None
    gated: bool = True
    latent: int | None = None
    every: int = 1
    router_bits: int = 16


class VisionPart(StrEnum):
    """The parts of a vision tower that tensor parallelism may split."""

    ATTENTION = "attention"
    MLP = "mlp"
    PROJECTOR = "projector"
    OTHER = "other"


@frozen(kw_only=True, eq=False, repr=False)
class Vision(Value):
    """A vision tower and the projector behind it.

    Attributes:
        heads: attention heads; tensor parallelism must divide them.
        gated: an MLP has three matrices, else two.
        split: the parts that tensor parallelism splits; the others stand whole on every GPU.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int | None = None
    gated: bool = False
    projector_parameters: int
    other_parameters: int
    split: tuple[VisionPart, ...] = (VisionPart.ATTENTION,)


BLOCK_VALUES = 128 * 128
"""The values of a block that has one scale in checkpoints of fp8 (DeepSeek V3's `weight_block_size`, and whoever took it over)."""


@frozen(kw_only=True, eq=False, repr=False)
class Format(Value):
    """How the weights of some roles are stored.

    Attributes:
        bits: of a value.
        group_size: values that share one scale (a block of 128 x 128: 16,384); 0 when scales are too few to count, of all but
            experts where `scale_bits` says that each output has one.
        scale_bits, zero_bits: of a scale, and of a zero point beside it.
    """

    roles: tuple[Role, ...]
    bits: float
    group_size: int = 0
    scale_bits: int = 0
    zero_bits: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class Quantization(Value):
    """How a checkpoint is quantized; a role that no format names is in the model's own number format.

    Attributes:
        method: the name in the config (`fp8`, `compressed-tensors`, `modelopt_fp4`, `awq`, `gptq`, `mxfp4`).
        kv_cache: the KV number format that the checkpoint asks for (`fp8_e4m3`).
    """

    method: str
    formats: tuple[Format, ...]
    kv_cache: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Tables(Value):
    """Embeddings of n-grams, looked up by hash, whose rows are split over all ranks; an engine may keep them on the host.

    Attributes:
        rows: of all tables.
        scale_bits: of a scale; `group_size` values share one.
    """

    rows: int
    width: int
    bits: float = 16
    group_size: int = 0
    scale_bits: int = 0


@frozen(kw_only=True, eq=False, repr=False)
class Rope(Value):
    """Rotary position tables.

    Attributes:
        kind: the scaling's name (`default`, `yarn`, `llama3`).
        dims: dimensions that a table rotates, one for each table (Gemma has one for each kind of layer).
        each_layer: whether every layer has tables of its own; else all layers share them.
        reaches: tokens that the scaling stretches positions to, where the config itself declares fewer.
    """

    kind: str = "default"
    dims: tuple[int, ...]
    each_layer: bool = False
    reaches: int | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Nextn(Value):
    """The model's own draft: layers that predict further tokens (MTP). Its KV heads are the target's.

    Attributes:
        layers: how many the checkpoint has.
        experts: whether their MLP is one of experts.
        windowed: whether their attention is that of the window layers.
        intermediate: of a dense MLP when it is not the model's.
    """

    layers: int
    experts: bool = False
    windowed: bool = False
    intermediate: int | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Stages(Value):
    """The model's own block drafter (DSpark): layers of its kind behind each other, with the window's attention alone.

    Attributes:
        layers: how many, one behind the other.
        block_size: tokens they draft at once.
        taps: layers of the target whose hidden states they read.
        markov_rank: width of the two tables that correct each token by the one before.
        routed_experts: of each, when they are not the model's.
        mixing_parameters: of the hidden states' mixing in all of them, which every GPU holds whole.
    """

    layers: int
    block_size: int
    taps: int
    markov_rank: int
    routed_experts: int | None = None
    mixing_parameters: int = 0
