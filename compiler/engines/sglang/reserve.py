"""What the fraction leaves outside the static budget, and what must fit there.

Everything here is allocated after the pool (SGLang 0.5.11 to 0.5.13): it never changes the pool, and when it does not
fit the server dies at start, or minutes later in a long prefill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from compiler.engines.sglang.launch import Launch
from compiler.facts import Draft, Evidence, Mla, Model
from compiler.memory.tensors import draft_tensors
from compiler.memory.weights import GIB, Split, allocated
from compiler.plan import Line
from compiler.ranges import Range, most
from compiler.value import Value


KV_SPLITS = 8
"""Triton's split of a sequence, `--triton-attention-num-kv-splits` (server_args.py)."""

# GiB that one captured batch size of 61 layers takes for its nodes. Four public boots on RTX 3090 print 0.32 to 0.42 GiB
# for 23 sizes of 80 and 88 layers (sglang 0.5.3.post1): 0.010 to 0.014 a size here. Half and half again as bounds.
GRAPH_NODES_GIB = Range(0.005, 0.012, 0.02)

# CUDA modules loaded on first use, cuBLAS workspaces (32 MiB a stream and handle on this generation), NCCL's buffers for graphs, and
# small tensors. Bounds we reason about.
RUNTIME_GIB = Range(0.3, 0.5, 0.9)

# The caching allocator seldom reuses every freed block: up to a third more than is alive. A bound we reason about.
FRAGMENTATION = 4 / 3


@frozen(kw_only=True, eq=False, repr=False)
class Server(Value):
    """All that the reserve depends on.

    Attributes:
        rows: rows of the request table.
        batches: captured batch sizes.
    """

    launch: Launch
    model: Model
    draft: Draft | None
    rows: int
    batches: tuple[int, ...]

    @property
    def target_tokens(self) -> int:
        """Tokens of the largest captured step of the target."""
        return max(self.batches, default=0) * self.launch.verify_width

    @property
    def draft_tokens(self) -> int:
        """Tokens of the largest captured step of the draft."""
        return max(self.batches, default=0) * self.launch.draft_width if self.draft else 0


def reserve_lines(server: Server) -> tuple[Line, ...]:
    """All lines, those that stay first, then the peak of those that come and go."""
    lines = [*_draft_weights(server), _request_table(server)]
    if server.batches:
        lines += [
            *BACKENDS.get(server.launch.backend, _no_buffers)(server),
            _logits(server),
            _graphs(server),
        ]
    lines += [_runtime(), _transient(server)]
    return tuple(lines)


def _line(
    item: str, gib: float | Range, formula: str, evidence: Evidence = Evidence.DERIVED
) -> Line:
    known = gib if isinstance(gib, Range) else Range.exactly(gib)
    return Line(item=item, gib=known, evidence=evidence, formula=formula)


