"""The types of what the catalogue knows: GPUs, models, drafts, engine releases and recorded boots. No behaviour.

Every figure of a catalogue file has a source; `sources` maps a key of the file to a public address or a derivation.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from attrs import field, frozen

from compiler.architecture import (
    Compressed,
    Format,
    Gqa,
    Indexer,
    LayerKind,
    Mla,
    Moe,
    Nextn,
    Quantization,
    Role,
    Rope,
    Stages,
    State,
    StateKind,
    Tables,
    Vision,
    VisionPart,
    Window,
)
from compiler.profile import KvDtype
from compiler.ranges import Range
from compiler.releases import Action, Build, Flag, Release, Scalar, Sources
from compiler.value import Value


__all__ = [
    "Action",
    "Boot",
    "Build",
    "Compressed",
    "Draft",
    "Evidence",
    "Flag",
    "Format",
    "Gpu",
    "Gqa",
    "Indexer",
    "Interconnect",
    "LayerKind",
    "Mla",
    "Model",
    "Moe",
    "Nextn",
    "Quantization",
    "Release",
    "Role",
    "Rope",
    "Sources",
    "Stages",
    "State",
    "StateKind",
    "Vision",
    "VisionPart",
    "Window",
]


class Evidence(StrEnum):
    """How a figure is known, from best to worst."""

    MEASURED = "measured"
    """A recorded boot of exactly these settings."""
    CARRIED = "carried"
    """A recorded boot of the same model, GPU and layout, moved to other settings."""
    DERIVED = "derived"
    """From the shapes of the model's own tensors."""
    ASSUMED = "assumed"
    """A bound we reason about; nobody measured it here."""


Interconnect = Literal["nvlink", "pcie", "xgmi"]
"""What joins the GPUs of a host."""


@frozen(kw_only=True, eq=False, repr=False)
class Gpu(Value):
    """One kind of GPU.

    Attributes:
        id: catalogue id.
        names: the names the driver prints.
        total_mib: total memory as `nvidia-smi` prints it, MiB.
        sizes_gib: the sizes that cards with these names are sold in, where they are several; the entry is one of them.
        free_before_load_gib: free memory after CUDA and NCCL are up and before weights load, GiB. Of a
            shipped kind it is to hold nine of ten machines, from public ones; `None` when none is known.
        free_alone_gib: the same of a server on one GPU, which starts no NCCL; `None` where no log tells it apart.
        compute_capability: `12.0`.
        multiprocessors: streaming multiprocessors.
        unified: whether the host's processes use the same memory.
    """

    id: str
    names: tuple[str, ...]
    total_mib: int
    sizes_gib: tuple[int, ...] = ()
    free_before_load_gib: Range | None = None
    free_alone_gib: Range | None = None
    compute_capability: str
    multiprocessors: int
    interconnect: Interconnect
    unified: bool = False
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class Model(Value):
    """One model, as its public `config.json` describes it.

    Attributes:
        context: the longest context an engine derives from the config, rope scaling included, tokens.
        layers: hidden layers.
        pattern: the kinds of the layers in order, repeated over all of them.
        dense_layers: layers with a dense MLP; the first, unless `moe.every` spreads them.
        intermediate: of a dense MLP.
        heads: query heads of full attention.
        attention: of the layers of kind `full`.
        wide_layers: so many of the dense layers, the last, have an MLP twice as wide.
        gated_mlp: a dense MLP has three matrices, else two.
        tied: the head is the embedding.
        other_parameters: what no feature names and every GPU holds whole.
        dtype_bits: bits of an unquantized weight, and of a KV element when `memory.kv_dtype` is `auto`.
        checkpoint_gb: size of the weight files, 10^9 bytes.
        custom_code: the parts that come as code, which the engine must be told to run (`the tokenizer`); empty where none
            is known to.
        embeds: whether it is made for embeddings, which its architecture, a language model's, does not tell.
        like: the model whose entry it is, where it has none of its own; else empty.
        likeness: that as a sentence, with what it is by.
    """

    id: str
    architecture: str
    context: int
    vocabulary: int
    hidden: int
    layers: int
    pattern: tuple[LayerKind, ...] = (LayerKind.FULL,)
    dense_layers: int
    intermediate: int
    heads: int
    attention: Mla | Gqa | Compressed
    window: Window | None = None
    state: State | None = None
    moe: Moe | None = None
    tables: Tables | None = None
    vision: Vision | None = None
    nextn: Nextn | None = None
    stages: Stages | None = None
    rope: Rope | None = None
    quantization: Quantization | None = None
    wide_layers: int = 0
    gated_mlp: bool = True
    tied: bool = False
    other_parameters: int = 0
    dtype_bits: int = 16
    checkpoint_gb: float | None = None
    custom_code: str = ""
    embeds: bool = False
    like: str = ""
    likeness: str = ""
    sources: Sources = field(factory=dict)
    shipped: bool = True


