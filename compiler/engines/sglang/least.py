"""Raw flags that count something: the least that means anything, where the engine's parser takes any number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.facts import Unknown
from compiler.profile import Argument


LEAST: Mapping[str, int] = {
    "attention-context-parallel-size": 1,
    "attn-cp-size": 1,
    "cuda-graph-max-bs": 1,
    "cuda-graph-max-bs-decode": 1,
    "cuda-graph-max-bs-prefill": 1,
    "ep-num-redundant-experts": 0,
    "max-lora-rank": 1,
    "max-loras-per-batch": 1,
    "max-mamba-cache-size": 1,
    "moe-data-parallel-size": 1,
    "moe-dense-tp-size": 1,
    "moe-dp-size": 1,
    "nnodes": 1,
    "piecewise-cuda-graph-max-tokens": 1,
    "speculative-eagle-topk": 1,
    "speculative-ngram-max-bfs-breadth": 1,
    "speculative-num-draft-tokens": 1,
    "speculative-num-steps": 1,
}
"""Sizes and numbers of things; of these flags a smaller one has no meaning, and some parsers take it all the same."""

SHARES = frozenset({"mamba-full-memory-ratio", "swa-full-tokens-ratio"})
"""Ratios of two pools: above 0, or one of the two is not there."""


def too_small(flags: Mapping[str, Argument]) -> Iterator[tuple[str, float, str]]:
    """Each of these that is given and is less than its least: its name, the value, and what was expected."""
    for name in sorted(flags.keys() & LEAST.keys()):
        value = flags[name]
        if isinstance(value, (int, float)) and value < LEAST[name]:
            yield name, value, f"{LEAST[name]} or more"
    for name in sorted(flags.keys() & SHARES):
        value = flags[name]
        if isinstance(value, (int, float)) and value <= 0:
            yield name, value, "more than 0"


def senseless(flags: Mapping[str, Argument]) -> Iterator[Unknown]:
    """The same as what cannot be priced."""
    for name, value, expected in too_small(flags):
        yield Unknown(
            code="flag-unpriced",
            name=f"--{name} {value:g}",
            setting=f"flags.{name}",
            missing=f"what it would mean: {expected} was expected",
        )
