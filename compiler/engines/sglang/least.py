"""Raw flags that count something: the least that means anything, where the engine's parser takes any number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from compiler.engines.sglang.settings import Settings
from compiler.profile import Argument
from compiler.unknown import Unknown


LEAST: Mapping[str, int] = {
    "attention-context-parallel-size": 1,
    "attn-cp-size": 1,
    "cuda-graph-bs": 1,
    "cuda-graph-bs-decode": 1,
    "cuda-graph-bs-prefill": 1,
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

ASSERTED: Mapping[str, tuple[int, str]] = {
    "base-gpu-id": (0, "0.4.1"),
    "detokenizer-worker-num": (1, "0.5.12"),
    "gpu-id-step": (1, "0.4.6"),
    "mm-io-worker-num": (0, "0.5.17"),
    "mm-processor-worker-num": (0, "0.5.17"),
    "pp-max-micro-batch-size": (1, "0.5.11"),
    "schedule-conservativeness": (0, "0.5.11"),
    "tokenizer-worker-num": (1, "0.5.11"),
}
"""Numbers that no memory hangs on, and that the server asserts at start: the least, and the first release that was read
(to 0.5.23, `check_server_args`)."""

DIVISORS: Mapping[str, tuple[str, str | None, str]] = {
    "decode-log-interval": ("0.4.6", None, "at the first steps that decode"),
    "disaggregation-decode-polling-interval": (
        "0.5.3",
        None,
        "once it decodes what was handed over",
    ),
    "stream-interval": ("0.4.6", "0.5.22", "at the first token that is streamed"),
}
"""Numbers that the scheduler divides by, so that 0 ends the server: the first release that was read, the one from which on it
does not, and when (managers/scheduler_output_processor_mixin.py and scheduler_metrics_mixin.py, later in
scheduler_components/; disaggregation/decode.py)."""

PORTS = (
    "disaggregation-bootstrap-port",
    "encoder-bootstrap-port",
    "engine-info-bootstrap-port",
    "gated-launch-port",
    "grpc-http-sidecar-port",
    "grpc-port",
    "nccl-port",
    "port",
    "remote-instance-weight-loader-seed-instance-service-port",
    "smg-http-sidecar-port",
)
"""Ports that the server listens on, and one that it asks at; 0 is one that the host picks."""

SHARES = frozenset({"mamba-full-memory-ratio", "swa-full-tokens-ratio"})
"""Ratios of two pools: above 0, or one of the two is not there."""


def too_small(flags: Mapping[str, Argument]) -> Iterator[tuple[str, float, str]]:
    """Each of these that is given and is less than its least: its name, the value, and what was expected."""
    for name in sorted(flags.keys() & LEAST.keys()):
        for value in below(flags[name], LEAST[name]):
            yield name, value, f"{LEAST[name]} or more"
    for name in sorted(flags.keys() & SHARES):
        share = flags[name]
        if isinstance(share, (int, float)) and share <= 0:
            yield name, share, "more than 0"


def below(value: Argument, least: int) -> Iterator[float]:
    """The number, or the first of several, that is less than the least."""
    several = map(_number, value) if isinstance(value, tuple) else (value,)
    small = (each for each in several if isinstance(each, (int, float)) and each < least)
    return islice(small, 1)


def _number(word: str) -> Argument:
    """One word of a list as a number, where it is one."""
    try:
        return int(word)
    except ValueError:
        return word


def senseless(asked: Settings) -> Iterator[Unknown]:
    """The same as what cannot be priced."""
    for name, value, expected in too_small(asked.flags):
        yield Unknown(
            code="flag-unpriced",
            name=f"--{name} {value:g}",
            setting=asked.setting(name),
            missing=f"what it would mean: {expected} was expected",
        )
