"""A model and the text of `--json-model-override-args` in; the model out as the server then reads it, or that it cannot be told.

The text is laid over the config before anything reads it (0.4.1 to 0.5.23 `get_config`: `config.update`). What only says
how far positions reach changes the context that the server derives, and the rotary tables, but not what a token takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from compiler.architecture import Rope
from compiler.facts import Model
from compiler.memory.tensors.ends import rotary_dims
from compiler.profile import Profile


FLAG = "json-model-override-args"
"""Its flag, without dashes."""
_LENGTH = "max_position_embeddings"
_SCALINGS = ("rope_scaling", "rope_parameters")
_INNER = "text_config"
_KEPT_ORIGINAL = "original_max_position_embeddings"
# A scaling of these kinds leaves the declared length as it is (`get_context_length`), so that it can be told from the model.
_LENGTH_STANDS = frozenset({"default", "yarn", "llama3", "proportional", "mrope"})
_LONGEST = 10**9  # no model knows so many positions


def is_read(model: Model | None, text: object) -> bool:
    """Whether such a text says nothing but how far positions reach, in keys that are read here."""
    return model is not None and _keys(model, text) is not None


def leaves_context(model: Model, text: object) -> bool:
    """Whether the context of `declared` is what the server derives: the text is read, or speaks of other things."""
    return is_read(model, text) or not any(each in str(text) for each in (_LENGTH, *_SCALINGS))


def declared(model: Model, profile: Profile) -> Model:
    """The model with the context and the rotary tables that its config gives once the flag has changed it."""
    keys = _keys(model, profile.flags.get(FLAG))
    if not keys:
        return model
    context = int(keys.get(_LENGTH, model.context))
    if not any(name in keys for name in _SCALINGS):
        return evolve(model, context=context)
    scaling: Mapping[str, Any] = next((keys[name] for name in _SCALINGS if keys.get(name)), {})
    factor = scaling.get("factor", 1)
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    original = scaling.get(_KEPT_ORIGINAL)
    if original is None and kind != "llama3":
        return evolve(model, context=int(context * factor), rope=_rope(model, kind, None))
    reached = int(original * factor) if original is not None and kind == "yarn" else 0
    return evolve(
        model, context=context, rope=_rope(model, kind, reached if reached > context else None)
    )


def _rope(model: Model, kind: str, reaches: int | None) -> Rope:
    if model.rope is not None:
        return evolve(model.rope, kind=kind, reaches=reaches)
    return Rope(kind=kind, dims=rotary_dims(model), reaches=reaches)


def _keys(model: Model, text: object) -> Mapping[str, Any] | None:
    """The keys of the text, where all of them can be followed; those of a model with a vision tower stand inside."""
    if not isinstance(text, str):
        return None
    # Few command lines have it.
    import json  # noqa: PLC0415

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if model.vision is not None:
        if not isinstance(found, dict) or set(found) != {_INNER}:
            return None
        found = found[_INNER]
    if not isinstance(found, dict) or not set(found) <= {_LENGTH, *_SCALINGS}:
        return None
    stands = model.rope is None or model.rope.kind in _LENGTH_STANDS
    plain = all(_is_scaling(found[name]) for name in _SCALINGS if name in found)
    return found if stands and plain and _is_length(found.get(_LENGTH, 1)) else None


def _is_scaling(value: object) -> bool:
    """Whether a scaling is one for all layers, with a sound factor."""
    if value is None:
        return True
    if not isinstance(value, dict) or any(isinstance(each, dict) for each in value.values()):
        return False
    factor = value.get("factor", 1)
    sound = type(factor) in (int, float) and 0 < factor < 1e6  # noqa: PLR2004 - no scaling is larger
    return sound and _is_length(value.get(_KEPT_ORIGINAL, 1))


def _is_length(value: object) -> bool:
    return type(value) is int and 0 < value < _LONGEST
