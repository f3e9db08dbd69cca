"""Workspace and graph buffers of AMD's aiter backend.

Its workspace is made after the pool and grows with it: a row for each request that the request table has, and where nobody
limits requests the pool does (sgl-project/sglang#18262: 51.75 GiB beside a pool of 1.67 million tokens). No release to 0.5.23
keeps room for it; sgl-project/sglang#20888 and #18263 would, and are not merged.

Sources: 0.4.7 to 0.5.23 layers/attention/aiter_backend.py, `__init__` and `init_cuda_graph_state`.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.architectures import splits_windows
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.server import Server, line
from compiler.facts import Mla
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.profile import Profile


# Asks for kernels without that workspace, where it is one of these texts (utils/common.py, `get_bool_env_var`); a pool of a
# window has them anyway.
_UNIFIED, _TRUE = "SGLANG_USE_AITER_UNIFIED_ATTN", frozenset({"1", "true"})
_UNIFIED_SINCE = "0.5.10"
_PARTITION = 256
# A captured batch has an index for each token, but in these releases one for each page.
_BY_PAGE_SINCE, _BY_TOKEN_SINCE = "0.5.10", "0.5.13"


def asks_unified(profile: Profile) -> bool:
    """Whether a profile asks for aiter's unified kernels."""
    return profile.env.get(_UNIFIED, "").lower() in _TRUE


def aiter_lines(server: Server) -> Iterator[Line]:
    """What the backend allocates."""
    if not isinstance(server.model.attention, Mla) and not _is_unified(server):
        yield _workspace(server, width=server.model.attention.head_dim)
    if not server.batch:
        return
    context, guess = server.launch.context, server.launch.guess
    places = _indexed(server)
    yield line(
        "graph index buffers and mask",
        (server.batch * places * 4 + server.target_tokens * context) / GIB,
        f"{server.batch} x {places:,} x 4 B + {server.target_tokens} tokens x {context:,} x 1 B",
    )
    if guess.stepwise:
        each = server.batch * max(1, guess.branches)
        yield line(
            "graph index buffers, draft steps",
            guess.steps * each * context * 4 / GIB,
            f"{guess.steps} steps x {each} x {context:,} x 4 B",
        )


def _is_unified(server: Server) -> bool:
    version, model = server.launch.version, server.model
    pooled = model.window is not None and splits_windows(model.architecture, version)
    return at_least(version, _UNIFIED_SINCE) and (pooled or server.unified)


def _workspace(server: Server, *, width: int) -> Line:
    heads = max(1, server.model.heads // server.launch.attention_ranks)
    parts = -(-server.launch.context // _PARTITION)
    return line(
        "attention workspace",
        server.rows * heads * parts * (width + 2) * 4 / GIB,
        f"{server.rows} requests x {heads} heads x {parts:,} parts x ({width} + 2) x 4 B",
    )


def _indexed(server: Server) -> int:
    """Places of one request in the indices of a captured batch."""
    version, page = server.launch.version, server.launch.page
    by_page = at_least(version, _BY_PAGE_SINCE) and not at_least(version, _BY_TOKEN_SINCE)
    return -(-server.launch.context // page) if by_page else server.launch.context
