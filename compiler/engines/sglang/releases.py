"""Which release counts what where: one table of changes, read from the releases' own sources.

A release whose way of counting was not written down here is not priced. Between two rows the earlier one holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from attrs import evolve, frozen

from compiler.value import Value
from compiler.versions import version_key


class EaglePool(StrEnum):
    """Where the pool of a draft that works token by token is counted."""

    ENLARGED = "enlarged"
    """Nowhere; the number of slots is raised by what requests may have in flight, without any memory for it."""
    UNPRICED = "unpriced"
    """Nowhere: it comes out of the reserve."""
    SCALED = "scaled"
    """In a token's bytes: each of its layers costs what a layer of the target costs."""


class DflashPool(StrEnum):
    """Where the pool of a DFlash draft is counted."""

    ABSENT = "absent"
    SCALED = "scaled"
    """In a token's bytes, by the number of layers."""
    EXACT = "exact"
    """In a token's bytes, by its own heads."""


class WindowPools(StrEnum):
    """How layers with a window share the budget with the others."""

    WHOLE = "whole"
    """They do not: each layer keeps every token."""
    BY_LAYERS = "by-layers"
    """Tokens are dealt out as if all layers cost the same."""
    BY_BYTES = "by-bytes"


class StatePools(StrEnum):
    """How the states of layers with a state are sized."""

    ABSENT = "absent"
    GIVEN = "given"
    """`--max-mamba-cache-size` alone."""
    DIVIDED = "divided"
    """A share of the rest; drafted tokens divide it."""
    BEFORE = "before"
    """A share of what is left after the states of drafted tokens."""
    JOINT = "joint"
    """One share for the states and for those of drafted tokens."""
    PADDED = "padded"
    """The same, with one more slot on each."""


class CompressedPools(StrEnum):
    """How the pools of attention that compresses over time are sized."""

    ABSENT = "absent"
    SLOTS_WITH_DRAFT = "slots-with-draft"
    """All by tokens, in a ratio; the draft's ratios are counted with the layers'."""
    SLOTS = "slots"
    REQUESTS = "requests"
    """The states of the high ratio by requests."""
    CAPPED = "capped"
    """The window's pool by requests too, unless a ratio is set."""
    CAPPED_PAGED = "capped-paged"
    """The same; entries of low ratios are counted with their pages' padding."""


class FractionRule(StrEnum):
    """How the automatic fraction is found."""

    STEPS = "steps"
    """By the number of GPUs alone."""
    REST = "rest"
    """By the number of GPUs; what a large card leaves beside 13 GiB."""
    TABLE = "table"
    """By the number of GPUs; large cards by their memory."""
    TIERS = "tiers"
    SUM = "sum"


class PrefillGraphs(StrEnum):
    """Whether prefill steps are captured as graphs."""

    ABSENT = "absent"
    ASKED_BY_SIZE = "asked-by-size"
    ASKED = "asked"
    USUAL = "usual"
    """Unless something forbids it (`piecewise`)."""
    BREAKABLE = "breakable"
    """Likewise; less forbids it (`breakable`)."""


@frozen(kw_only=True, eq=False, repr=False)
class Counting(Value):
    """How one release counts memory.

    Attributes:
        since: the first release that counts like this.
        draft_inside: whether the weights of a draft are loaded before the pool is sized.
        own_drafts: whether the draft of a model itself is counted without a path that names it.
        enlarged_for: the algorithms whose pool is enlarged; empty: every one.
        window_drafts: whether drafts are counted beside layers with a window.
        window_capped: whether the window pool is sized by requests when their number is set and the radix cache is off.
        value_width: whether the width of values counts as such, and not as that of keys.
        indexer: whether the indexer's keys are in a token's bytes; with `indexer_sparse` only of layers that have one.
        sparse_rows: whether a token's bytes are those of the rows that sparse MLA keeps.
        hip_plain_rows: whether TileLang, the default on AMD, keeps rows of sparse MLA without scales.
        checkpoint_kv: whether `auto` follows the KV number format a checkpoint asks for.
        sparse_fp8: whether sparse MLA chooses fp8 on Blackwell; `sparse_trtllm`: with kernels whose rows have no scales.
        compressed: how the pools of attention that compresses over time are sized.
        pooled_keys: whether tokens share keys of an indexer that may pool them.
        extra_buffer: whether states have an extra buffer unless told otherwise.
        multimodal_gib: kept from the budget of a multimodal model, GiB.
        multimodal_scale: what every fraction, given or not, is scaled by for a multimodal model.
        images_when_asked: whether some models take images only when they are told to.
        speculation_mib: what the automatic fraction keeps for a draft and its graphs.
        disabled_graphs_free: whether the automatic fraction keeps nothing for decode graphs that are off.
        table_draft_columns: whether the request table has columns for drafted tokens.
        table_spare_row: whether it has one row more than requests.
        requests_by_context: whether a set number of requests is capped by pool over context.
        index_bytes: of an entry of Triton's index buffers; `index_by_token`: they have a row for each verified token.
        wide_low_tier: whether cards of 20 to 35 GiB capture larger batches and prefill longer chunks.
        captures_requests: whether the largest captured batch is no more than the requests asked for.
    """

    since: str = ""
    draft_inside: bool = False
    eagle: EaglePool = EaglePool.ENLARGED
    own_drafts: bool = False
    enlarged_for: frozenset[str] = frozenset()
    dflash: DflashPool = DflashPool.ABSENT
    windows: WindowPools = WindowPools.WHOLE
    window_drafts: bool = False
    window_capped: bool = False
    value_width: bool = False
    indexer: bool = False
    indexer_sparse: bool = False
    sparse_rows: bool = False
    hip_plain_rows: bool = False
    checkpoint_kv: bool = False
    sparse_fp8: bool = False
    sparse_trtllm: bool = False
    pooled_keys: bool = False
    states: StatePools = StatePools.ABSENT
    compressed: CompressedPools = CompressedPools.ABSENT
    extra_buffer: bool = False
    multimodal_gib: float = 0.0
    multimodal_scale: float = 1.0
    images_when_asked: bool = False
    fraction: FractionRule = FractionRule.STEPS
    speculation_mib: int = 0
    prefill_graphs: PrefillGraphs = PrefillGraphs.ABSENT
    disabled_graphs_free: bool = False
    table_draft_columns: bool = False
    table_spare_row: bool = False
    requests_by_context: bool = True
    index_bytes: int = 4
    index_by_token: bool = False
    wide_low_tier: bool = False
    captures_requests: bool = False


