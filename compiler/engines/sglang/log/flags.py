"""A command line in, its settings by the server's own names out; and each flag against what the server runs with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from compiler.engines.observing import FlagSeen, FlagState
from compiler.secrecy import is_secret
from compiler.yamltext import parse_yaml


# The flags that the server stores under another name; newest names first (`from_cli_args` of each release).
_STORED_AS: Mapping[str, tuple[str, ...]] = {
    "tensor_parallel_size": ("tp_size",),
    "pipeline_parallel_size": ("pp_size",),
    "data_parallel_size": ("dp_size",),
    "expert_parallel_size": ("ep_size",),
    "model": ("model_path",),
    "speculative_draft_model": ("speculative_draft_model_path",),
}

# What the server's own start-up assigns in some release from 0.4.6 to 0.5.23, so that another value there does not mean
# another command line (server_args.py: `__post_init__` and what it calls; arg_groups/ from 0.5.15).
_REWRITTEN = frozenset(
    """
    attention_backend attn_cp_size chunked_prefill_size cuda_graph_bs cuda_graph_max_bs cuda_graph_max_bs_prefill
    decode_attention_backend deepep_mode device disable_cuda_graph disable_custom_all_reduce disable_hybrid_swa_memory
    disable_overlap_schedule disable_piecewise_cuda_graph disable_radix_cache disable_shared_experts_fusion dp_size
    dsa_decode_backend dsa_prefill_backend dtype enable_dp_attention enable_dp_lm_head
    enable_flashinfer_allreduce_fusion enable_hierarchical_cache enable_lora enable_mixed_chunk
    enable_symm_mem enable_torch_symm_mem enable_tokenizer_batch_encode ep_dispatch_algorithm ep_size eplb_algorithm
    grammar_backend hicache_io_backend hicache_mem_layout hicache_ratio kv_cache_dtype linear_attn_decode_backend
    linear_attn_verify_backend load_balance_method load_format lora_paths lora_target_modules
    mamba_radix_cache_strategy mamba_scheduler_strategy mamba_ssm_dtype max_running_requests mem_fraction_static
    moe_a2a_backend moe_dense_tp_size moe_dp_size moe_runner_backend nsa_decode_backend nsa_prefill_backend page_size
    piecewise_cuda_graph_compiler piecewise_cuda_graph_max_tokens piecewise_cuda_graph_tokens pp_size
    prefill_attention_backend quantization sampling_backend schedule_conservativeness skip_server_warmup
    speculative_algorithm speculative_dflash_draft_window_size speculative_draft_attention_backend
    speculative_draft_load_format speculative_draft_model_quantization speculative_draft_window_size
    speculative_eagle_topk speculative_moe_a2a_backend speculative_moe_runner_backend speculative_num_draft_tokens
    speculative_num_steps swa_full_tokens_ratio tokenizer_worker_num torch_compile_max_bs
    triton_attention_num_kv_splits
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
        given[_names(flag)[0]] = value
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
    return (*_STORED_AS.get(name, ()), name)


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
