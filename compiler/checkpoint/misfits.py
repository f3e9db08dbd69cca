"""A model as its config describes it in; where two figures of it do not fit each other, in words that name the keys, out."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Gqa
from compiler.checkpoint.keys import Keys
from compiler.facts import Model


def misfits(model: Model, keys: Keys) -> Iterator[str]:
    """Each pair of figures that no engine can build a model from."""
    yield from _undivided(model)
    yield from _experts(model)
    yield from _half_latent(model, keys)


def _undivided(model: Model) -> Iterator[str]:
    """Each KV head serves as many query heads as any other: every attention backend divides the one by the other."""
    full, window = model.attention, model.window
    if isinstance(full, Gqa) and model.heads % full.kv_heads:
        yield _uneven(model.heads, full.kv_heads, "")
    if window is not None and (heads := window.heads or model.heads) % window.kv_heads:
        yield _uneven(heads, window.kv_heads, " in the layers with a window")


def _uneven(heads: int, kv_heads: int, which: str) -> str:
    return f"`num_attention_heads` and `num_key_value_heads` do not fit: {heads:,} heads do not divide over {kv_heads:,} KV heads{which}"


def _experts(model: Model) -> Iterator[str]:
    """A router picks the best so many of its scores (`torch.topk`), and cannot pick more than there are."""
    moe = model.moe
    if moe is not None and moe.active_experts > moe.routed_experts:
        yield f"each token goes to {moe.active_experts:,} experts, and there are {moe.routed_experts:,}"


def _half_latent(model: Model, keys: Keys) -> Iterator[str]:
    """A head that splits into parts with and without positions is one of MLA, whose cache is as wide as its rank says.

    A model of the family with plain attention, such as DeepSeek-OCR's, says zero for both parts.
    """
    if isinstance(model.attention, Gqa) and keys.count("qk_nope_head_dim"):
        yield "`kv_lora_rank` is missing, and `qk_nope_head_dim` is there"
