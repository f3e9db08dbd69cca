"""What the server will run with: the profile's settings with this engine's defaults filled in.

Sources are SGLang 0.5.11; `srt/` is left out of file names.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.facts import Draft, Gpu, Mla, Model
from compiler.profile import Profile
from compiler.value import Value


TREE = "ddtree"
BLOCK_DRAFTED = frozenset({"dflash", TREE})
"""The algorithms that draft a block at once with a DFlash draft."""

SPECULATIVE_RUNNING_REQUESTS = 48
"""Most requests at once under speculation when nothing is set (server_args.py, lines 3420-3431)."""

DFLASH_BLOCK_SIZE = 16
"""Block size when neither the flag nor the draft's config gives one (server_args.py, lines 3395-3412)."""

_KV_BYTES = {"bf16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}

# Total memory in MiB below which a tier ends -> (chunked prefill, largest graph batch below TP 4, and from TP 4);
# server_args.py, lines 1319-1383.
_TIERS = (
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 2048, 24, 80),
    (60 * 1024, 4096, 32, 160),
    (90 * 1024, 8192, 256, 512),
    (160 * 1024, 8192, 256, 512),
)
_LARGEST_TIER = (16384, 512, 512)
_WIDE_TENSOR_PARALLEL = 4


@frozen(kw_only=True, eq=False, repr=False)
class Launch(Value):
    """The figures that decide memory.

    Attributes:
        ranks: tensor parallel size.
        attention_ranks: ranks that share one attention layer's heads.
        kv_bytes: bytes of one KV element.
        page: tokens a page.
        chunk: tokens of a prefill step.
        verify_width: tokens a request verifies at once, and the slots its last step wants free.
        draft_width: tokens a request drafts at once.
        graph_max_batch: largest batch that is captured, before the running requests cap it; 0 without graphs.
        backend: attention backend.
        draft_windowed: whether the draft has a window, and with it a request table of its own.
    """

    ranks: int
    attention_ranks: int
    kv_bytes: int
    page: int
    chunk: int
    verify_width: int
    draft_width: int
    graph_max_batch: int
    backend: str
    context: int
    running_requests: int | None
    draft_windowed: bool

    def table_rows(self, pool_tokens: float) -> int:
        """Rows of the request table: most requests at once (model_runner_kv_cache_mixin.py, line 698)."""
        by_pool = min(max(int(pool_tokens / self.context * 512), 2048), 4096)
        if self.running_requests is None:
            return max(1, min(by_pool, int(pool_tokens) // 2))
        return min(self.running_requests, by_pool)

    def captured_batches(self, rows: int) -> tuple[int, ...]:
        """The batch sizes captured as graphs (server_args.py, lines 1497-1528; cuda_graph_runner.py, line 496)."""
        if self.graph_max_batch == 0:
            return ()
        top = self.graph_max_batch
        if self.verify_width > 1:
            sizes = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8)]
            sizes += range(272, top + 1, 16)
        else:
            sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16)]
            sizes += range(512, top + 1, 32)
        kept = {size for size in [*sizes, top] if size <= top}
        if max(kept) > rows:
            kept.add(rows)
        return tuple(sorted(size for size in kept if size <= rows))


def launch(profile: Profile, *, gpu: Gpu, model: Model, draft: Draft | None) -> Launch:
    """Fill in the engine's defaults for one profile."""
    parallel, memory, speculative = profile.parallel, profile.memory, profile.speculative
    chunk, graph_max_batch = _tier(gpu, ranks=parallel.tensor)
    block = draft_width(profile, draft)
    backend = profile.engine.attention_backend or default_backend(gpu, model)
    return Launch(
        ranks=parallel.tensor,
        attention_ranks=parallel.tensor // parallel.data
        if parallel.dp_attention
        else parallel.tensor,
        kv_bytes=kv_bytes(memory.kv_dtype, model),
        page=page_size(backend, memory.page_size),
        chunk=_chunk(profile, default=chunk),
        verify_width=verify_width(profile, draft),
        draft_width=block,
        graph_max_batch=0
        if profile.flags.get("disable-cuda-graph") is True
        else memory.cuda_graph_max_batch or graph_max_batch,
        backend=backend,
        context=profile.serve.context,
        running_requests=requested_running_requests(profile),
        draft_windowed=speculative is not None and speculative.draft_window is not None,
    )


def kv_bytes(kv_dtype: str, model: Model) -> int:
    """Bytes of one KV element; `auto` follows the model's number format."""
    return _KV_BYTES.get(kv_dtype, model.dtype_bits // 8)


def drafts_blocks(profile: Profile) -> bool:
    """Whether the profile speculates with a DFlash draft."""
    return profile.speculative is not None and profile.speculative.algorithm in BLOCK_DRAFTED


def draft_width(profile: Profile, draft: Draft | None) -> int:
    """Tokens drafted at once by DFlash and what rides on it; 1 for everything else."""
    speculative = profile.speculative
    if speculative is None or speculative.algorithm not in BLOCK_DRAFTED:
        return 1
    return speculative.block_size or (draft.block_size if draft else DFLASH_BLOCK_SIZE)


def verify_width(profile: Profile, draft: Draft | None) -> int:
    """Tokens a request verifies at once: the block, or the tree's nodes and its root.

    The tree's default budget is the block size less one (sglang pull request 29907).
    """
    speculative = profile.speculative
    block = draft_width(profile, draft)
    if speculative is None or speculative.algorithm != TREE:
        return block
    return (speculative.tree_budget or block - 1) + 1


def requested_running_requests(profile: Profile) -> int | None:
    """Most requests at once as asked for, per attention rank; `None` when the pool decides."""
    requests = profile.serve.max_running_requests
    if requests is None:
        return SPECULATIVE_RUNNING_REQUESTS if profile.speculative else None
    return max(1, requests // profile.parallel.data) if profile.parallel.dp_attention else requests


# Pages a backend can have, the first of them forced when another is asked for (server_args.py, lines 2587-2611).
_PAGES: Mapping[str, tuple[int, ...]] = {
    "flashmla": (64,),
    "cutlass_mla": (128,),
    "trtllm_mla": (64, 32),
}


def page_size(backend: str, asked: int | None) -> int:
    """Tokens of a page: as asked for, where the backend can have that."""
    pages = _PAGES.get(backend)
    page = asked or 1
    return page if pages is None or page in pages else pages[0]


def default_backend(gpu: Gpu, model: Model) -> str:
    """The attention backend chosen when none is set (server_args.py, `_handle_attention_backend_compatibility`)."""
    generation = gpu.compute_capability.partition(".")[0]
    if generation == "9":
        return "fa3"
    if isinstance(model.attention, Mla):
        return "trtllm_mla" if generation == "10" else "triton"
    return "trtllm_mha" if generation == "10" else "flashinfer"


def _chunk(profile: Profile, *, default: int) -> int:
    """Tokens of a prefill step; without chunking (0 or less) a whole prompt is one."""
    asked = profile.memory.chunked_prefill
    if asked is None:
        return default
    return asked if asked > 0 else profile.serve.context


def _tier(gpu: Gpu, *, ranks: int) -> tuple[int, int]:
    wide = ranks >= _WIDE_TENSOR_PARALLEL
    for below_mib, chunk, narrow_batch, wide_batch in _TIERS:
        if gpu.total_mib < below_mib:
            return chunk, wide_batch if wide else narrow_batch
    return _LARGEST_TIER[0], _LARGEST_TIER[1]
