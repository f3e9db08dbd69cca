"""The types of what the catalogue knows: GPUs, models, drafts, engine releases and recorded boots. No behaviour.

Every figure of a catalogue file has a source; `sources` maps a key of the file to a public address or a derivation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from attrs import field, frozen

from compiler.ranges import Range
from compiler.releases import Action, Build, Flag, Release, Sources


__all__ = [
    "Action",
    "Boot",
    "Build",
    "Draft",
    "Evidence",
    "Flag",
    "Gpu",
    "Gqa",
    "Mla",
    "Model",
    "Moe",
    "Quantization",
    "Release",
    "Sources",
    "Unknown",
    "Vision",
    "weakest",
]


class Evidence(StrEnum):
    """How a figure is known, from best to worst."""

    MEASURED = "measured"
    """A recorded boot of exactly these settings."""
    CARRIED = "carried"
    """A recorded boot of the same model, GPU and layout, moved to other settings."""
    DERIVED = "derived"
    """From the shapes of the model's own tensors."""
    CATALOGUE = "catalogue"
    """A figure of a catalogue file."""
    ASSUMED = "assumed"
    """A bound we reason about; nobody measured it here."""


def weakest(*evidence: Evidence) -> Evidence:
    """The worst of several kinds of evidence: what a sum of such figures rests on."""
    order = list(Evidence)
    return max(evidence, key=order.index)


@frozen(kw_only=True)
class Gpu:
    """One kind of GPU.

    Attributes:
        id: catalogue id.
        names: the names the driver prints.
        total_mib: total memory as `nvidia-smi` prints it, MiB.
        free_before_load_gib: free memory after CUDA and NCCL are up and before weights load, GiB, as public boots
            print it; `None` when none is known.
        compute_capability: `12.0`.
        multiprocessors: streaming multiprocessors.
        interconnect: `pcie` or `nvlink`.
    """

    id: str
    names: tuple[str, ...]
    total_mib: int
    free_before_load_gib: Range | None = None
    compute_capability: str
    multiprocessors: int
    interconnect: str
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True)
class Mla:
    """Multi-head latent attention: one latent a token and layer, the same on every tensor parallel rank."""

    kind: Literal["mla"] = "mla"
    kv_lora_rank: int
    qk_rope_head_dim: int
    qk_nope_head_dim: int
    v_head_dim: int
    q_lora_rank: int


@frozen(kw_only=True)
class Gqa:
    """Multi-head or grouped-query attention."""

    kind: Literal["gqa"] = "gqa"
    kv_heads: int
    head_dim: int
    v_head_dim: int


@frozen(kw_only=True)
class Moe:
    """Mixture of experts."""

    routed_experts: int
    active_experts: int
    shared_experts: int
    intermediate: int


@frozen(kw_only=True)
class Vision:
    """A vision tower and the projector behind it."""

    layers: int
    hidden: int
    intermediate: int
    projector_parameters: int
    other_parameters: int


@frozen(kw_only=True)
class Quantization:
    """How the routed experts are stored; everything else is in the model's own number format."""

    method: str
    expert_bits: float
    group_size: int
    scale_bits: int


@frozen(kw_only=True)
class Model:
    """One model, as its public `config.json` describes it.

    Attributes:
        context: the longest context the checkpoint declares, tokens.
        layers: hidden layers; the first `dense_layers` of them have no experts.
        dtype_bits: bits of an unquantized weight, and of a KV element when `memory.kv_dtype` is `auto`.
        checkpoint_gb: size of the weight files, 10^9 bytes.
    """

    id: str
    architecture: str
    context: int
    vocabulary: int
    hidden: int
    layers: int
    dense_layers: int
    intermediate: int
    heads: int
    attention: Mla | Gqa
    moe: Moe | None = None
    vision: Vision | None = None
    quantization: Quantization | None = None
    dtype_bits: int = 16
    checkpoint_gb: float
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True)
class Draft:
    """One draft model for speculative decoding.

    Attributes:
        algorithms: what it was made for (`dflash`).
        targets: the models it drafts for.
        block_size: tokens it drafts at once.
        taps: layers of the target whose hidden states it reads.
    """

    id: str
    algorithms: tuple[str, ...]
    targets: tuple[str, ...]
    hidden: int
    layers: int
    intermediate: int
    heads: int
    attention: Gqa
    block_size: int
    taps: int
    context: int
    dtype_bits: int = 16
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True)
class Boot:
    """A recorded start of a server: the settings that matter and what its log printed.

    Attributes:
        name: the file's name (`boots/ct200-0.85`).
        fraction: the static fraction it ran with.
        pool_tokens: `max_total_num_tokens` of the log.
        free_before_load_gib, weights_gib: of the log, when it shows them, GiB.
        draft_k_gib, draft_v_gib: the draft pool's two figures of the log, GiB, two decimals.
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
    kv_dtype: str
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
    source: str
    file: str = ""


@frozen(kw_only=True)
class Unknown:
    """Something nobody described, so that memory cannot be priced.

    Attributes:
        code: the code of the finding (`model-unknown`).
        name: what it is called.
        setting: the setting that names it.
        missing: what would have to be known.
        near: a known name like it.
    """

    code: str
    name: str
    setting: str
    missing: str
    near: str | None = None
