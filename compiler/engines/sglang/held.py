"""Which of a command's flags a profile has a typed place for, by the names that releases store them under."""

from __future__ import annotations

from compiler.engines.sglang.speculation import (
    BLOCK_DRAFTED,
    BLOCK_FLAGS,
    NGRAM,
    STEPWISE,
    unwritten_block,
)


ALGORITHMS = BLOCK_DRAFTED | STEPWISE | {NGRAM}
"""Those that `speculative.algorithm` has a word for."""

TENSOR = ("tp_size", "tensor_parallel_size")
PIPELINE = ("pp_size", "pipeline_parallel_size")
DATA = ("attn_dp_size", "dp_size", "data_parallel_size")
REPLICAS_ASKED_SINCE = "0.4.4.post1"
"""Before it data parallel attention has a replica on each rank, whatever `DATA` says (0.4.1 server_args.py, 222, to 0.4.4)."""
EXPERT = ("ep_size", "expert_parallel_size")
MODEL = ("model_path",)
BATCH = ("cuda_graph_max_bs_decode", "cuda_graph_max_bs")
BLOCK, DSPARK_BLOCK = (each.replace("-", "_") for each in BLOCK_FLAGS)
WINDOW = ("speculative_draft_window_size", "speculative_dflash_draft_window_size")
SPECULATIVE = frozenset(
    {
        BLOCK,
        DSPARK_BLOCK,
        *WINDOW,
        "speculative_draft_model_path",
        "speculative_ddtree_budget",
        "speculative_ddtree_topk_cap",
    }
)
TYPED = frozenset(
    {
        *TENSOR,
        *PIPELINE,
        *DATA,
        *EXPERT,
        *MODEL,
        *BATCH,
        *SPECULATIVE,
        "enable_dp_attention",
        "context_length",
        "max_running_requests",
        "mem_fraction_static",
        "kv_cache_dtype",
        "chunked_prefill_size",
        "page_size",
        "max_total_tokens",
        "attention_backend",
        "speculative_algorithm",
    }
)


def unheld(algorithm: str | None) -> frozenset[str]:
    """The flags of speculation among them that have no place beside an algorithm: without one all, else the other block's."""
    if algorithm is None:
        return SPECULATIVE
    if algorithm not in ALGORITHMS:
        return frozenset()
    return frozenset({unwritten_block(algorithm).replace("-", "_")})
