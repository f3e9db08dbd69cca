"""How far a start has come, by one line of the log."""

from __future__ import annotations

import re
from collections.abc import Callable

from compiler.engines.observing import Phase


__all__ = ["Phase", "phase"]

# The words are those of the releases from 0.4.6 to 0.5.23. tqdm writes the shards: `desc:  19% Completed | 12/64 [...`.
_LINES: tuple[tuple[str, Phase, Callable[[re.Match[str]], str]], ...] = (
    (r"server_args=", Phase.STARTING, lambda _: "arguments read"),
    (r"Init torch distributed begin|Memory baseline taken", Phase.STARTING, lambda _: "GPUs meet"),
    (r"Load weight begin\. avail mem=([\d.]+) GB", Phase.LOADING, lambda m: f"{m[1]} GiB free"),
    (
        r"(?:shards|loader|Streamer): {0,9}\d{1,3}%.{0,200}?\| {0,9}(\d{1,9})/(\d{1,9})",
        Phase.LOADING,
        lambda m: f"{m[1]}/{m[2]} shards",
    ),
    (
        r"Load weight end\..{0,400}?mem usage=([\d.]+) GB",
        Phase.LOADING,
        lambda m: f"{m[1]} GiB loaded",
    ),
    (r"Load weight end\.", Phase.LOADING, lambda _: "loaded"),
    (
        r"KV [Cc]ache (?:is allocated|VA upper bound|allocated).{0,80}?#tokens: (\d{1,15})\b",
        Phase.POOL,
        lambda m: f"{int(m[1]):,} tokens",
    ),
    (r"Memory pool end\. avail mem=(-?[\d.]+) GB", Phase.POOL, lambda m: f"{m[1]} GiB left"),
    (
        r"Capture (.{0,60}?)(?:cuda|CUDA|npu|cpu) graph begin",
        Phase.GRAPHS,
        lambda m: f"{m[1]}graphs",
    ),
    (
        r"Capturing batches.{0,80}?: {0,9}\d{1,3}%.{0,200}?\| {0,9}(\d{1,9})/(\d{1,9})",
        Phase.GRAPHS,
        lambda m: f"{m[1]}/{m[2]}",
    ),
    (r"Capture .{0,60}?(?:cuda|CUDA|npu|cpu) graph end", Phase.GRAPHS, lambda _: "captured"),
    (
        r"max_total_num_tokens=(\d{1,15}), chunked_prefill_size=",
        Phase.WARMUP,
        lambda m: f"{int(m[1]):,} tokens",
    ),
    (r"Application startup complete|Uvicorn running on", Phase.WARMUP, lambda _: "listening"),
    (r"The server is fired up and ready to roll", Phase.SERVING, lambda _: "ready"),
)
_COMPILED = tuple((re.compile(words), reached, detail) for words, reached, detail in _LINES)


def phase(line: str) -> tuple[Phase, str] | None:
    """The phase that a line says has been reached, with a short detail such as `12/64 shards`; most lines say none."""
    for words, reached, detail in _COMPILED:
        if (found := words.search(line)) is not None:
            return reached, detail(found)
    return None
