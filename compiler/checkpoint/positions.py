"""The keys of a config in; how far its positions reach, and the rotary tables they take, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.architecture import Compressed, Gqa, LayerKind, Mla, Rope
from compiler.checkpoint.keys import Keys


_FULL_HEAD_ROTARY = frozenset({"proportional"})
_PLAIN = frozenset({"default", "mrope"})  # positions of several axes turn by the same table
_NO_CONTEXT = 1e9  # no model knows so many positions
_NO_KIND = "`rope_scaling` has a `factor` and no `rope_type`: releases differ, one stops at it, another scales nothing"
"""SGLang 0.5.9 stops (layers/rotary_embedding.py, `get_rope`), but for latent attention, which is YaRN there. Since 0.5.10 its
transformers is 5, whose `standardize_rope_params` calls it `default`: the context is as many times as long, and nothing turns slower."""


def context_of(keys: Keys) -> int:
    """The context an engine derives (SGLang 0.5.11 utils/hf_transformers/common.py, lines 356-382)."""
    declared = keys.number(
        "max_sequence_length",
        "seq_length",
        "max_seq_len",
        "model_max_length",
        "max_position_embeddings",
    )
    scaling = _scaling(keys)
    factor = scaling.get("factor", 1)
    if "factor" in scaling and not (scaling.get("rope_type") or scaling.get("type")):
        keys.faults.append(_NO_KIND)
    if "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3":
        factor = 1
    if type(factor) not in (int, float) or not 0 < factor < 1e6:  # noqa: PLR2004 - no scaling is larger
        keys.faults.append("`rope_scaling.factor` is no number above zero")
        factor = 1
    return int((declared or 2048) * factor)


def _scaling(keys: Keys) -> Mapping[str, Any]:
    """The rotary scaling; newer configs have it with the base, by kind of layer where there are several."""
    found = keys.table("rope_scaling") or keys.table("rope_parameters") or {}
    full = found.get("full_attention")
    return full if isinstance(full, Mapping) else found


def rope_of(
    keys: Keys, attention: Mla | Gqa | Compressed, pattern: tuple[LayerKind, ...], *, context: int
) -> Rope | None:
    """The rotary tables; nothing where one as wide as a head is all there is."""
    scaling = _scaling(keys)
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    reaches = _reaches(scaling, context=context)
    if isinstance(attention, Compressed):
        # A table for the window, and one for compressed entries, whose base is another.
        tables = 2 if keys.has("compress_rope_theta") else 1
        return Rope(kind=kind, dims=(attention.rope_head_dim,) * tables, reaches=reaches)
    if keys.has("linear_attn_config"):
        # None is made, whatever the config says (models/kimi_linear.py, `skip_rope`).
        return Rope(dims=())
    if isinstance(attention, Mla):
        dim = attention.qk_rope_head_dim
        return Rope(kind=kind, dims=(dim,), reaches=reaches) if kind != "default" else None
    share = keys.values.get("partial_rotary_factor", scaling.get("partial_rotary_factor", 1.0))
    if type(share) not in (int, float) or not 0 < share <= 1:
        keys.faults.append("`partial_rotary_factor` is no share")
        return None
    whole = kind in _FULL_HEAD_ROTARY
    dims = [attention.head_dim if whole else int(attention.head_dim * share)]
    if LayerKind.WINDOW in pattern and _several_bases(keys):
        window = keys.number("swa_head_dim", "head_dim") or attention.head_dim
        dims.append(window if whole else int(window * share))
    kind = "default" if whole or kind in _PLAIN else kind
    if kind == "default" and dims == [attention.head_dim]:
        return None
    return Rope(kind=kind, dims=tuple(dims), reaches=reaches)


def _reaches(scaling: Mapping[str, Any], *, context: int) -> int | None:
    """How far a YaRN scaling stretches positions, where that is more than the context that an engine derives."""
    original, factor = scaling.get("original_max_position_embeddings"), scaling.get("factor")
    kind = scaling.get("rope_type") or scaling.get("type")
    if kind != "yarn" or type(original) is not int or not isinstance(factor, int | float):
        return None
    reached = original * factor
    return int(reached) if context < reached < _NO_CONTEXT else None


def _several_bases(keys: Keys) -> bool:
    parameters = keys.table("rope_parameters") or {}
    return (
        keys.has("rope_local_base_freq")
        or keys.has("swa_rope_theta")
        or "sliding_attention" in parameters
    )