def _draft_weights(server: Server) -> Iterator[Line]:
    draft = server.draft
    if draft is None:
        return
    ranks = server.launch.ranks
    undivided = draft_tensors(draft, split=Split())
    yield _line(
        "draft weights",
        allocated(draft_tensors(draft, split=Split(tensor=ranks))),
        f"{sum(e.elements * e.count for e in undivided):,} parameters, split over {ranks} but for `fc`",
    )
    # One fp32 cosine and sine table over the draft's context; stacked K and V weights of all layers are kept as a copy.
    shape = draft.attention
    rotary = draft.context * shape.head_dim * 4 / GIB
    heads = max(1, shape.kv_heads // ranks)
    stacked = draft.layers * heads * (shape.head_dim + shape.v_head_dim) * draft.hidden * 2 / GIB
    yield _line(
        "draft rotary table and stacked KV weights",
        rotary + stacked,
        f"{draft.context:,} x {shape.head_dim} x 4 B + {draft.layers} x {heads} x "
        f"({shape.head_dim} + {shape.v_head_dim}) x {draft.hidden} x 2 B",
    )


def _request_table(server: Server) -> Line:
    width = (
        server.launch.context
        + 4
        + (server.launch.verify_width if server.launch.verify_width > 1 else 0)
    )
    tables = 2 if server.launch.draft_windowed and server.draft else 1
    twice = "2 x " if tables > 1 else ""
    return _line(
        "request table",
        tables * (server.rows + 1) * width * 4 / GIB,
        f"{twice}({server.rows} + 1) requests x {width:,} tokens x 4 B",
    )


def _triton(server: Server) -> Iterator[Line]:
    # triton_backend.py, init_cuda_graph_state: int64 indices and a byte of mask for every captured token and position.
    context = server.launch.context
    for name, tokens in (("target", server.target_tokens), ("draft", server.draft_tokens)):
        if tokens:
            yield _line(
                f"graph index buffers and mask, {name}",
                tokens * context * 9 / GIB,
                f"{tokens} tokens x {context:,} x (8 + 1) B",
            )
    yield from _attention_logits(server)


def _attention_logits(server: Server) -> Iterator[Line]:
    # fp32 [tokens, local heads, KV splits, head width], and one more for the log-sum.
    parts: list[tuple[int, int, int]] = []
    attention = server.model.attention
    width = attention.kv_lora_rank if isinstance(attention, Mla) else attention.v_head_dim
    parts.append(
        (server.target_tokens, max(1, server.model.heads // server.launch.attention_ranks), width)
    )
    if server.draft is not None:
        heads = max(1, server.draft.heads // server.launch.attention_ranks)
        parts.append((server.draft_tokens, heads, server.draft.attention.v_head_dim))
    yield _line(
        "attention logits of graphs",
        sum(tokens * heads * KV_SPLITS * (each + 1) * 4 for tokens, heads, each in parts) / GIB,
        " + ".join(
            f"{tokens} x {heads} heads x {KV_SPLITS} x ({each} + 1) x 4 B"
            for tokens, heads, each in parts
        ),
    )


def _flashinfer_mla(server: Server) -> Iterator[Line]:
    batch, context = max(server.batches), server.launch.context
    yield _line("attention workspace", 384 / 1024, "384 MiB (SGLANG_FLASHINFER_WORKSPACE_SIZE)")
    yield _line("graph index buffers", batch * context * 4 / GIB, f"{batch} x {context:,} x 4 B")


def _flash_attention(server: Server) -> Iterator[Line]:
    batch, pages = max(server.batches), -(-server.launch.context // server.launch.page)
    tables = 4 if server.launch.verify_width > 1 else 1
    yield _line(
        "graph page tables",
        tables * batch * pages * 4 / GIB,
        f"{tables} x {batch} x {pages:,} pages x 4 B",
    )


def _trtllm_mla(server: Server) -> Iterator[Line]:
    yield _line("attention workspace", 150 / 1024, "150 MiB (trtllm_mla_backend.py)")
    yield from _flash_attention(server)


def _no_buffers(server: Server) -> Iterator[Line]:
    del server
    yield from ()


BACKENDS: Mapping[str, Callable[[Server], Iterator[Line]]] = {
    "triton": _triton,
    "flashinfer": _flashinfer_mla,
    "fa3": _flash_attention,
    "trtllm_mla": _trtllm_mla,
}
"""The buffers of each attention backend that was read; another one's are said to be unpriced."""


def _logits(server: Server) -> Line:
    # cuda_graph_runner.py, line 194: fp32, one a runner; the draft's reuses the target's when that is strictly larger
    # (input_buffers.py, lines 17-34).
    launch, tokens, vocabulary = server.launch, server.target_tokens, server.model.vocabulary
    buffers = 2 if server.draft and launch.draft_width >= launch.verify_width else 1
    return _line(
        "logits buffer",
        buffers * tokens * vocabulary * 4 / GIB,
        f"{'2 x ' if buffers > 1 else ''}{tokens} tokens x {vocabulary:,} x 4 B",
    )


def _graphs(server: Server) -> Line:
    # What the graphs' own memory pool keeps: for every size the hidden states it hands out (for a draft those of the tapped
    # layers), and once the largest step's logits and expert output.
    model, draft = server.model, server.draft
    width = model.hidden * (model.dtype_bits // 8)
    handed = width * (draft.taps if draft else 1) * server.launch.verify_width
    drafted = width * server.launch.draft_width if draft else 0
    experts = width * (model.moe.active_experts if model.moe else 1)
    once = server.target_tokens * (2 * 2 * model.vocabulary + experts)
    kept = (sum(server.batches) * (handed + drafted) + once) / GIB
    count = len(server.batches)
    return _line(
        "captured graphs",
        Range.exactly(kept) + GRAPH_NODES_GIB.scaled(count),
        f"{kept:.2f} GiB of states and logits + {count} batch sizes x {GRAPH_NODES_GIB.low} to {GRAPH_NODES_GIB.high} GiB",
        Evidence.ASSUMED,
    )


def _runtime() -> Line:
    return _line(
        "CUDA modules, workspaces, small tensors", RUNTIME_GIB, "not derived", Evidence.ASSUMED
    )


def _transient(server: Server) -> Line:
    """The peak of what never lives at the same time: a prefill step, a verify step with sampling, and the vision tower."""
    prefill, formula = _prefill(server)
    parts = [prefill, Range(0.0, 0.0, _verify_gib(server))]
    if server.model.vision is not None:
        # Public reports on this family: 0.1 to 1 GiB a request, before the language model's own step starts.
        parts.append(Range(0.0, 0.1, 1.0))
    return _line("activations, peak of a step", most(parts), formula, Evidence.ASSUMED)


def _verify_gib(server: Server) -> float:
    """A verify step that samples: four fp32 copies of its logits, and the draft's logits in two forms."""
    launch = server.launch
    target = server.rows * launch.verify_width * 4 * 4
    drafted = server.rows * (launch.draft_width - 1) * (2 + 2 + 4) if server.draft else 0
    return (target + drafted) * server.model.vocabulary / GIB


def _prefill(server: Server) -> tuple[Range, str]:
    # What is alive at once in one step: the experts' output for every token and active expert (Marlin's workspace), four
    # tensors of the hidden size, and for a draft the tapped layers' states, from the second chunk on with those of the
    # chunk before.
    model, chunk = server.model, server.launch.chunk
    token = model.hidden * (model.dtype_bits // 8)
    experts = model.moe.active_experts if model.moe else 0
    taps = server.draft.taps if server.draft else 0
    first = chunk * token * (experts + 4 + taps) / GIB
    later = first + (chunk * token * taps / GIB if server.launch.context > chunk else 0.0)
    twice = " twice" if taps and server.launch.context > chunk else ""
    tapped = f" + {taps} tapped layers{twice}" if taps else ""
    return (
        Range(first, later, later * FRAGMENTATION),
        f"{chunk} tokens x {token:,} B x ({experts} experts + 4{tapped}); up to a third more for fragmentation",
    )
