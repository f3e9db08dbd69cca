"""What the fraction leaves outside the static budget, and what must fit there.

Everything here is allocated after the pool: it never changes the pool, and when it does not fit the server dies at start,
or minutes later in a long prefill.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.drafts import draft_rotary_gib, draft_weights_gib
from compiler.engines.sglang.reserve.buffers import BACKENDS, buffers
from compiler.engines.sglang.reserve.dspark import dspark_lines
from compiler.engines.sglang.reserve.exchange import exchange_lines
from compiler.engines.sglang.reserve.server import Server, line
from compiler.engines.sglang.reserve.steps import fetched, graph_lines, peak, runtime
from compiler.engines.sglang.reserve.vocabulary import vocabulary_lines
from compiler.engines.sglang.roles import waiting_rows
from compiler.memory.tensors import draft_tensors
from compiler.memory.weights import GIB, Split
from compiler.plan import Line


__all__ = ["BACKENDS", "Server", "reserve_lines"]


def reserve_lines(server: Server) -> tuple[Line, ...]:
    """All lines, those that stay first, then the peak of those that come and go."""
    lines = [
        *_draft_weights(server),
        *dspark_lines(server),
        _request_table(server),
        *_host_tables(server),
        *buffers(server),
        *exchange_lines(server),
    ]
    lines += [
        *graph_lines(server),
        *vocabulary_lines(server),
        *fetched(server),
        runtime(),
        peak(server),
    ]
    return tuple(lines)


def _draft_weights(server: Server) -> Iterator[Line]:
    """The draft's weights, where it is loaded after the pool."""
    launch = server.launch
    if launch.rule.draft_inside or not server.drafts:
        return
    draft = server.draft
    if draft is None:
        yield line(
            "draft weights",
            draft_weights_gib(launch.guess, server.model, split=server.split),
            "the model's own extra layers",
        )
        return
    undivided = draft_tensors(draft, split=Split())
    yield line(
        "draft weights",
        draft_weights_gib(launch.guess, server.model, split=server.split),
        f"{sum(e.elements * e.count for e in undivided):,} parameters, split over {launch.ranks} but for `fc`",
    )
    rotary, formula = draft_rotary_gib(draft, ranks=launch.attention_ranks)
    yield line("draft rotary table and stacked KV weights", rotary, formula)


def _request_table(server: Server) -> Line:
    launch = server.launch
    drafted = launch.verify_width if launch.guess.algorithm is not None else 0
    width = launch.context + 4 + (drafted if launch.rule.table_draft_columns else 0)
    tables = 2 if launch.draft_windowed and server.draft else 1
    twice = "2 x " if tables > 1 else ""
    waiting = waiting_rows(launch.role, rows=server.rows, asked=launch.extra_slots)
    spare = waiting + (1 if launch.rule.table_spare_row else 0)
    rows = f"({server.rows} + {spare})" if spare else f"{server.rows}"
    return line(
        "request table",
        tables * (server.rows + spare) * width * 4 / GIB,
        f"{twice}{rows} requests x {width:,} tokens x 4 B",
    )


def _host_tables(server: Server) -> Iterator[Line]:
    """What says where the tokens of each request lie, where the host holds contexts."""
    launch = server.launch
    if launch.hosted is None:
        return
    rows, layers = server.rows + 1, server.model.layers
    size = launch.hosted.table_bytes(
        rows=rows, width=launch.context + 4, layers=layers, page=launch.page
    )
    yield line(
        "tables of what is on the host",
        size / GIB,
        f"{rows} requests x {size // rows / 2**20:,.1f} MiB",
    )
