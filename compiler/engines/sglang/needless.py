"""Flags of vLLM that SGLang has none for, by name: why it needs none, and what to do instead.

docs.vllm.ai, `vllm serve`, and docs.sglang.io, server arguments. What has a counterpart is in `language.elsewhere`.
"""

from __future__ import annotations

from collections.abc import Mapping


_OUT = "leave it out"
_HOSTS = "its ranks are spread over the hosts by `--nnodes` and `--node-rank`"
_ORIGINS = "it answers whatever origin asks: narrow that in a proxy in front of it"
_PREFIXES = f"prefixes are kept without being asked: {_OUT}"
_CHUNKS = f"long prompts are computed in chunks without being asked: {_OUT}"
_REQUESTS = f"requests are not logged unless `--log-requests` is given: {_OUT}"
_RETRACTED = (
    f"nothing is swapped to the host, and a request that has to make room is computed again: {_OUT}"
)
REASONS: Mapping[str, str] = {
    "enable-prefix-caching": _PREFIXES,
    "prefix-caching-hash-algo": f"prefixes are told by their tokens, not by a hash: {_OUT}",
    "enable-chunked-prefill": _CHUNKS,
    "swap-space": _RETRACTED,
    "preemption-mode": _RETRACTED,
    "async-scheduling": f"the next step is scheduled beside the one that runs without being asked: {_OUT}",
    "enable-auto-tool-choice": f"`--tool-call-parser` alone lets the model call tools: {_OUT}",
    "enable-reasoning": f"`--reasoning-parser` alone tells thoughts from answers: {_OUT}",
    "disable-log-requests": _REQUESTS,
    "no-enable-log-requests": _REQUESTS,
    "disable-log-stats": "it always logs how it runs: let `--decode-log-interval` make its lines about decoding rarer",
    "distributed-executor-backend": f"it starts its own processes, over several hosts by `--nnodes` and `--node-rank`: {_OUT}",
    "headless": f"a host whose `--node-rank` is above 0 answers no requests anyway: {_OUT}",
    "data-parallel-size-local": f"{_HOSTS}: {_OUT}",
    "data-parallel-start-rank": f"{_HOSTS}: {_OUT}",
    "tokenizer-revision": f"`--revision` counts for the tokenizer, too: {_OUT}",
    "max-seq-len-to-capture": f"CUDA graphs are captured by the number of requests, not by their length: {_OUT}",
    "calculate-kv-scales": f"the scales of an FP8 cache come with the checkpoint or by `--quantization-param-path`, and are 1 else: {_OUT}",
    "chat-template-content-format": f"it tells the form from the template itself: {_OUT}",
    "hf-token": "it reads the token from its environment: give it the variable `HF_TOKEN`",
    "speculative-config": "each key of its JSON is a flag of its own: write these flags, from `--speculative-algorithm` on",
    "kv-transfer-config": "each key of its JSON is a flag of its own: write these flags, from `--disaggregation-mode` on",
    "compilation-config": "what it decides are flags of their own: write `--disable-cuda-graph` or `--enable-torch-compile` where that is meant",
    "allowed-origins": _ORIGINS,
    "allowed-methods": _ORIGINS,
    "allowed-headers": _ORIGINS,
}


def needless(flag: str) -> str | None:
    """Why there is none and, behind a colon, what to do; `None` for a flag of which nothing is known."""
    return REASONS.get(flag.removeprefix("--").replace("_", "-"))
