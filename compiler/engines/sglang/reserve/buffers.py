"""Workspaces and graph buffers of each attention backend.

Sources: 0.5.11 layers/attention/{triton,flashinfer,flashinfer_mla,flashattention,trtllm_mha,trtllm_mla}_backend.py,
`init_cuda_graph_state`; 0.4.6 and 0.5.13 triton_backend.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from compiler.engines.sglang.architectures import splits_windows
from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.aiter import aiter_lines
from compiler.engines.sglang.reserve.server import Server, line
from compiler.facts import Compressed, Mla
from compiler.memory.weights import GIB
from compiler.plan import Line


KV_SPLITS = 8
"""Triton's split of a sequence, `--triton-attention-num-kv-splits` (server_args.py)."""
_HIP_SPLITS = 16
_MOST_SPLITS, _SPLIT_TOKENS = 256, 32
_MIB = 1024


def _triton(server: Server) -> Iterator[Line]:
    # Indices and a byte of mask for every captured token and position.
    if not server.batches:
        return
    rule, context = server.launch.rule, server.launch.context
    tokens = server.target_tokens if rule.index_by_token else server.batch
    for name, several in (("target", tokens), ("draft", server.draft_tokens)):
        if several:
            yield line(
                f"graph index buffers and mask, {name}",
                several * context * (rule.index_bytes + 1) / GIB,
                f"{several} tokens x {context:,} x ({rule.index_bytes} + 1) B",
            )
    guess = server.launch.guess
    if guess.stepwise and server.batch:
        # One set of indices for each step of the draft, for as many tokens as it branches into.
        each = server.batch * max(1, guess.branches)
        yield line(
            "graph index buffers, draft steps",
            guess.steps * each * context * rule.index_bytes / GIB,
            f"{guess.steps} steps x {each} x {context:,} x {rule.index_bytes} B",
        )
    yield from _attention_logits(server)


