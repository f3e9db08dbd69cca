"""A command line in, its settings by the server's own names out; and each flag against what the server runs with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from compiler.engines.observing import FlagSeen, FlagState
from compiler.engines.sglang import following
from compiler.secrecy import is_secret
from compiler.yamltext import parse_yaml


# The flags whose value is a folder of the host, or something to download -> the setting for the folder.
_FOLDERS: Mapping[str, str] = {
    "--model-path": "model.path",
    "--speculative-draft-model-path": "speculative.draft_path",
}
# The flags that the server stores under another name (`from_cli_args` and the aliases of each release).
_STORED_AS: Mapping[str, str] = {
    "attention_context_parallel_size": "attn_cp_size",
    "attention_data_parallel_size": "attn_dp_size",
    "data_parallel_size": "dp_size",
    "decode_context_parallel_size": "dcp_size",
    "ep": "ep_size",
    "expert_parallel_size": "ep_size",
    "model": "model_path",
    "moe_data_parallel_size": "moe_dp_size",
    "nccl_init_addr": "dist_init_addr",
    "pipeline_parallel_size": "pp_size",
    "speculative_draft_model": "speculative_draft_model_path",
    "tensor_parallel_size": "tp_size",
}
# And those that a later release stores under a newer name.
_RENAMED: Mapping[str, str] = {
    "cuda_graph_bs": "cuda_graph_bs_decode",
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
    "enable_nsa_prefill_context_parallel": "enable_dsa_prefill_context_parallel",
    "fp4_gemm_backend": "fp4_gemm_runner_backend",
    "fp8_gemm_backend": "fp8_gemm_runner_backend",
    "hierarchical_sparse_attention_extra_config": "hisparse_config",
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "nsa_decode_backend": "dsa_decode_backend",
    "nsa_prefill_backend": "dsa_prefill_backend",
    "nsa_prefill_cp_mode": "dsa_prefill_cp_mode",
    "piecewise_cuda_graph_compiler": "cuda_graph_tc_compiler",
    "piecewise_cuda_graph_max_tokens": "cuda_graph_max_bs_prefill",
    "piecewise_cuda_graph_tokens": "cuda_graph_bs_prefill",
    "speculative_dflash_draft_window_size": "speculative_draft_window_size",
    "stream_output": "incremental_streaming_output",
}

# What the server's own start-up puts in the place of a value that was given, in some release from 0.4.6 to 0.5.23, so that
# another value there does not mean another command line. Read from the sources of eleven releases: every assignment in
# server_args.py and arg_groups/, and from 0.5.15 on every declared override, that does not only fill in what nobody
# gave. Where a download changes the path of a model, the plan has to name it as it is: a server of another model is not
# taken for the one that was reviewed.
_REWRITTEN = frozenset(
    """
    allowed_media_domains attention_backend attn_cp_size attn_dp_size chunked_prefill_size cuda_graph_backend_prefill
    cuda_graph_bs cuda_graph_config cuda_graph_max_bs cuda_graph_max_bs_prefill dcp_comm_backend debug_cuda_graph
    decode_attention_backend deepep_mode detokenizer_worker_num device disable_aiter_allreduce_fusion_in_prefill
    disable_cuda_graph disable_custom_all_reduce disable_hybrid_swa_memory disable_overlap_schedule
    disable_piecewise_cuda_graph disable_radix_cache disable_shared_experts_fusion disaggregation_bootstrap_port
    disaggregation_decode_retraction_backup disaggregation_ib_device disaggregation_mode disaggregation_prefill_pp
    disaggregation_transfer_backend dp_size dsa_decode_backend dsa_prefill_backend dsa_prefill_cp_mode
    dsa_topk_backend dsv4_attn_backend dtype enable_aiter_allreduce_fusion enable_attn_tp_input_scattered
    enable_cp_tp_group_sharing enable_decoder_swa_bounded_replay enable_deterministic_inference enable_dp_attention
    enable_dp_attention_local_control_broadcast enable_dp_lm_head enable_dsa_prefill_context_parallel
    enable_dynamic_batch_tokenizer enable_flashinfer_allreduce_fusion enable_flexkv enable_hierarchical_cache
    enable_lmcache enable_lora enable_lora_overlap_loading enable_mixed_chunk enable_multi_layer_eagle
    enable_page_major_kv_layout enable_prefill_context_parallel enable_prefill_cp enable_prefill_delayer
    enable_return_hidden_states enable_symm_mem enable_tf32_matmul enable_tokenizer_batch_encode enable_torch_symm_mem
    enable_tp_lm_head_all_to_all encoder_transfer_backend enforce_disable_flashinfer_allreduce_fusion
    enforce_shared_experts_fusion ep_size eplb_algorithm flashinfer_a2a_dispatch_type
    flashinfer_allreduce_fusion_backend fp4_gemm_runner_backend fp8_gemm_runner_backend grpc_worker_threads
    hicache_host_memory_fraction hicache_io_backend hicache_mem_layout hicache_write_policy image_processor_backend
    keep_mm_feature_on_device kv_cache_dtype limit_mm_data_per_request linear_attn_decode_backend
    linear_attn_verify_backend load_balance_method load_format lora_paths lora_strict_loading lora_target_modules
    mamba_full_memory_ratio mamba_radix_cache_strategy mamba_scheduler_strategy mem_fraction_static
    mm_feature_transport mm_preprocess_cache_size_mb model_loader_extra_config moe_a2a_backend moe_dense_tp_size
    moe_dp_size moe_runner_backend mooncake_ib_device nsa_decode_backend nsa_prefill_backend
    optimistic_prefill_attempts optimistic_prefill_retries page_size piecewise_cuda_graph_compiler
    piecewise_cuda_graph_max_tokens pp_size pre_warm_nccl preferred_sampling_params prefill_attention_backend
    prefill_cp_mode prefill_delayer_max_delay_passes prefill_delayer_token_usage_low_watermark
    prefill_kv_cache_dequant_dtype prefill_only_disable_kv_cache quantization radix_eviction_policy
    remote_instance_weight_loader_start_seed_via_transfer_engine sampling_backend schedule_conservativeness
    skip_server_warmup speculative_adaptive speculative_algorithm speculative_attention_mode
    speculative_dflash_draft_window_size speculative_draft_attention_backend speculative_draft_kv_cache_dtype
    speculative_draft_model_quantization speculative_draft_sink_size speculative_draft_window_size
    speculative_eagle_topk speculative_moe_a2a_backend speculative_moe_runner_backend speculative_num_draft_tokens
    speculative_num_steps speculative_use_rejection_sampling swa_full_tokens_ratio tokenizer_worker_num
    tool_call_parser torch_compile_max_bs triton_attention_num_kv_splits
    """.split()  # noqa: SIM905 - a list of words reads best so
)
_CONFIG = "config"
_KEYS = ("api-key", "api_key")
_LAST_PORT = 65_535
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 30000  # the same in all releases


def asked(argv: Sequence[str]) -> Mapping[str, object]:
    """The settings that a command line gives: a text, `True` for a flag without a value, a list for several."""
    given: dict[str, object] = {}
    for flag, words in _flags(argv):
        value: object = list(words)
        if len(words) < 2:  # noqa: PLR2004 - one word is a value, several are a list
            value = words[0] if words else True
        name = _field(flag)
        given[_STORED_AS.get(name, name)] = value
    return given


def compare(argv: Sequence[str], *, settings: Mapping[str, object]) -> tuple[FlagSeen, ...]:
    """Each flag of a command line against what the server runs with."""
    return tuple(
        _compare(flag, words, settings) for flag, words in _flags(argv) if _field(flag) != _CONFIG
    )


def address(argv: Sequence[str]) -> tuple[str, int]:
    """The address and the port that the server listens on."""
    given = asked(argv)
    port = str(given.get("port", ""))
    is_port = port.isdecimal() and len(port) < 6 and 0 < int(port) <= _LAST_PORT  # noqa: PLR2004 - its digits
    return str(given.get("host", DEFAULT_HOST)), int(port) if is_port else DEFAULT_PORT


def untold(argv: Sequence[str]) -> str | None:
    """As in `Observer`, of the node that the command line names."""
    given = asked(argv)
    rank, nodes = (_number(given.get(name)) for name in ("node_rank", "nnodes"))
    return following.untold(rank=rank, nodes=nodes)


def _number(value: object) -> int | None:
    """A number that the server could have been given; a damaged plan may hold anything."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else None