def comes_as_code(parts: str) -> str:
    """That these parts of a checkpoint are code, as a clause; `parts` as `Model.custom_code` has them."""
    return f"{parts} {'come' if ' and ' in parts else 'comes'} as code"


@frozen(kw_only=True, eq=False, repr=False)
class Draft(Value):
    """One draft model for speculative decoding: a block drafter (DFlash, DSpark), or a head that drafts token by token (EAGLE).

    Attributes:
        algorithms: what it was made for (`dflash`, `dspark`, `eagle3`).
        targets: the models it drafts for.
        block_size: tokens it drafts at once.
        taps: layers of the target whose hidden states it reads.
        target_hidden: the target's hidden size when it is another.
        wide_input: its first layer reads the embedding beside the hidden state (EAGLE3).
        head_vocabulary: of its own head; 0 when it uses the target's.
        embedding_vocabulary: of its own embedding; 0 when it uses the target's.
        other_parameters: what no other figure names and every GPU holds whole: two tables of a Markov head (DSpark) are twice
            the vocabulary by its rank.
        quantization: of its layers (`attention`, `attention-output`, `dense`).
        likeness: as of a model.
    """

    id: str
    algorithms: tuple[str, ...]
    targets: tuple[str, ...]
    hidden: int
    layers: int
    intermediate: int
    heads: int
    attention: Gqa
    block_size: int = 1
    taps: int
    target_hidden: int | None = None
    wide_input: bool = False
    head_vocabulary: int = 0
    embedding_vocabulary: int = 0
    other_parameters: int = 0
    context: int
    dtype_bits: int = 16
    quantization: Quantization | None = None
    likeness: str = ""
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class Boot(Value):
    """A recorded start of a server: the settings that matter and what its log printed.

    Attributes:
        name: the file's name (`boots/ct200-0.85`).
        fraction: the static fraction it ran with.
        draft: the draft's id; the model's own where a path named the draft that the model brings.
        pool_tokens: `max_total_num_tokens` of the log.
        free_before_load_gib, weights_gib: of the log, when it shows them, GiB.
        flags: all other engine flags it ran with, without their dashes; `None` when they were not recorded, and are taken
            to be those of the profile.
        draft_k_gib, draft_v_gib: the draft pool's two figures of the log, GiB, two decimals.
        shipped: whether it is a public one of the catalogue: another card, perhaps with another driver.
    """

    name: str
    engine: str
    version: str
    build: str | None = None
    model: str
    gpu: str
    gpu_count: int
    tensor: int
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    dp_attention: bool = False
    kv_dtype: KvDtype
    page_size: int
    fraction: float
    context: int
    max_running_requests: int | None = None
    chunked_prefill: int | None = None
    algorithm: str | None = None
    draft: str | None = None
    block_size: int | None = None
    draft_window: int | None = None
    tree_budget: int | None = None
    tree_topk: int | None = None
    pool_tokens: int
    free_before_load_gib: float | None = None
    weights_gib: float | None = None
    draft_k_gib: float | None = None
    draft_v_gib: float | None = None
    flags: Mapping[str, Scalar] | None = None
    source: str
    file: str = ""
    shipped: bool = False


GIVEN_BY_PLACE = frozenset({"name", "file", "shipped"})
"""The fields of a boot that follow from where its file is; the file cannot hold them."""
