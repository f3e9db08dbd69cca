"""What graphs keep, and what one step needs while it runs."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.backends import is_sparse
from compiler.engines.sglang.graphs import prefill_sizes
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.reserve.buffers import compressed_entries
from compiler.engines.sglang.reserve.latent import FRAGMENTATION, latent_peak
from compiler.engines.sglang.reserve.mlp import mlp_numbers
from compiler.engines.sglang.reserve.server import Server, line
from compiler.engines.sglang.roles import Role
from compiler.engines.sglang.speculation import DSPARK
from compiler.facts import Evidence, Mla
from compiler.memory.weights import GIB
from compiler.plan import Line
from compiler.ranges import Range, most


# GiB that one captured batch size of 61 layers takes for its nodes. Four public boots on RTX 3090 print 0.32 to 0.42 GiB
# for 23 sizes of 80 and 88 layers (sglang 0.5.3.post1): 0.010 to 0.014 a size here. Half and half again as bounds.
GRAPH_NODES_GIB = Range(0.005, 0.012, 0.02)
_NODES_LAYERS = 61

# CUDA modules loaded on first use, cuBLAS workspaces (32 MiB a stream and handle on this generation), NCCL's buffers for graphs, and
# small tensors. Bounds we reason about.
RUNTIME_GIB = Range(0.3, 0.5, 0.9)

# What the engine itself keeps for graphs of prefill steps when it picks a fraction (0.5.11 server_args.py, lines
# 1455-1465): a captured size, and all of them for MLA.
_PREFILL_SIZE_GIB, _PREFILL_LATENT_GIB = 8 / 1024, 1.5


def graph_lines(server: Server) -> Iterator[Line]:
    """What captured graphs keep."""
    if server.batches:
        yield _logits(server)
        yield _decode_graphs(server)
    if server.launch.prefill_graph_tokens:
        yield _prefill_graphs(server)


def _logits(server: Server) -> Line:
    # cuda_graph_runner.py, line 194: fp32, one a runner; the draft's reuses the target's when that is strictly larger
    # (input_buffers.py, lines 17-34).
    launch, tokens, vocabulary = server.launch, server.target_tokens, server.model.vocabulary
    buffers = 2 if server.block_draft and launch.draft_width >= launch.verify_width else 1
    return line(
        "logits buffer",
        buffers * tokens * vocabulary * 4 / GIB,
        f"{'2 x ' if buffers > 1 else ''}{tokens} tokens x {vocabulary:,} x 4 B",
    )


def _decode_graphs(server: Server) -> Line:
    # What the graphs' own memory pool keeps: for every size the hidden states it hands out (for a draft those of the tapped
    # layers), and once the largest step's logits and expert output.
    model = server.model
    width = model.hidden * (model.dtype_bits // 8)
    handed = width * max(1, server.taps) * server.launch.verify_width
    drafted = width * server.launch.draft_width if server.drafts else 0
    experts = width * (model.moe.active_experts if model.moe else 1)
    once = server.target_tokens * (2 * 2 * model.vocabulary + experts)
    kept = (sum(server.batches) * (handed + drafted) + once) / GIB
    count = len(server.batches)
    nodes = GRAPH_NODES_GIB.scaled(count * min(1.0, model.layers / _NODES_LAYERS))
    return line(
        "captured graphs",
        Range.exactly(kept) + nodes,
        f"{kept:.2f} GiB of states and logits + {count} batch sizes, {nodes.low:.2f} to {nodes.high:.2f} GiB",
        Evidence.ASSUMED,
    )


def _prefill_graphs(server: Server) -> Line:
    # They share the memory of a step that is not captured, but for what each keeps outside of PyTorch's allocator.
    tokens = server.launch.prefill_graph_tokens
    sizes = prefill_sizes(tokens)
    latent = isinstance(server.model.attention, Mla)
    usual = _PREFILL_LATENT_GIB if latent else sizes * _PREFILL_SIZE_GIB
    held = tokens * server.model.hidden * (server.model.dtype_bits // 8) * 4 / GIB
    return line(
        "captured graphs of prefill steps",
        Range(0.0, usual / 2, usual + held),
        f"{sizes} sizes up to {tokens} tokens; the engine itself keeps {usual:.2f} GiB for them",
        Evidence.ASSUMED,
    )


def fetched(server: Server) -> Iterator[Line]:
    """Weights of one layer, back from host memory while it runs; graphs keep the room for another one."""
    if server.fetched_gib:
        yield line(
            "weights of a layer, from the host",
            Range(0.0, server.fetched_gib, 2 * server.fetched_gib),
            "copied before it runs; once more for captured steps",
            Evidence.ASSUMED,
        )


def runtime() -> Line:
    """What nobody derives."""
    return line(
        "CUDA modules, workspaces, small tensors", RUNTIME_GIB, "not derived", Evidence.ASSUMED
    )


def peak(server: Server) -> Line:
    """The peak of what never lives at the same time.

    The experts of a prefill step (of a decode step where that is all a server runs), its attention, an indexer's scores, a verify step with sampling, and the vision tower.
    """
    parts = [_work(server)]
    attention = latent_peak(server)
    if attention is not None:
        parts.append(attention)
    scores, scored = _scores(server)
    parts.append((Range(0.0, scores, scores), scored))
    formula = max(parts, key=lambda part: part[0].best)[1]
    needed = [each for each, _ in parts]
    needed.append(Range(0.0, 0.0, _verify_gib(server)))
    if server.launch.multimodal and server.launch.role is not Role.DECODE:
        # Public reports on this family: 0.1 to 1 GiB a request, before the language model's own step starts.
        needed.append(Range(0.0, 0.1, 1.0))
    return line("activations, peak of a step", most(needed), formula, Evidence.ASSUMED)


def _scores(server: Server) -> tuple[float, str]:
    """GiB of what an indexer scores in the last step of a full context's prefill, where it scores all at once.

    Sparse MLA does up to 0.5.5 (0.5.3 layers/attention/nsa/nsa_indexer.py, `_get_topk_ragged`), then in parts of what is free
    (0.5.6, `_should_chunk_mqa_logits`); compressed attention up to 0.5.20 (0.5.17 layers/attention/dsv4/indexer.py; 0.5.21,
    line 683).
    """
    version, tokens = server.launch.rule.since, server.step
    entries = compressed_entries(server)
    if at_least(version, "0.5.21") or (not entries and at_least(version, "0.5.6")):
        return 0.0, ""
    if is_sparse(server.model):
        entries = server.launch.context
    return (
        tokens * entries * 4 / GIB,
        f"{tokens} tokens x {entries:,} entries x 4 B, the indexer's scores",
    )


def _verify_gib(server: Server) -> float:
    """A verify step that samples: four fp32 copies of its logits, and the draft's logits in two forms."""
    launch = server.launch
    target = server.rows * launch.verify_width * 4 * 4
    drafted = server.rows * _sampled(server) * (2 + 2 + 4)
    if server.launch.guess.algorithm is None:
        return 0.0
    return (target + drafted) * server.model.vocabulary / GIB


def _sampled(server: Server) -> int:
    """Tokens of a block that its drafter has logits for; a DFlash block begins with one that is known."""
    if not server.taps:
        return 0
    width = server.launch.draft_width
    return width if server.launch.guess.algorithm == DSPARK else width - 1


def _work(server: Server) -> tuple[Range, str]:
    # What is alive at once in one step: the MLP's own, four tensors of the hidden size, and for a draft the tapped layers'
    # states, from the second chunk on with those of the chunk before.
    model, tokens = server.model, server.step
    size = model.dtype_bits // 8
    mlp = mlp_numbers(server)
    taps = server.draft.taps if server.draft else server.taps
    follows = server.launch.role is not Role.DECODE and server.launch.context > tokens
    beside = (4 + taps) * model.hidden
    least = tokens * size * (mlp.least + beside) / GIB
    later = tokens * size * (mlp.usual + beside + (taps * model.hidden if follows else 0)) / GIB
    twice = " twice" if taps and follows else ""
    hidden = f"(4 + {taps} tapped layers{twice})" if taps else "4"
    return (
        Range(least, later, later * FRAGMENTATION),
        f"{tokens} tokens x {size} B x ({mlp.made} + {model.hidden:,} x {hidden}); up to a third more for fragmentation",
    )
