"""What is as wide as the vocabulary: the draft's extend step, and logits that ranks gather.

After each verified step a draft that works token by token reads the accepted tokens over again, and is captured for that. Sources:
speculative/eagle_draft_extend_cuda_graph_runner.py of 0.4.7 to 0.5.23, model_executor/input_buffers.py of 0.5.10 to 0.5.14, and
model_executor/graph_shared_output.py of 0.5.15 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.backends import Platform, generation, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.server import Server, line
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.ranges import Range


_CAPTURED = "0.4.7"
_BUFFERED = "0.4.10.post2"
"""Its logits have a buffer, in fp32, of the last token of each request."""
_WIDE_ASKED = "0.5.5.post3"
"""The second form of the worker, which may be asked for, has every token of a request."""
_SHARED = "0.5.10"
"""A buffer that is strictly smaller than the target's is the target's."""
_WIDE = "0.5.11"
"""The second form is the usual one (`SGLANG_ENABLE_SPEC_V2`), for one branch."""
_KEYED = "0.5.13"
"""A buffer of the size of the target's is the target's, and from 0.5.15 on one of the same vocabulary."""
_GREEDY = "0.5.13"
"""Without branches no probabilities are made, but on HIP."""
_OUTSIDE = "0.5.17"
"""They are made outside of the graph."""


def vocabulary_lines(server: Server) -> Iterator[Line]:
    """What is kept beside the target's own logits."""
    if server.launch.guess.stepwise and server.drafts and server.batches:
        yield from _extend_step(server)
    yield from _gathered(server)


def _extend_step(server: Server) -> Iterator[Line]:
    if not at_least(server.launch.version, _CAPTURED):
        return
    draft = server.draft
    vocabulary = (draft.head_vocabulary if draft else 0) or server.model.vocabulary
    buffer, chances = _buffer_rows(server, vocabulary), _chance_rows(server)
    rows = buffer + chances
    if rows.high == 0:
        return
    yield line(
        "draft's extend step, logits",
        rows.scaled(vocabulary * 4 / GIB),
        f"({buffer.best:,.0f} tokens + {chances.best:,.0f} of probabilities) x {vocabulary:,} x 4 B",
    )


def _step_rows(server: Server) -> Range:
    """Rows of logits that the step has: the last of each request, or all."""
    version, guess = server.launch.version, server.launch.guess
    if at_least(version, _KEYED):
        return Range.exactly(server.target_tokens)
    wide = server.batch * (guess.steps + 1)
    if at_least(version, _WIDE):
        return Range.exactly(wide if guess.branches == 1 else server.batch)
    return Range(
        server.batch, server.batch, wide if at_least(version, _WIDE_ASKED) else server.batch
    )


def _buffer_rows(server: Server, vocabulary: int) -> Range:
    """Rows of a buffer of its own; not every backend captures the step."""
    version, rows = server.launch.version, _step_rows(server)
    target = server.target_tokens * server.model.vocabulary
    if not at_least(version, _BUFFERED):
        return Range.exactly(0.0)
    if at_least(version, _KEYED):
        is_shared = vocabulary == server.model.vocabulary
        return Range.exactly(0.0) if is_shared else Range(0.0, rows.best, rows.best)
    own = [
        each if not at_least(version, _SHARED) or each * vocabulary >= target else 0.0
        for each in (rows.best, rows.high)
    ]
    return Range(0.0, own[0], own[1])


def _chance_rows(server: Server) -> Range:
    """Rows of probabilities that the graph keeps room for; blocks that the target's step freed may hold them."""
    version, rows = server.launch.version, _step_rows(server)
    greedy = server.launch.guess.branches == 1 and platform(server.gpu) is not Platform.HIP
    if at_least(version, _OUTSIDE) or (greedy and at_least(version, _GREEDY)):
        return Range.exactly(0.0)
    return Range(0.0, rows.best, rows.high)


# 0.5.15 to 0.5.23 distributed/device_communicators/triton_symm_mem_ag.py, `recommended_max_tokens` and `create_state`; it
# needs multicast between the GPUs, which NVSwitch has from Hopper on.
_GATHERED, _LEAST_GATHERED = "0.5.15", 128
_MULTICASTS = frozenset({9, 10})


def _gathered(server: Server) -> Iterator[Line]:
    """A buffer that every rank writes its share of the logits to, one for the target and one for the draft."""
    launch, split = server.launch, server.split
    apart = launch.ranks == 1 or (launch.replicas > 1 and split.head_by_attention)
    if apart or not at_least(launch.version, _GATHERED) or server.gpu.interconnect != "nvlink":
        return
    if platform(server.gpu) is not Platform.CUDA or generation(server.gpu) not in _MULTICASTS:
        return
    width = max(launch.verify_width, launch.guess.branches, 1)
    tokens = max((launch.running_requests or 0) * launch.replicas * width, _LEAST_GATHERED)
    several = 2 if server.drafts else 1
    vocabulary = server.model.vocabulary
    size = tokens * vocabulary * 2 / GIB
    yield line(
        "gathered logits",
        Range(0.0, several * size, several * size),
        f"{f'{several} x ' if several > 1 else ''}{tokens:,} tokens x {vocabulary:,} x 2 B",
    )
