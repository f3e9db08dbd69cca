"""What DeepEP v2 keeps to exchange tokens of experts, and what experts get of them in a decode step.

Its buffer and what a decode step receives are as large as the tokens that a rank may send out, whatever is sent: it is made at
the first exchange, from 0.5.22 on once graphs are captured. Sources: 0.5.19 to 0.5.23 srt/layers/moe/token_dispatcher/deepep_v2.py
and moe_runner/deep_gemm.py (`_run_masked_gemm`); csrc/elastic/buffer.hpp (`calculate_buffer_size`, `dispatch`) and
deep_ep/include/deep_ep/common/layout.cuh (`TokenLayout`), https://github.com/deepseek-ai/DeepEP.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Moe
from compiler.engines.sglang.exchange import Exchange
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.server import Server, line
from compiler.engines.sglang.roles import Role
from compiler.facts import Evidence
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.ranges import Range


_ALIGN, _STEP = 32, 2**21
"""Bytes that parts of a token are filled up to, and steps that the driver hands memory out in."""
# Numbers and flags of 1,024 ranks and 1,280 channels, 12 bytes of each.
_WORKSPACE_GIB = 1024 * 1280 * 12 / GIB
_SCALED, _INDEX = 32, 4
"""Values of a scale, as far as the buffer is concerned, and the bytes of a number."""
# Rows of an expert come in such steps; from this release on no more than all ranks of a group without replicas may send.
_ROWS, _BOUNDED_SINCE = 128, "0.5.23"


def elastic_lines(server: Server, asked: Exchange) -> Iterator[Line]:
    """The buffer, and the rows of a decode step."""
    moe = server.model.moe
    if moe is None or not asked.elastic:
        return
    yield _buffer(server, moe, asked)
    if server.launch.role is not Role.PREFILL:
        yield _rows(server, moe, asked)


def _aligned(size: int, step: int = _ALIGN) -> int:
    return -(-size // step) * step


def _width(server: Server, moe: Moe) -> int:
    """What goes into an expert."""
    return moe.latent or server.model.hidden


def _buffer(server: Server, moe: Moe, asked: Exchange) -> Line:
    """The larger of what arrives for experts, in fp8, and of what comes back, in 16 bits; several hosts hand on, too."""
    width, chosen, tokens, ranks = (
        _width(server, moe),
        moe.active_experts,
        asked.elastic,
        asked.ranks,
    )
    sent = width + _aligned(-(-width // _SCALED) * _INDEX)
    sent += _aligned((3 * chosen + 1) * _INDEX)
    back = 2 * width + _aligned(2 * chosen * _INDEX)
    size = max(ranks * sent, min(ranks, chosen) * back) * tokens
    gib = _aligned(size, step=_STEP) / GIB + _WORKSPACE_GIB
    several = 2.0 if asked.hosts > 1 else 1.0
    return line(
        "buffers to exchange tokens of experts",
        Range(gib, gib, several * gib + _STEP / GIB),
        f"{tokens:,} tokens from each of {ranks} ranks, in fp8 or back in 16 bits",
        Evidence.ASSUMED if several > 1 else Evidence.DERIVED,
    )


def _rows(server: Server, moe: Moe, asked: Exchange) -> Line:
    """Every expert of a rank gets as many rows as all ranks may send it; low is the first matrix's output alone."""
    width, columns = _width(server, moe), moe.intermediate
    experts = asked.experts // max(1, asked.ranks)
    most = asked.ranks * asked.elastic
    each, fewest = most, most
    if at_least(server.launch.version, _BOUNDED_SINCE) and server.launch.replicas == 1:
        batch = max(1, server.batch or server.rows) * server.launch.verify_width
        fewest = min(most, _aligned(batch + 2 * asked.ranks, step=_ROWS))
        each = min(most, _aligned(asked.ranks * (batch + 1), step=_ROWS))
    received = _aligned(most * min(moe.active_experts, experts) + (_ROWS - 1) * experts, step=_ROWS)
    low = experts * fewest * 4 * columns

    def peak(rows: int) -> int:
        steps = (
            experts * rows * (width + 4 * columns),
            experts * rows * 5 * columns,
            experts * rows * (columns + 2 * width),
            experts * rows * 2 * width + received * 2 * width,
        )
        return received * width + max(steps)

    return line(
        "rows of experts in a decode step",
        Range(low / GIB, peak(fewest) / GIB, peak(each) / GIB),
        f"{experts} experts x {fewest:,} rows of {width:,} + 2 x {columns:,}, and {received:,} that are received",
        Evidence.ASSUMED,
    )
