"""Buffers that ranks exchange data through.

Sources: FlashInfer's workspace as 0.5.11 srt/layers/flashinfer_comm_fusion.py mirrors it
(`_flashinfer_trtllm_workspace_allocation_sizes`), for 2,048 tokens (`FUSE_ALLREDUCE_MAX_BATCH_SIZE`); DeepEP's
csrc/config.hpp (`LowLatencyLayout`, `get_nvl_buffer_size_hint`, `get_rdma_buffer_size_hint`) and deep_ep/buffer.py
(`get_dispatch_config`), https://github.com/deepseek-ai/DeepEP.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.exchange import Exchange, Fusion
from compiler.engines.sglang.reserve.elastic import elastic_lines
from compiler.engines.sglang.reserve.server import Server, line
from compiler.facts import Evidence
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.ranges import Range


_FUSED_TOKENS, _LAMPORT_BUFFERS = 2048, 3
_LAMPORT_MOST = 2**31 - 2**21


def exchange_lines(server: Server) -> Iterator[Line]:
    """What is kept, line by line."""
    asked = server.launch.exchange
    if asked.symmetric_gib:
        yield line(
            "symmetric memory",
            asked.symmetric_gib,
            f"{asked.symmetric_gib:g} GiB (SGLANG_SYMM_MEM_PREALLOC_GB_SIZE)",
        )
    if asked.fusion is not Fusion.OFF:
        yield _fused(server)
    if asked.elastic:
        yield from elastic_lines(server, asked)
    elif asked.experts:
        yield _dispatched(server, asked)
    if asked.rebalances:
        yield _rebalanced(server)


def _fused(server: Server) -> Line:
    """FlashInfer's own allocator asks first whether there is room, from 0.5.11 on; else the server goes without."""
    one = server.launch.ranks * _FUSED_TOKENS * server.model.hidden * 2
    size = (one + _LAMPORT_BUFFERS * min(one, _LAMPORT_MOST)) / GIB
    asked = server.launch.exchange.fusion is Fusion.ASKED
    return line(
        "workspace of fused all-reduce",
        Range(size if asked else 0.0, size, size),
        f"(1 + {_LAMPORT_BUFFERS}) x {server.launch.ranks} ranks x {_FUSED_TOKENS} tokens x {server.model.hidden} x 2 B",
    )


def _rebalanced(server: Server) -> Line:
    """Experts of one layer once more, while they are dealt out anew (0.5.11 srt/eplb/expert_location_updater.py, line 145)."""
    tensors = target_tensors(server.model, split=server.split)
    size = sum(each.bytes_each for each in tensors if each.role.startswith("routed experts")) / GIB
    return line(
        "experts of a layer, dealt out anew",
        Range(0.0, size, size),
        "one layer's at a time",
        Evidence.ASSUMED,
    )


# Channels of 20 multiprocessors, ranks of one node, and most chosen experts and scales of a token.
_CHANNELS, _NODE_RANKS, _MOST_CHOSEN, _MOST_SCALES = 10, 8, 128, 128
# Tokens of a channel's buffer between GPUs of a node, by ranks (`get_dispatch_config`); between nodes.
_NODE_TOKENS = ((8, 256), (64, 288), (96, 480), (128, 560))
_MOST_NODE_TOKENS, _RDMA_TOKENS = 720, 128
# NVSHMEM's heap grows in such steps (deep_ep/buffer.py, `NVSHMEM_CUMEM_GRANULARITY`).
_HEAP_STEP_GIB = 0.5


def _dispatched(server: Server, asked: Exchange) -> Line:
    """Between the GPUs of a node, and the larger of what other steps and low-latency steps need between nodes."""
    hidden = server.model.hidden
    token = 2 * hidden + _MOST_CHOSEN * (8 + 4) + _MOST_SCALES * 4
    near = far = 0
    if asked.normal:
        slots = next(
            (tokens for ranks, tokens in _NODE_TOKENS if asked.ranks <= ranks), _MOST_NODE_TOKENS
        )
        near = _CHANNELS * min(asked.ranks, _NODE_RANKS) * slots * token
        nodes = asked.ranks // _NODE_RANKS
        far = 2 * _CHANNELS * nodes * _RDMA_TOKENS * token if nodes > 1 else 0
    # The scales of combined values came later; low without them.
    plain, scaled = (
        2 * asked.experts * asked.dispatched * (max(16 + 2 * hidden, combined) + combined)
        for combined in (2 * hidden, 2 * hidden + hidden // 128 * 4)
    )
    low, best = ((near + max(far, size)) / GIB for size in (plain, scaled))
    return line(
        "buffers to exchange tokens of experts",
        Range(low, best, best + _HEAP_STEP_GIB),
        f"2 x {asked.experts} experts x {asked.dispatched} tokens, sent and received; {near / GIB:.2f} GiB within a node",
        Evidence.ASSUMED,
    )
