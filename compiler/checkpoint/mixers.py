"""The keys of a config in; the attention and state layers of the model out.

Which key says what: SGLang 0.5.11 configs/*.py and models/*.py of each family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import cycle, islice

from compiler.architecture import (
    Compressed,
    Gqa,
    Indexer,
    LayerKind,
    Mla,
    Selector,
    State,
    StateKind,
    Window,
)
from compiler.checkpoint.keys import Keys


_NAMES: Mapping[str, LayerKind] = {
    "full_attention": LayerKind.FULL,
    "attention": LayerKind.FULL,
    "deepseek_sparse_attention": LayerKind.FULL,
    "sliding_attention": LayerKind.WINDOW,
    "chunked_attention": LayerKind.WINDOW,
    "linear_attention": LayerKind.STATE,
    "mamba": LayerKind.STATE,
    "conv": LayerKind.STATE,
    "short_conv": LayerKind.STATE,
    "mlp": LayerKind.MLP,
    "moe": LayerKind.EXPERTS,
}
_LETTERS: Mapping[str, LayerKind] = {
    "*": LayerKind.FULL,
    "M": LayerKind.STATE,
    "-": LayerKind.MLP,
    "E": LayerKind.EXPERTS,
}
_WINDOWS: Mapping[str, LayerKind] = {"L": LayerKind.WINDOW, "G": LayerKind.FULL}
_GATINGS = (True, "per-element")  # Laguna; a gate a head is too small to count
_CHUNK = 8192  # Llama 4's default `attention_chunk_size`
_NO_ROPE_EVERY = 4  # and `no_rope_layer_interval`: the layers without are those with full attention


def attention_of(keys: Keys, *, gated: bool) -> Mla | Gqa | Compressed:
    """The attention of the full layers."""
    if keys.has("compress_ratios"):
        return _compressed(keys)
    if keys.has("kv_lora_rank"):
        return Mla(
            kv_lora_rank=keys.need("kv_lora_rank"),
            qk_rope_head_dim=keys.count("qk_rope_head_dim"),
            qk_nope_head_dim=keys.need("qk_nope_head_dim"),
            v_head_dim=keys.need("v_head_dim"),
            q_lora_rank=keys.count("q_lora_rank"),
            gated=keys.flag("mla_use_output_gate"),
            indexer=_indexer(keys),
        )
    head_dim = keys.number("global_head_dim", "head_dim", "kv_channels") or _head_dim(keys)
    return Gqa(
        kv_heads=keys.number("num_global_key_value_heads") or kv_heads(keys),
        head_dim=head_dim,
        v_head_dim=keys.count("v_head_dim") or head_dim,
        gated=gated or keys.flag("attn_output_gate") or keys.values.get("gating") in _GATINGS,
        shared_projection=keys.flag("attention_k_eq_v"),
        selector=_selector(keys),
    )


def _compressed(keys: Keys) -> Compressed:
    ratios, layers = keys.numbers("compress_ratios"), keys.number("num_hidden_layers") or 0
    if len(ratios) < layers:
        keys.faults.append(f"`compress_ratios` has {len(ratios)} entries for {layers} layers")
    return Compressed(
        head_dim=keys.need("head_dim"),
        rope_head_dim=keys.need("qk_rope_head_dim"),
        q_lora_rank=keys.need("q_lora_rank"),
        output_groups=keys.need("o_groups"),
        output_rank=keys.need("o_lora_rank"),
        window=keys.need("sliding_window"),
        ratios=ratios,
        owners=keys.numbers("kv_source_layer_ids"),
        indexed=keys.numbers("index_source_layer_ids"),
        indexer=Indexer(heads=keys.need("index_n_heads"), head_dim=keys.need("index_head_dim")),
    )


def _selector(keys: Keys) -> Selector | None:
    """Keys that choose blocks in the layers from one on (MiniMax-M3), or in all full layers (Qwen3.8-Flash-Next)."""
    if keys.has("indexer_n_heads"):
        return Selector(
            heads=keys.need("indexer_n_heads"),
            head_dim=keys.need("indexer_head_dim"),
            ratio=keys.need("indexer_compress_ratio"),
        )
    sparse = keys.table("sparse_attention_config")
    if sparse is None or sparse.get("use_sparse_attention") is False:
        return None
    inner = keys.inside(sparse)
    layers = inner.numbers("sparse_attention_freq")
    first = layers.index(1) if 1 in layers else 0
    if any(each != int(at >= first) for at, each in enumerate(layers)):
        keys.faults.append("`sparse_attention_freq` has full layers among sparse ones")
    return Selector(
        heads=inner.need("sparse_num_index_heads"),
        head_dim=inner.need("sparse_index_dim"),
        first=first,
    )


def kv_heads(keys: Keys) -> int:
    """KV heads; as many as query heads when the config does not say."""
    found = keys.number(
        "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "num_attention_groups"
    )
    return found or keys.need("num_attention_heads")


def _head_dim(keys: Keys) -> int:
    return max(1, keys.need("hidden_size") // keys.need("num_attention_heads"))


def _indexer(keys: Keys) -> Indexer | None:
    if not keys.has("index_head_dim"):
        return None
    return Indexer(
        heads=keys.need("index_n_heads"),
        head_dim=keys.need("index_head_dim"),
        first=keys.number("index_skip_topk_offset") or 2,
        every=keys.number("index_topk_freq") or 1,
        pool=keys.number("index_kpool") or 1,
    )


def pattern_of(keys: Keys, *, layers: int, full_every: int = 1) -> tuple[LayerKind, ...]:
    """The kinds of the layers, as short as they repeat.

    One in `full_every` is full where the config has a window and does not say which layers look through it.
    """
    kinds = _kinds(keys, layers, full_every)
    if kinds and len(kinds) != layers:
        keys.faults.append(f"the list of layer kinds has {len(kinds)} entries for {layers} layers")
    return shortest(kinds or (LayerKind.FULL,))


def _kinds(keys: Keys, layers: int, full_every: int) -> tuple[LayerKind, ...]:
    """The kinds as the config lists them, or as its interval of full layers gives them; nothing when all are full."""
    listed = _listed(keys, layers)
    if listed:
        return listed
    linear = keys.table("linear_attn_config")
    if linear is not None and isinstance(linear.get("full_attn_layers"), list):
        full = set(keys.inside(linear).numbers("full_attn_layers"))  # counted from 1
        return _where(layers, lambda at: at + 1 in full, LayerKind.STATE)
    if keys.has("full_attention_interval"):
        every, other = keys.need("full_attention_interval"), LayerKind.STATE
    elif keys.has("attention_chunk_size") or keys.has("interleave_moe_layer_step"):
        every, other = _NO_ROPE_EVERY, LayerKind.WINDOW
    else:
        every = keys.count("sliding_window_pattern", "_sliding_window_pattern")
        every = every or (full_every if keys.has("sliding_window") else 1)
        other = LayerKind.WINDOW
    return _where(layers, lambda at: at % every == every - 1, other)


def _listed(keys: Keys, layers: int) -> tuple[LayerKind, ...]:
    for name in ("layer_types", "layers_block_type"):
        words = keys.words(name)
        if words is not None:
            # Step lists those of its draft behind its own.
            drafts = keys.count("num_nextn_predict_layers")
            return _named(words[:layers] if len(words) == layers + drafts else words, keys)
    letters = keys.values.get("hybrid_override_pattern")
    if isinstance(letters, str) and set(letters) <= set(_LETTERS):
        return tuple(_LETTERS[each] for each in letters)
    windows = keys.values.get("sliding_window_pattern")
    if isinstance(windows, str) and windows and set(windows) <= set(_WINDOWS):
        # EXAONE repeats the letters, and has none without a window.
        run = tuple(_WINDOWS[each] for each in windows) if keys.has("sliding_window") else ()
        return tuple(islice(cycle(run), layers)) or (LayerKind.FULL,) * layers
    flags = keys.values.get("hybrid_layer_pattern")
    if isinstance(flags, list):
        return tuple(LayerKind.WINDOW if each == 1 else LayerKind.FULL for each in flags)
    return ()


def _where(layers: int, is_full: Callable[[int], bool], other: LayerKind) -> tuple[LayerKind, ...]:
    return tuple(LayerKind.FULL if is_full(at) else other for at in range(layers))


def _named(words: tuple[str, ...], keys: Keys) -> tuple[LayerKind, ...]:
    unknown = [each for each in words if each not in _NAMES]
    if unknown:
        keys.faults.append(f"layers of the kind `{unknown[0]}` are not understood")
        return ()
    return tuple(_NAMES[each] for each in words)


def shortest(kinds: tuple[LayerKind, ...]) -> tuple[LayerKind, ...]:
    """The shortest run that gives the same layers when it is repeated, twice at least."""
    for length in range(1, len(kinds) // 2 + 1):
        run = kinds[:length]
        if all(kind is run[at % length] for at, kind in enumerate(kinds)):
            return run
    return kinds


def window_of(
    keys: Keys, pattern: tuple[LayerKind, ...], full: Mla | Gqa | Compressed
) -> Window | None:
    """The attention of the window layers, if there are any."""
    if LayerKind.WINDOW not in pattern or not isinstance(full, Gqa):
        return None
    heads = heads_of(keys, pattern, LayerKind.WINDOW)
    head_dim = keys.number("swa_head_dim", "head_dim") or full.head_dim
    value = keys.number("swa_v_head_dim") or (
        full.v_head_dim if head_dim == full.head_dim else head_dim
    )
    return Window(
        size=keys.number("sliding_window", "sliding_window_size", "attention_chunk_size") or _CHUNK,
        kv_heads=keys.number("swa_num_key_value_heads") or kv_heads(keys),
        head_dim=head_dim,
        v_head_dim=value,
        heads=None if heads == heads_of(keys, pattern, LayerKind.FULL) else heads,
        gated=full.gated,
    )


def heads_of(keys: Keys, pattern: tuple[LayerKind, ...], kind: LayerKind) -> int:
    """The query heads of the layers of a kind."""
    every = keys.need("num_attention_heads")
    other = keys.table("attention_other_setting")
    if kind is LayerKind.WINDOW and other is not None:
        return keys.inside(other).need("num_attention_heads")
    listed = keys.numbers("num_attention_heads_per_layer")
    found = {heads for at, heads in enumerate(listed) if pattern[at % len(pattern)] is kind}
    if len(found) > 1:
        keys.faults.append("`num_attention_heads_per_layer` differs among layers of one kind")
    if found:
        return max(found)
    return (keys.number("swa_num_attention_heads") if kind is LayerKind.WINDOW else None) or every


def state_of(keys: Keys, pattern: tuple[LayerKind, ...]) -> State | None:
    """The layers with a state, if there are any."""
    if LayerKind.STATE not in pattern:
        return None
    if keys.has("linear_num_value_heads"):
        return State(
            kind=StateKind.GDN,
            heads=keys.need("linear_num_value_heads"),
            head_dim=keys.need("linear_value_head_dim"),
            groups=keys.need("linear_num_key_heads"),
            state_size=keys.need("linear_key_head_dim"),
            conv_kernel=keys.need("linear_conv_kernel_dim"),
            state_bits=_state_bits(keys),
        )
    linear = keys.table("linear_attn_config")
    if linear is not None:
        inner = keys.inside(linear)
        heads, width = inner.need("num_heads"), inner.need("head_dim")
        kernel = inner.need("short_conv_kernel_size")
        return State(
            kind=StateKind.KDA,
            heads=heads,
            head_dim=width,
            groups=heads,
            state_size=width,
            conv_kernel=kernel,
            full_gate=inner.flag("use_full_rank_gate"),
        )
    if keys.has("conv_L_cache"):
        return State(
            kind=StateKind.CONVOLUTION,
            heads=1,
            head_dim=keys.need("hidden_size"),
            groups=1,
            conv_kernel=keys.need("conv_L_cache"),
        )
    return State(
        kind=StateKind.MAMBA2,
        heads=keys.need("mamba_num_heads", "mamba_n_heads"),
        head_dim=keys.need("mamba_head_dim", "mamba_d_head"),
        groups=keys.need("n_groups", "mamba_n_groups"),
        state_size=keys.need("ssm_state_size", "mamba_d_state"),
        conv_kernel=keys.need("conv_kernel", "mamba_d_conv"),
        state_bits=_state_bits(keys),
    )


def _state_bits(keys: Keys) -> int:
    narrow = keys.values.get("mamba_ssm_dtype") in ("bfloat16", "float16")
    return 16 if narrow else 32
