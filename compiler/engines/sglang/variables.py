"""Environment variables of the engine that change memory and that the model does not price; said, never guessed.

Sources: srt/environ.py of 0.5.11 to 0.5.23, and of each variable the releases whose sources read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import switch
from compiler.facts import Model
from compiler.profile import Profile
from compiler.value import Value


_UNSET = frozenset({""})
_NONE = frozenset({"", "0"})


@frozen(kw_only=True, eq=False, repr=False)
class Known(Value):
    """One variable.

    Attributes:
        does: what it does to memory, after its name.
        since: the first release that reads it; none: it is not the engine's own, and every one obeys it.
        until: the first that does not any more, if there is one.
        usual: of a switch, what it is where nobody sets it; of a value, the texts in lower case that change nothing.
        architectures: the beginnings of those it concerns; none: all.
    """

    does: str
    since: str | None = None
    until: str | None = None
    usual: bool | frozenset[str] = False
    architectures: tuple[str, ...] = ()


_V4 = ("DeepseekV4",)
_DEEPSEEK = ("Deepseek", "Kimi")

POOL: Mapping[str, Known] = {
    "SGLANG_ENABLE_POST_CAPTURE_KV_SIZING": Known(
        does="sizes the pool by what is free once graphs are captured", since="0.5.16"
    ),
    "SGLANG_CI_SMALL_KV_SIZE": Known(
        does="sets the size of the pool", since="0.4.4", until="0.5.7", usual=_UNSET
    ),
    "SGLANG_MAMBA_CONV_DTYPE": Known(
        does="changes the number format of states of convolutions",
        since="0.5.9",
        usual=frozenset({"", "bfloat16", "float16"}),
    ),
    "SGLANG_DSV4_COMPRESS_STATE_DTYPE": Known(
        does="changes the number format of states",
        since="0.5.14",
        usual=frozenset({"", "float32"}),
        architectures=_V4,
    ),
    "SGLANG_DSV4_KV_LAYOUT": Known(
        does="changes the bytes of a token",
        since="0.5.21",
        usual=frozenset({"", "v4"}),
        architectures=_V4,
    ),
    "SGLANG_DSV4_UNIFIED_KV_FP8": Known(
        does="changes the bytes of a token", since="0.5.20", architectures=_V4
    ),
    "SGLANG_EXPERIMENTAL_ONLINE_C128_MTP": Known(
        does="keeps states of drafted tokens in another way", since="0.5.14", architectures=_V4
    ),
    "SGLANG_OPT_USE_ONLINE_COMPRESS": Known(
        does="keeps states in another way", since="0.5.12", architectures=_V4
    ),
    "SGLANG_OPT_SM120_DIRECT_SWA_KV": Known(
        does="lays the window's pool out in another way", since="0.5.21", architectures=_V4
    ),
}
"""What changes the pool whatever the weights are."""

WEIGHTS: Mapping[str, Known] = {
    "SGLANG_FP8_IGNORED_LAYERS": Known(
        does="leaves layers out of what is quantized", since="0.5.10", usual=_UNSET
    ),
    "SGLANG_FP4_IGNORED_LAYERS": Known(
        does="leaves layers out of what is quantized", since="0.5.14", usual=_UNSET
    ),
    "SGLANG_NVFP4_CKPT_FP8_GEMM_IN_ATTN": Known(
        does="stores attention in fp8", since="0.5.4", architectures=_DEEPSEEK
    ),
    "SGLANG_NVFP4_CKPT_FP8_NEXTN_MOE": Known(
        does="stores the draft's experts in fp8", since="0.5.7", architectures=_DEEPSEEK
    ),
    "SGLANG_ENABLE_EMBED_REPLICATION": Known(
        does="keeps the embedding whole on every rank", since="0.5.13", architectures=_DEEPSEEK
    ),
    "SGLANG_USE_DYNAMIC_MXFP4_LINEAR": Known(
        does="stores matrices in four bits", since="0.5.3", until="0.5.23"
    ),
    "SGLANG_DSV4_FP4_EXPERTS": Known(
        does="stores experts in another format", since="0.5.12", usual=True, architectures=_V4
    ),
    "SGLANG_DSV4_FP4_DEQUANT": Known(
        does="stores experts in another format", since="0.5.15", architectures=_V4
    ),
    "SGLANG_DSPARK_OPT_MARKOV_W2_BF16": Known(
        does="stores half of the draft's Markov head in 32 bits",
        since="0.5.16",
        usual=True,
        architectures=_V4,
    ),
}
"""What changes the weights: without a log of the load the pool is not known."""

_TOKENS = "sizes buffers to exchange tokens between experts"
_STEPS = "changes how memory is kept between steps"
IMAGE_CACHE, FEATURE_CACHE = "SGLANG_VLM_CACHE_SIZE_MB", "SGLANG_MM_FEATURE_CACHE_MB"
"""Two that some releases count themselves, before they size the pool (`layouts.counted_variables`)."""
RESERVE: Mapping[str, Known] = {
    "PYTORCH_ALLOC_CONF": Known(does=_STEPS, usual=_UNSET),
    "PYTORCH_CUDA_ALLOC_CONF": Known(does=_STEPS, usual=_UNSET),
    "NCCL_BUFFSIZE": Known(does="sizes the buffers of each channel of NCCL", usual=_UNSET),
    "SGLANG_FLASHINFER_WORKSPACE_SIZE": Known(
        does="sizes the workspace of the attention kernels, 384 MiB by default",
        since="0.5.3.post2",
        usual=_UNSET,
    ),
    "SGLANG_MM_BUFFER_SIZE_MB": Known(
        does="keeps a buffer for images on the GPU", since="0.5.6.post1", usual=_NONE
    ),
    FEATURE_CACHE: Known(
        does="sizes a pool of image features on the GPU, 1 GiB by default, where it is used",
        since="0.5.4.post3",
        usual=_UNSET,
    ),
    IMAGE_CACHE: Known(
        does="sizes a cache of image embeddings, 100 MiB by default",
        since="0.4.6.post5",
        usual=_UNSET,
    ),
    "SGLANG_EMBEDDING_POOL_SIZE_MB": Known(
        does="sizes a pool of embeddings, 4 GiB by default, where it is used",
        since="0.5.13",
        usual=_UNSET,
    ),
    "SGLANG_DISAGG_STAGING_POOL_SIZE_MB": Known(
        does="sizes a pool to hand KV over, 4 GiB by default, where it is used",
        since="0.5.10",
        usual=_UNSET,
    ),
    "SGLANG_DSV4_FP4_LOGITS_BUDGET_MB": Known(
        does="sizes the logits of a sparse model's indexer, 2 GiB by default",
        since="0.5.23",
        usual=_UNSET,
    ),
    "SGLANG_ENABLE_TORCH_COMPILE": Known(
        does="compiles graphs with workspaces of their own", since="0.4.6"
    ),
    "SGLANG_ENABLE_GRAPH_POOL_PRECARVE": Known(
        does="takes the memory of graphs in one piece", since="0.5.20"
    ),
    "SGLANG_ENABLE_GRAPH_POOL_BORROW": Known(
        does="lends steps the memory of graphs", since="0.5.19"
    ),
    "SGLANG_ENABLE_CUDA_GRAPH_DEDUP": Known(
        does="shares memory among captured graphs", since="0.5.15"
    ),
    "SGLANG_USE_BREAKABLE_CUDA_GRAPH": Known(does="captures graphs in another way", since="0.5.11"),
    "SGLANG_MEMORY_SAVER_CUDA_GRAPH": Known(
        does="keeps graphs in an allocator of their own", since="0.5.4.post2"
    ),
    "SGLANG_VIT_ENABLE_CUDA_GRAPH": Known(does="captures the vision tower", since="0.5.7"),
    "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB": Known(
        does="sizes the workspace of all-reduce, 16 MiB by default",
        since="0.5.16",
        usual=frozenset({"", "16384"}),
    ),
    "SGLANG_MORI_NUM_MAX_DISPATCH_TOKENS_PER_RANK": Known(does=_TOKENS, since="0.5.9", usual=_NONE),
    "SGLANG_MORI_PREALLOC_MAX_RECV_TOKENS": Known(does=_TOKENS, since="0.5.11", usual=_NONE),
    "SGLANG_NIXL_EP_NUM_MAX_DISPATCH_TOKENS_PER_RANK": Known(
        does=_TOKENS, since="0.5.10", usual=_NONE
    ),
    "SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK": Known(
        does=_TOKENS, since="0.5.17", usual=_NONE
    ),
    "SGLANG_FLASHINFER_NUM_MAX_DISPATCH_TOKENS_PER_RANK": Known(
        does=_TOKENS, since="0.5.9", usual=_NONE
    ),
    "SGLANG_FLASHINFER_MEGAMOE_MAX_TOKENS_PER_RANK": Known(
        does=_TOKENS, since="0.5.20", usual=_NONE
    ),
    "SGLANG_OPT_DEEPGEMM_MEGA_MOE_NUM_MAX_TOKENS_PER_RANK": Known(
        does=_TOKENS, since="0.5.12", usual=_NONE
    ),
    "SGLANG_DISAGG_STAGING_BUFFER": Known(does="keeps a buffer to hand KV over", since="0.5.10"),
    "SGLANG_DISAGG_STAGING_BUFFER_SIZE_MB": Known(
        does="sizes a buffer to hand KV over, 64 MiB by default",
        since="0.5.10",
        until="0.5.17",
        usual=frozenset({"", "64"}),
    ),
    "SGLANG_DISAGGREGATION_NUM_PRE_ALLOCATE_REQS": Known(
        does="adds rows to the request table of a server that decodes",
        since="0.5.10",
        until="0.5.14",
        usual=_NONE,
    ),
    "SGLANG_MOONCAKE_CUSTOM_MEM_POOL": Known(
        does="keeps the pool in an allocator of its own",
        since="0.4.8",
        usual=frozenset({"", "0", "false"}),
    ),
    "SGLANG_DSA_MQA_LOGITS_FREE_MEM_FRACTION": Known(
        does="lets the indexer's scores take more of what is free",
        since="0.5.13",
        usual=frozenset({"", "0.2"}),
    ),
    "SGLANG_DEEPGEMM_MASKED_MEMORY_BUDGET_FRACTION": Known(
        does="lets experts take more of what is free",
        since="0.5.18",
        usual=frozenset({"", "0.25"}),
    ),
}
"""What changes the reserve only: the pool stands, the reserve is less sure."""


def changing(
    profile: Profile, table: Mapping[str, Known], *, model: Model | None
) -> Iterator[tuple[str, str]]:
    """The variables of a table that are set to something that this release takes to heart, each with what it does."""
    version = profile.engine.version
    for name, known in table.items():
        if name not in profile.env or not _changes(profile.env, name, usual=known.usual):
            continue
        if known.since is not None and not at_least(version, known.since):
            continue
        if known.until is not None and at_least(version, known.until):
            continue
        concerned = model is not None and model.architecture.startswith(known.architectures)
        if concerned or not known.architectures:
            yield name, known.does


def _changes(env: Mapping[str, str], name: str, *, usual: bool | frozenset[str]) -> bool:
    if isinstance(usual, bool):
        return switch(env, name) not in {None, usual}
    return env[name].strip().lower() not in usual
