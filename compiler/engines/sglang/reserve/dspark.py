"""What DSpark makes once the pool is there: a copy of its draft's K and V weights, and what its sampler keeps for graphs.

Sources: 0.5.17 to 0.5.23 models/dspark.py and speculative/dspark_components/dspark_draft_sampler.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.drafts import stacked_gib
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.server import Server, line
from compiler.engines.sglang.speculation import DSPARK
from compiler.facts import Evidence
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.ranges import Range


_SINCE = "0.5.17"
# To 0.5.21 the noise of each row as well, and all of it only where enough is free (`_resolve_folded_sampling`).
_ALWAYS_SINCE = "0.5.22"


def dspark_lines(server: Server) -> Iterator[Line]:
    """Nothing for any other speculation."""
    launch = server.launch
    if launch.guess.algorithm != DSPARK or not at_least(launch.version, _SINCE):
        return
    if server.draft is not None:
        gib, formula = stacked_gib(server.draft, ranks=launch.attention_ranks)
        yield line("draft's stacked KV weights", gib, formula)
    if server.batch and server.taps:
        yield _sampler(server)


def _sampler(server: Server) -> Line:
    launch, vocabulary = server.launch, server.model.vocabulary
    always = at_least(launch.version, _ALWAYS_SINCE)
    row = launch.draft_width * (server.model.dtype_bits // 8) + (0 if always else 4)
    gib = server.batch * row * vocabulary / GIB
    return line(
        "draft's sampler, logits",
        Range.exactly(gib) if always else Range(0.0, 0.0, gib),
        f"{server.batch} requests x {row} B x {vocabulary:,}"
        + ("" if always else ", where they are free"),
        Evidence.DERIVED if always else Evidence.ASSUMED,
    )
