"""The settings of a running server in, the fields of a recorded boot out; and what a start measured of the plan's budget."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from compiler.engines.observing import Start
from compiler.engines.sglang.unpriced import STATIC, WEIGHTS


Convert = Callable[[object], object]

_WHOLE = re.compile(r"-?[0-9]{1,15}")


def _whole(value: object) -> object:
    text = str(value) if isinstance(value, (str, int)) else ""
    return int(text) if _WHOLE.fullmatch(text) else None


def _number(value: object) -> object:
    try:
        return float(str(value))
    except ValueError:
        return None


def _text(value: object) -> object:
    return value if isinstance(value, str) and value else None


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) and value else None


def _switch(value: object) -> object:
    return True if value is True else None


# A field of a boot -> the server's names for it, newest first. What is not set stays out.
_FIELDS: tuple[tuple[str, tuple[str, ...], Convert], ...] = (
    ("model", ("model_path",), _text),
    ("tensor", ("tp_size",), _whole),
    ("pipeline", ("pp_size",), _whole),
    ("data", ("dp_size",), _whole),
    ("expert", ("ep_size",), _whole),
    ("dp_attention", ("enable_dp_attention",), _switch),
    ("kv_dtype", ("kv_cache_dtype",), _text),
    ("page_size", ("page_size",), _whole),
    ("fraction", ("mem_fraction_static",), _number),
    ("context", ("context_length",), _whole),
    ("max_running_requests", ("max_running_requests",), _whole),
    ("chunked_prefill", ("chunked_prefill_size",), _whole),
    ("algorithm", ("speculative_algorithm",), _lower),
    ("draft", ("speculative_draft_model_path",), _text),
    ("block_size", ("speculative_dflash_block_size", "speculative_dspark_block_size"), _whole),
    (
        "draft_window",
        ("speculative_draft_window_size", "speculative_dflash_draft_window_size"),
        _whole,
    ),
    ("tree_budget", ("speculative_ddtree_budget",), _whole),
    ("tree_topk", ("speculative_ddtree_topk_cap",), _whole),
)
# What the releases have these flags at when nobody gives them.
_UNSET: tuple[object, ...] = (None, False, 0, 1, -1, "", "auto", "{}", [], {})
# One of a kind says nothing.
_USUAL = {"pipeline": 1, "data": 1, "expert": 1}


def boot_fields(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of a recorded boot (`facts.Boot`) that the settings tell."""
    told = {
        field: convert(settings[name])
        for field, names, convert in _FIELDS
        for name in [next((each for each in names if settings.get(each) is not None), None)]
        if name is not None
    }
    fields = {
        name: value
        for name, value in told.items()
        if value is not None and _USUAL.get(name) != value
    }
    flags = _memory_flags(settings)
    return {**fields, "flags": flags} if flags else fields


def _memory_flags(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The raw flags that change memory, where one is set; a boot is no measurement of a profile without them."""
    named = {flag: settings.get(flag.replace("-", "_")) for flag in (*STATIC, *WEIGHTS)}
    return {
        flag: value if isinstance(value, (str, int, float)) else json.dumps(value, default=str)
        for flag, value in sorted(named.items())
        if value not in _UNSET
    }


def budget_lines(start: Start) -> Mapping[str, float]:
    """What a start measured, by the names that `sizing` and `reserve` give the lines of the plan, GiB.

    The captured graphs are not among them: what capturing took holds buffers that the plan has lines of their own for.
    """
    window = 0.0 if start.window is None else start.window.gib
    measured = {
        "weights": start.static_weights_gib or start.weights_gib,
        "states": None if start.states is None else start.states.gib,
        "KV pool": None if start.target is None else round(start.target.gib + window, 2),
        # Where it loads before the pool it is part of the line `weights`.
        "draft weights": start.draft_weights_gib
        if start.static_weights_gib == start.weights_gib
        else None,
    }
    return {name: gib for name, gib in measured.items() if gib is not None}