def _splits(server: Server) -> int:
    """The split of MLA follows the multiprocessors from 0.5.13 on (triton_backend.py, line 48)."""
    if platform(server.gpu) is Platform.HIP:
        return _HIP_SPLITS
    if isinstance(server.model.attention, Mla) and at_least(server.launch.rule.since, "0.5.13"):
        blocks = -(-server.launch.context // _SPLIT_TOKENS)
        caps = (1 << (each - 1).bit_length() for each in (server.gpu.multiprocessors, blocks))
        return max(KV_SPLITS, min(*caps, _MOST_SPLITS))
    return KV_SPLITS


def _attention_logits(server: Server) -> Iterator[Line]:
    # fp32 [tokens, local heads, KV splits, head width], and one more for the log-sum.
    ranks = server.launch.attention_ranks
    attention = server.model.attention
    if isinstance(attention, Mla):
        width = attention.kv_lora_rank
    else:
        width = attention.head_dim if isinstance(attention, Compressed) else attention.v_head_dim
    parts = [(server.target_tokens, max(1, server.model.heads // ranks), _splits(server), width)]
    draft = server.block_draft
    if draft is not None:
        heads = max(1, draft.heads // ranks)
        parts.append((server.draft_tokens, heads, KV_SPLITS, draft.attention.v_head_dim))
    yield line(
        "attention logits of graphs",
        sum(tokens * heads * splits * (each + 1) * 4 for tokens, heads, splits, each in parts)
        / GIB,
        " + ".join(
            f"{tokens} x {heads} heads x {splits} x ({each} + 1) x 4 B"
            for tokens, heads, splits, each in parts
        ),
    )


_FLASHINFER_MIB, _FLASHINFER_WIDE_MIB = 384, 512
_WIDE_FLASHINFER = ("Qwen2", "Qwen3", "MiMo")


def _flashinfer_workspace(server: Server) -> Line:
    wide = server.model.architecture.startswith(_WIDE_FLASHINFER)
    size = _FLASHINFER_WIDE_MIB if wide else _FLASHINFER_MIB
    return line(
        "attention workspace", size / _MIB, f"{size} MiB (SGLANG_FLASHINFER_WORKSPACE_SIZE)"
    )


def _flashinfer(server: Server) -> Iterator[Line]:
    yield _flashinfer_workspace(server)
    context, batch = server.launch.context, server.batch
    if not batch:
        return
    if isinstance(server.model.attention, Mla):
        yield line("graph index buffers", batch * context * 4 / GIB, f"{batch} x {context:,} x 4 B")
        return
    tokens = server.target_tokens
    wrappers = 2 if server.model.window is not None else 1
    yield line(
        "graph index buffers and mask",
        tokens * context * (4 * wrappers + 1) / GIB,
        f"{tokens} tokens x {context:,} x ({wrappers} x 4 + 1) B",
    )
    guess = server.launch.guess
    if guess.stepwise:
        yield line(
            "graph index buffers, draft steps",
            guess.steps * batch * context * 4 / GIB,
            f"{guess.steps} steps x {batch} x {context:,} x 4 B",
        )


def _pages(server: Server, *, plain: int = 1) -> Iterator[Line]:
    if not server.batch:
        return
    pages = -(-server.launch.context // server.launch.page)
    tables = max(plain, 4 if server.launch.verify_width > 1 else 1)
    yield line(
        "graph page tables",
        tables * server.batch * pages * 4 / GIB,
        f"{tables} x {server.batch} x {pages:,} pages x 4 B",
    )


# Tables of a request without speculation: one for drafts too, whether there are any or not, before 0.5.1, and a third before
# 0.4.6 (layers/attention/flashattention_backend.py, `init_cuda_graph_state`).
_FA3_TABLES = (("0.5.1", 1), ("0.4.6", 2), ("0.4.1", 3))
# And one more where layers with a window have a pool of their own.
_WINDOW_TABLES_SINCE = "0.5.9"
# Attention in chunks has a table for every chunk that a context may have; from this release on (same place).
_CHUNKED, _CHUNKED_SINCE = "Llama4", "0.4.6.post3"


def _fa3(server: Server) -> Iterator[Line]:
    version, model = server.launch.version, server.model
    plain = next((count for since, count in _FA3_TABLES if at_least(version, since)), 1)
    pooled = model.window is not None and splits_windows(model.architecture, version)
    yield from _pages(server, plain=plain + (pooled and at_least(version, _WINDOW_TABLES_SINCE)))
    chunked = model.architecture.startswith(_CHUNKED) and at_least(version, _CHUNKED_SINCE)
    if model.window is None or not chunked or not server.batch:
        return
    chunks = -(-server.launch.context // model.window.size)
    pages = -(-model.window.size // server.launch.page)
    yield line(
        "graph page tables, chunks",
        server.batch * chunks * pages * 4 / GIB,
        f"{server.batch} x {chunks} chunks x {pages:,} pages x 4 B",
    )


_TRTLLM_MLA_MIB, _TRTLLM_MHA_MIB = 150, 512


def _trtllm_mla(server: Server) -> Iterator[Line]:
    yield line(
        "attention workspace",
        _TRTLLM_MLA_MIB / _MIB,
        f"{_TRTLLM_MLA_MIB} MiB (trtllm_mla_backend.py)",
    )
    yield from _pages(server)


def _trtllm_mha(server: Server) -> Iterator[Line]:
    yield _flashinfer_workspace(server)
    yield line(
        "attention workspace of its own",
        _TRTLLM_MHA_MIB / _MIB,
        f"{_TRTLLM_MHA_MIB} MiB (trtllm_mha_backend.py)",
    )
    yield from _pages(server)


def _sparse(server: Server) -> Iterator[Line]:
    yield line("attention workspace", _FLASHINFER_MIB / _MIB, f"{_FLASHINFER_MIB} MiB")
    tokens, context = server.target_tokens, server.launch.context
    if tokens:
        # What the indexer scores: fp32 for every captured token and position (0.5.11 layers/attention/nsa/nsa_indexer.py).
        yield line(
            "indexer scores of graphs",
            tokens * context * 4 / GIB,
            f"{tokens} tokens x {context:,} x 4 B",
        )
    yield from _pages(server)


def _compressed(server: Server) -> Iterator[Line]:
    tokens, entries = server.target_tokens, compressed_entries(server)
    if tokens and entries:
        # 0.5.13 layers/attention/dsv4/indexer.py, line 560: fp32 for every captured token and entry.
        yield line(
            "indexer scores of graphs",
            tokens * entries * 4 / GIB,
            f"{tokens} tokens x {entries:,} entries x 4 B",
        )
    yield from _pages(server)


_INDEXED_RATIO = 4


def compressed_entries(server: Server) -> int:
    """Entries of the whole context that an indexer of compressed attention scores; 0 without one."""
    attention = server.model.attention
    if not isinstance(attention, Compressed) or _INDEXED_RATIO not in attention.ratios:
        return 0
    return server.launch.context // _INDEXED_RATIO


BACKENDS: Mapping[str, Callable[[Server], Iterator[Line]]] = {
    "triton": _triton,
    "flashinfer": _flashinfer,
    "fa3": _fa3,
    "trtllm_mla": _trtllm_mla,
    "trtllm_mha": _trtllm_mha,
    "aiter": aiter_lines,
    "nsa": _sparse,
    "dsa": _sparse,
    "dsv4": _compressed,
}
"""The buffers of each attention backend that was read; another one's are said to be unpriced."""


def buffers(server: Server) -> Iterator[Line]:
    """What the server's attention backend allocates."""
    make = BACKENDS.get(server.launch.backend)
    if make is not None:
        yield from make(server)
