"""What other engines and people call our settings: looked at only where a key is not known.

vLLM's and llama.cpp's names are those of their command lines (docs.vllm.ai, `vllm serve`; github.com/ggml-org/llama.cpp,
tools/server/README.md); the others are short forms. The names of an engine's own flags are not here: its release has them.
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
    ("parallel", "expert"): "ep expert_parallel",
    (
        "serve",
        "context",
    ): "ctx ctx_len ctx_size context_len context_size max_context max_len max_model_len n_ctx length",
    ("serve", "concurrency"): "parallel n_parallel users streams simultaneous",
    ("serve", "max_running_requests"): "max_num_seqs max_requests max_batch_size",
    ("serve", "host"): "address bind listen",
    ("memory", "fraction"): "gpu_memory_utilization utilization",
    ("memory", "kv_dtype"): "kv_cache kv_format kv_type cache_dtype cache_type cache_type_k",
    ("memory", "chunked_prefill"): "chunk chunk_size prefill_chunk max_num_batched_tokens",
    ("memory", "page_size"): "block_size",
    ("memory", "cuda_graph_max_batch"): "graph_bs graph_max_bs graphs max_cudagraph_capture_size",
    ("secrets", "api_key", "file"): "path place yaml",
    ("speculative", "algorithm"): "method type",
    ("speculative", "draft"): "model draft_model",
}
"""By setting, other names of it, in words with `_` between them."""


def called_here(path: SettingPath) -> SettingPath | None:
    """The setting that a key stands for which the language does not know; one of the same table before all others."""
    *above, key = path
    word = key.lower().replace("-", "_")
    found = [setting for setting, names in NAMES.items() if word in names.split()]
    beside = [each for each in found if each[:-1] == tuple(above)]
    if beside:
        return beside[0]
    return found[0] if len(found) == 1 and len(above) == 1 else None


def flag_here(name: str) -> SettingPath | None:
    """The setting that another engine's flag stands for; a flag of one word says too little."""
    word = name.removeprefix("--").replace("-", "_")
    found = [path for path, names in NAMES.items() if "_" in word and word in names.split()]
    return found[0] if len(found) == 1 else None


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
