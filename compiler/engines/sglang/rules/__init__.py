"""SGLang's cross-flag rules, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from compiler.engines.sglang.given import given_by
from compiler.plan import Plan
from compiler.rules import Rule, collect


LOADED_FOR: Mapping[str, frozenset[str]] = {
    "adapters": frozenset({"enable-lora", "max-loaded-loras"}),
    "addresses": frozenset(
        {
            "decoupled-spec-bind-endpoint",
            "decoupled-spec-connect-endpoints",
            "dist-init-addr",
            "encoder-register-urls",
            "encoder-urls",
            "load-publish-endpoint",
            "nccl-init-addr",
            "oltp-traces-endpoint",
            "otlp-traces-endpoint",
            "pdlb-url",
        }
    ),
    "algorithms": frozenset({"speculative-algorithm"}),
    "attention": frozenset(
        {"attention-backend", "decode-attention-backend", "prefill-attention-backend"}
    ),
    "companions": frozenset(
        {
            "enable-hisparse",
            "enable-pdmux",
            "enable-prefix-mm-cache",
            "enable-ssl-refresh",
            "enable-tokenizer-batch-encode",
            "encoder-only",
            "export-metrics-to-file",
            "speculative-draft-sink-size",
            "watermark-config",
        }
    ),
    "disaggregation": frozenset(
        {"disaggregation-decode-enable-offload-kvcache", "disaggregation-mode"}
    ),
    "draftbackends": frozenset({"speculative-algorithm"}),
    "draftpaths": frozenset({"speculative-algorithm"}),
    "drafts": frozenset({"enable-lora", "enable-mixed-chunk", "lora-paths", "quantization"}),
    "dspark": frozenset({"speculative-algorithm"}),
    "elastic": frozenset({"moe-a2a-backend"}),
    "experts": frozenset(
        {"enable-deepep-moe", "enable-ep-moe", "expert-parallel-size", "moe-a2a-backend"}
    ),
    "formats": frozenset(
        {"fp8-gemm-backend", "moe-runner-backend", "quantization", "speculative-moe-runner-backend"}
    ),
    "kvformats": frozenset({"attention-backend", "decode-attention-backend", "kv-cache-dtype"}),
    "nodes": frozenset({"base-gpu-id", "gpu-id-step", "nnodes", "node-rank"}),
    "parallel": frozenset(
        {
            "attention-context-parallel-size",
            "attn-cp-size",
            "enable-dp-lm-head",
            "enable-eplb",
            "enable-two-batch-overlap",
            "moe-a2a-backend",
            "moe-data-parallel-size",
            "moe-dense-tp-size",
            "moe-dp-size",
            "moe-runner-backend",
        }
    ),
    "serving": frozenset(
        {
            "disable-cuda-graph-padding",
            "enable-deterministic-inference",
            "enable-priority-scheduling",
            "ssl-certfile",
            "ssl-keyfile",
        }
    ),
    "sparsebackends": frozenset(
        {"dsa-decode-backend", "dsa-prefill-backend", "nsa-decode-backend", "nsa-prefill-backend"}
    ),
    "speculation": frozenset(
        {"speculative-algorithm", "speculative-dflash-block-size", "speculative-dspark-block-size"}
    ),
    "stepwise": frozenset({"speculative-algorithm"}),
    "tree": frozenset({"speculative-algorithm"}),
    "vendors": frozenset(
        {
            "attention-backend",
            "decode-attention-backend",
            "mm-attention-backend",
            "prefill-attention-backend",
            "sampling-backend",
            "speculative-draft-attention-backend",
        }
    ),
}
"""Files that a plan without any of these flags does without: a cold `check` does not load what has nothing to judge.

A new file need not stand here. One that does is held to the flags of its rules by a test.
"""


def rules_for(plan: Plan) -> tuple[Rule, ...]:
    """The rules that have something to judge in a plan, by the flags that it gives."""
    return _rules_with(frozenset(given_by(plan).found))


@lru_cache(maxsize=256)  # the profiles of a tree give much the same flags
def _rules_with(found: frozenset[str]) -> tuple[Rule, ...]:
    idle = [file for file, flags in LOADED_FOR.items() if flags.isdisjoint(found)]
    rules = collect(__name__, without=idle)
    return tuple([each for each in rules if not each.flags or not each.flags.isdisjoint(found)])


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every one, whatever a plan gives."""
    return collect(__name__)