def folders(argv: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """As in `Observer`: the flags are those that the spelling of these settings writes, in every release."""
    return tuple((_FOLDERS[flag], value) for flag, value in pairwise(argv) if flag in _FOLDERS)


def secret_file(argv: Sequence[str]) -> str | None:
    """The file of `--config`, which holds the API key."""
    path = asked(argv).get(_CONFIG)
    return path if isinstance(path, str) else None


def read_key(text: str) -> str | None:
    """The API key in a YAML text with the line `api-key: ...`; `None` when it has none that is text."""
    values, _ = parse_yaml(text)
    if not isinstance(values, dict):
        return None
    found = next((values[name] for name in _KEYS if name in values), None)
    return found if isinstance(found, str) and found.isascii() and found.isprintable() else None


def _flags(argv: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The flags in order, each with the words behind it; the command before the first one is passed over."""
    flag: str | None = None
    words: list[str] = []
    for word in argv:
        if word.startswith("--"):
            if flag is not None:
                yield flag, tuple(words)
            flag, joined, value = word.partition("=")
            words = [value] if joined else []
        elif flag is not None:
            words.append(word)
    if flag is not None:
        yield flag, tuple(words)


def _field(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _names(flag: str) -> tuple[str, ...]:
    name = _field(flag)
    others = (table[name] for table in (_STORED_AS, _RENAMED) if name in table)
    return (*others, name)


def _compare(flag: str, words: tuple[str, ...], settings: Mapping[str, object]) -> FlagSeen:
    name = next((each for each in _names(flag) if each in settings), None)
    secret = any(is_secret(flag, word) for word in words)
    shown = "***" if secret else " ".join(words) or "on"
    if name is None or secret:
        return FlagSeen(flag=flag, asked=shown, found=None, state=FlagState.UNTOLD)
    found = settings[name]
    if _is_same(words, found):
        state = FlagState.SAME
    else:
        state = FlagState.CHANGED if name in _REWRITTEN else FlagState.DIFFERENT
    return FlagSeen(flag=flag, asked=shown, found=_shown(found), state=state)


def _is_same(words: tuple[str, ...], found: object) -> bool:
    if not words:
        return found is True or (found is not False and found is not None)
    if isinstance(found, (list, tuple)):
        return [str(each) for each in found] == list(words) or _is_json(words, found)
    if isinstance(found, Mapping):
        return _is_json(words, found)
    (word,) = words if len(words) == 1 else (" ".join(words),)
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        try:
            return float(word) == float(found)
        except (ValueError, OverflowError):
            return False
    return word == str(found) or word.lower() == str(found).lower() == str(bool(found)).lower()


def _is_json(words: tuple[str, ...], found: object) -> bool:
    try:
        return bool(json.loads(" ".join(words)) == found)
    except (ValueError, RecursionError):
        return False


def _shown(value: object) -> str:
    if value is True:
        return "on"
    if value is False:
        return "off"
    if value is None:
        return "not set"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
