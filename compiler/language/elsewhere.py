"""What other engines and people call our settings: looked at only where a key is not known.

vLLM's and llama.cpp's names are those of their command lines (docs.vllm.ai, `vllm serve`; github.com/ggml-org/llama.cpp,
tools/server/README.md); the others are short forms. The names of an engine's own flags are not here: its release has them.
What no setting says, a flag may, under `flags`: whether a release has it is for who asks to see.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.origins import SettingPath


NAMES: Mapping[SettingPath, str] = {
    ("model", "id"): "name repo hf_repo hub_id",
    ("model", "path"): "dir directory folder local_path checkpoint",
    ("model", "served_name"): "alias",
    ("gpus", "kind"): "type model name gpu",
    ("gpus", "count"): "num number n total",
    ("gpus", "indices"): "ids devices device_ids cuda_visible_devices visible",
    ("engine", "name"): "kind type",
    ("engine", "version"): "release tag",
    ("engine", "python"): "interpreter venv",
    ("engine", "attention_backend"): "backend attention",
    ("parallel", "tensor"): "tp tensor_parallel",
    ("parallel", "pipeline"): "pp pipeline_parallel",
    ("parallel", "data"): "dp data_parallel",
    ("parallel", "expert"): "ep expert_parallel enable_expert_parallel",
    (
        "serve",
        "context",
    ): "ctx ctx_len ctx_size context_len context_size max_context max_len max_model_len n_ctx length",
    ("serve", "concurrency"): "parallel n_parallel users streams simultaneous",
    ("serve", "max_running_requests"): "max_num_seqs max_requests max_batch_size",
    ("serve", "host"): "address bind listen",
    ("memory", "fraction"): "gpu_memory_utilization utilization",
    ("memory", "kv_dtype"): "kv_cache kv_format kv_type cache_dtype cache_type cache_type_k",
    (
        "memory",
        "chunked_prefill",
    ): "chunk chunk_size prefill_chunk max_num_batched_tokens no_enable_chunked_prefill",
    ("memory", "page_size"): "block_size",
    (
        "memory",
        "max_pool_tokens",
    ): "num_gpu_blocks_override kv_cache_memory_bytes kv_cache_memory",
    ("memory", "cuda_graph_max_batch"): "graph_bs graph_max_bs graphs max_cudagraph_capture_size",
    ("secrets", "api_key", "file"): "path place yaml",
    ("speculative", "algorithm"): "method type",
    ("speculative", "draft"): "model draft_model speculative_model",
    ("flags", "cuda-graph-bs"): "cuda_graph_sizes cudagraph_capture_sizes",
    ("flags", "disable-cuda-graph"): "enforce_eager",
    ("flags", "disable-hybrid-swa-memory"): "disable_hybrid_kv_cache_manager",
    ("flags", "disable-overlap-schedule"): "no_async_scheduling",
    ("flags", "disable-radix-cache"): "no_enable_prefix_caching",
    ("flags", "dist-init-addr"): "master_addr master_port data_parallel_address",
    ("flags", "enable-cache-report"): "enable_prompt_tokens_details",
    ("flags", "enable-hierarchical-cache"): "kv_offloading_size",
    ("flags", "enable-memory-saver"): "enable_sleep_mode",
    ("flags", "enable-two-batch-overlap"): "enable_dbo",
    ("flags", "ep-num-redundant-experts"): "num_redundant_experts",
    ("flags", "fastapi-root-path"): "root_path",
    ("flags", "grammar-backend"): "guided_decoding_backend",
    ("flags", "is-embedding"): "task runner",
    ("flags", "json-model-override-args"): "hf_overrides rope_scaling rope_theta",
    ("flags", "limit-mm-data-per-request"): "limit_mm_per_prompt",
    ("flags", "log-level-http"): "uvicorn_log_level disable_uvicorn_access_log",
    ("flags", "log-requests"): "enable_log_requests",
    ("flags", "lora-paths"): "lora_modules",
    ("flags", "mamba-ssm-dtype"): "mamba_ssm_cache_dtype",
    ("flags", "max-loaded-loras"): "max_cpu_loras",
    ("flags", "max-loras-per-batch"): "max_loras",
    ("flags", "mm-enable-dp-encoder"): "mm_encoder_tp_mode",
    ("flags", "num-continuous-decode-steps"): "num_scheduler_steps",
    ("flags", "preferred-sampling-params"): "override_generation_config",
    ("flags", "random-seed"): "seed",
    ("flags", "sampling-defaults"): "generation_config",
    ("flags", "schedule-policy"): "scheduling_policy",
    ("flags", "speculative-num-steps"): "num_speculative_tokens",
    ("flags", "tokenizer-path"): "tokenizer",
    ("flags", "tokenizer-worker-num"): "api_server_count",
}
"""By setting, other names of it, in words with `_` between them."""

_SHORT = frozenset({"tp", "pp", "dp"})
"""Flags of vLLM with one dash."""
OTHERWISE: Mapping[str, str] = {
    "gpu_memory_utilization": "its number is another one: it counts what requests are computed in, too, which has to fit beside this share",
    "enable_expert_parallel": "what is a switch there is a number of GPUs here",
    "no_enable_chunked_prefill": "what is a switch there is the number -1 here",
    "num_gpu_blocks_override": "what is counted in blocks there is counted in tokens here",
    "kv_cache_memory_bytes": "what is counted in bytes there is counted in tokens here",
    "kv_cache_memory": "what is counted in bytes there is counted in tokens here",
    "master_addr": "address and port are one word here, `HOST:PORT`",
    "master_port": "address and port are one word here, `HOST:PORT`",
    "data_parallel_address": "address and port are one word here, `HOST:PORT`",
    "kv_offloading_size": "what is a size there is a switch here, and the size a flag beside it",
    "task": "what is a word there is a switch here: without it the server generates",
    "runner": "what is a word there is a switch here: without it the server generates",
    "rope_scaling": "here it is a key of the JSON that takes the place of the model's own",
    "rope_theta": "here it is a key of the JSON that takes the place of the model's own",
    "disable_uvicorn_access_log": "what is a switch there is the level `warning` here",
    "mm_encoder_tp_mode": "what is the word `data` there is a switch here",
    "generation_config": "its words are others: the model's own file counts unless another word is given",
    "scheduling_policy": "its words are others, but for `fcfs`",
    "num_speculative_tokens": "one token is drafted in each step, and one more than that is verified",
}
"""By such a name, where what stands under it is not what stands here."""


def called_here(path: SettingPath) -> SettingPath | None:
    """The setting that a key stands for which the language does not know; one of the same table before all others."""
    *above, key = path
    word = key.lower().replace("-", "_")
    found = _called(word)
    beside = [each for each in found if each[:-1] == tuple(above)]
    if beside:
        return beside[0]
    return found[0] if len(found) == 1 and len(above) == 1 else None


def flag_here(name: str) -> SettingPath | None:
    """The setting that another engine's flag stands for; one word says too little, unless it is short or stands for a flag."""
    word = _word(name)
    is_sure = "_" in word or (not name.startswith("--") and word in _SHORT)
    found = [path for path in _called(word) if is_sure or path[0] == "flags"]
    return found[0] if len(found) == 1 else None


def otherwise_here(name: str) -> str | None:
    """What is another here than under a flag that `flag_here` knows, a clause; `None` where it is the same."""
    return OTHERWISE.get(_word(name))


def _word(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _called(word: str) -> list[SettingPath]:
    return [path for path, names in NAMES.items() if word in names.split()]


_FORMATS: Mapping[str, str] = {
    "float16 fp16 f16 half": "a cache has this format where the model runs in it: leave it at `auto`",
    "e4m3 float8_e4m3 float8_e4m3fn fp8_e4m3fn": "here it is called `fp8_e4m3`",
    "e5m2 float8_e5m2": "here it is called `fp8_e5m2`",
    "fp4 nvfp4 mxfp4 fp4_e2m1 fp4_mx_block16": "a cache in four bits has no word here: set `flags.kv-cache-dtype`, as the release spells it",
}


def value_here(path: SettingPath, value: object) -> str | None:
    """What to write for a value that the setting does not take and that is near another word of another meaning."""
    if path != ("memory", "kv_dtype") or not isinstance(value, str):
        return None
    word = value.lower().replace("-", "_")
    return next((said for names, said in _FORMATS.items() if word in names.split()), None)
