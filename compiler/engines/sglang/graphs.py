"""Which sizes of steps a server captures as CUDA graphs: decode by batch, prefill by tokens.

Sources: 0.5.11 server_args.py, lines 1194-1261 and 1497-1560; 0.5.18 server_args.py, lines 4555-4760; 0.5.23
arg_groups/cuda_graph_hook.py; 0.5.6 server_args.py, `_generate_piecewise_cuda_graph_tokens`.
"""

from __future__ import annotations

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Mla, Model


def decode_batches(top: int, *, speculates: bool, rows: int) -> tuple[int, ...]:
    """The batch sizes captured as graphs: a list up to the largest, cut at the request table (cuda_graph_runner.py, 496)."""
    if top <= 0:
        return ()
    # What is beyond the table is cut off anyway, and the table's own size stands in for it.
    top = min(top, rows)
    if speculates:
        sizes = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8)]
        sizes += range(272, top + 1, 16)
    else:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16)]
        sizes += range(512, top + 1, 32)
    return tuple(sorted({size for size in [*sizes, top] if size <= top}))


def cut(sizes: set[int], *, rows: int) -> tuple[int, ...]:
    """Those sizes that the request table allows; the table's own size stands in for what is cut off."""
    kept = set(sizes)
    if kept and max(kept) > rows:
        kept.add(rows)
    return tuple(sorted(size for size in kept if size <= rows))


def prefill_sizes(most: int) -> int:
    """How many numbers of tokens are captured for prefill steps."""
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256))
    listed = sum(len(range(first, min(end, most + 1), step)) for first, end, step in steps)
    return listed + max(0, most - 4096) // 512


_LATENT_MOST = 2048
_LATENT_MOST_LATER = 8192


def prefill_most(settings: Settings, *, model: Model, chunk: int) -> int:
    """The most tokens captured for a prefill step; 0, and no size, where prompts are not cut (0.5.11 server_args.py, line 1407)."""
    asked = settings.whole("cuda-graph-max-bs-prefill", "piecewise-cuda-graph-max-tokens")
    if asked is not None:
        return asked
    most = chunk
    if isinstance(model.attention, Mla):
        later = at_least(settings.profile.engine.version, "0.5.23")
        most = min(_LATENT_MOST_LATER, chunk) if later else _LATENT_MOST
    cap = settings.profile.memory.max_pool_tokens
    return max(0, most if cap is None else min(most, cap))