# Read in model_runner.py, model_runner_kv_cache_mixin.py and pool_configurator.py of srt/model_executor, from 0.5.16 on
# kv_cache_configurator.py and memory_pool.py of srt/mem_cache; in server_args.py, memory_hook.py and overrides.py; and in
# triton_backend.py.
_CHANGES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("0.4.1", {"multimodal_scale": 0.95, "table_spare_row": True}),
    # Only the draft's pool has more slots than the target's.
    ("0.4.2", {"eagle": EaglePool.UNPRICED}),
    ("0.4.4", {"eagle": EaglePool.ENLARGED}),
    ("0.4.5", {"multimodal_scale": 0.9}),
    ("0.4.5.post3", {"fraction": FractionRule.REST, "images_when_asked": True}),
    ("0.4.6.post2", {"fraction": FractionRule.TABLE}),
    (
        "0.4.9",
        {
            "multimodal_scale": 1.0,
            "table_spare_row": False,
            "fraction": FractionRule.TIERS,
            "speculation_mib": 2048,
            "windows": WindowPools.BY_LAYERS,
            "index_by_token": True,
        },
    ),
    (
        "0.5.3",
        {
            "enlarged_for": frozenset({"eagle", "eagle3", "nextn", "standalone"}),
            "fraction": FractionRule.SUM,
            "checkpoint_kv": True,
            "states": StatePools.GIVEN,
            "table_draft_columns": True,
            "index_bytes": 8,
            "sparse_fp8": True,
        },
    ),
    ("0.5.3.post1", {"indexer": True}),
    (
        "0.5.6",
        {
            "states": StatePools.DIVIDED,
            "prefill_graphs": PrefillGraphs.ASKED_BY_SIZE,
        },
    ),
    (
        "0.5.9",
        {
            "eagle": EaglePool.UNPRICED,
            "value_width": True,
            "windows": WindowPools.BY_BYTES,
            "states": StatePools.BEFORE,
            "prefill_graphs": PrefillGraphs.ASKED,
        },
    ),
    (
        "0.5.10",
        {
            "speculation_mib": 4096,
            "prefill_graphs": PrefillGraphs.USUAL,
            "hip_plain_rows": True,
            "sparse_trtllm": True,
            "table_spare_row": True,
        },
    ),
    ("0.5.11", {"dflash": DflashPool.SCALED}),
    ("0.5.12", {"compressed": CompressedPools.SLOTS_WITH_DRAFT}),
    ("0.5.13", {"states": StatePools.JOINT, "compressed": CompressedPools.SLOTS}),
    (
        "0.5.14",
        {
            "draft_inside": True,
            "eagle": EaglePool.SCALED,
            "extra_buffer": True,
            "speculation_mib": 0,
            "requests_by_context": False,
            "window_capped": True,
        },
    ),
    (
        "0.5.15",
        {
            "window_drafts": True,
            "disabled_graphs_free": True,
            "prefill_graphs": PrefillGraphs.BREAKABLE,
            "compressed": CompressedPools.REQUESTS,
        },
    ),
    ("0.5.17", {"states": StatePools.PADDED, "sparse_rows": True}),
    (
        "0.5.18",
        {"dflash": DflashPool.EXACT, "indexer_sparse": True, "multimodal_gib": 100 / 1024},
    ),
    ("0.5.20", {"wide_low_tier": True, "own_drafts": True}),
    ("0.5.21", {"compressed": CompressedPools.CAPPED}),
    ("0.5.22", {"pooled_keys": True}),
    ("0.5.23", {"captures_requests": True, "compressed": CompressedPools.CAPPED_PAGED}),
)
_LAST = "0.5.24"
"""The first release that nobody read."""


@cache
def counting(version: str) -> Counting | None:
    """How a release counts memory; `None` when that was not written down."""
    key = version_key(version)
    if key is None or not _key(_CHANGES[0][0]) <= key < _key(_LAST):
        return None
    result = Counting()
    for since, changes in _CHANGES:
        if _key(since) <= key:
            result = evolve(result, since=since, **changes)
    return result


@cache
def at_least(version: str, since: str) -> bool:
    """Whether a release is a given one or a later one."""
    key = version_key(version)
    return key is not None and key >= _key(since)


def _key(version: str) -> tuple[tuple[int, ...], int, int]:
    key = version_key(version)
    if key is None:
        raise ValueError(version)
    return key
