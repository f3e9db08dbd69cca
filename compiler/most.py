"""The most of each thing that a setting may say, with the reason: what is past it was no number that somebody meant."""

from __future__ import annotations

from compiler.quantities import Duration


GPUS = 1024
LAST_PORT = 65_535
LONGEST = Duration(7 * 24 * 3600)
TOKENS = 2**31 - 1
"""Places in a pool are whole numbers of 32 bits (0.5.11 mem_cache/memory_pool.py, `ReqToTokenPool`)."""
REQUESTS = GPUS * 4096
"""As many as an engine's table of requests has rows by itself (0.5.11, `table_rows`), on each of the most GPUs."""
PAGE = 65536
"""The largest page that a backend is known to insist on has 256 tokens; no page is longer than a step of the longest chunk."""
CAPTURED = 8192
DRAFTED = 8192
"""Public drafts are up to 32 tokens long, and trees have up to 64 nodes: a verify step is none of a prefill's length."""
