"""The language of profiles, and of recorded boots, as a JSON schema for editors; from the types themselves.

Draft 7, in words that mean the same in draft 4: what the TOML language server reads. A schema cannot say all that `check`
does: whether lists may be edited there, whether a duration is short enough, what must be set once files are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compiler.facts import GIVEN_BY_PLACE, Boot
from compiler.language import shapes
from compiler.language.definitions import EDITS
from compiler.language.directives import LEVEL_TABLES
from compiler.language.shapes import Member
from compiler.profile import (
    SCHEMA,
    Argument,
    CheckpointPath,
    HostPath,
    Name,
    Profile,
    Text,
    UnitName,
    Version,
)
from compiler.quantities import Duration


Schema = dict[str, Any]

_DRAFT = "http://json-schema.org/draft-07/schema#"
_PLAIN = r"^[^\u0000-\u001f\u007f-\u009f]*$"
_SCALARS: Mapping[object, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    Text: {"type": "string", "pattern": _PLAIN},
    Name: {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "maxLength": 200},
    UnitName: {
        "type": "string",
        "pattern": r"^(?!.*\.service$)[A-Za-z0-9][A-Za-z0-9._-]*$",
        "maxLength": 200,
    },
    Version: {
        "type": "string",
        "pattern": r"^[0-9]+(\.[0-9]+){2,}((\.dev|rc|\.post)[0-9]+)?(\+[A-Za-z0-9.]+)?$",
    },
    HostPath: {"type": "string", "pattern": "^/"},
    CheckpointPath: {"type": "string", "pattern": "^/"},
    Duration: {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]+)?\s*(s|sec|min|h)\s*)+$"},
}
_ARGUMENT: Schema = {
    "anyOf": [
        {"type": ["boolean", "number", "string"]},
        {"type": "array", "items": {"type": ["number", "string"]}},
    ]
}


def profile_schema() -> Schema:
    """The schema of a profile's file; every setting may be missing, since another file may have it."""
    members = shapes.members_of(Profile)
    tables = {each.name: each for each in members if each.name != "description"}
    levels = {name: {"$ref": f"#/definitions/{name}"} for name in tables}
    return {
        "$schema": _DRAFT,
        "title": "Poolproof profile",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "schema": {
                "description": "version of the profile language",
                "type": "integer",
                "enum": [SCHEMA],
            },
            "extends": _texts("profiles that this one extends, relative to `profiles/`, no suffix"),
            "unset": _texts("settings or tables to take away of what is inherited"),
            "description": next(_member(each) for each in members if each.name == "description"),
            **levels,
            **{
                level: {
                    "description": f"settings that {_LEVELS[level]}",
                    "type": "object",
                    "additionalProperties": False,
                    "properties": levels,
                }
                for level in LEVEL_TABLES
            },
        },
        "definitions": {name: _member(each) for name, each in tables.items()},
    }


_LEVELS = {"defaults": "every plain one wins over", "force": "win over every plain one"}


def boot_schema() -> Schema:
    """The schema of a recorded boot, `profiles/boots/NAME.toml`."""
    members = [each for each in shapes.members_of(Boot) if each.name not in GIVEN_BY_PLACE]
    return {
        "$schema": _DRAFT,
        "title": "Poolproof recorded boot",
        **_table(members, editable=False),
        "required": [each.name for each in members if each.required],
    }


def _texts(help_: str) -> Schema:
    return {"description": help_, "type": "array", "items": {"type": "string"}}


def _member(member: Member, *, editable: bool = True) -> Schema:
    """One setting or table, with what is said about it."""
    about = {
        "description": _description(member),
        "default": _plain(member.default),
        "minimum": member.metadata.get("at_least"),
        "maximum": member.metadata.get("at_most"),
    }
    made = _of(member.type, editable=editable)
    bounds = {
        key: value for key, value in about.items() if isinstance(value, int) and key[0] == "m"
    }
    if set(shapes.alternatives(member.type)) <= {str, Text}:
        bounds["minLength"] = 1
    if shapes.is_list(member.type):
        made = _bounded_items(made, bounds)
        bounds = {}
    said = {key: about[key] for key in ("description", "default") if about[key] is not None}
    return {**said, **made, **bounds}


def _bounded_items(made: Schema, bounds: Schema) -> Schema:
    """Bounds are those of each item."""
    if "anyOf" in made:
        return {"anyOf": [_bounded_items(each, bounds) for each in made["anyOf"]]}
    if "properties" in made:
        inner = {key: _bounded_items(each, bounds) for key, each in made["properties"].items()}
        return {**made, "properties": inner}
    return {**made, "items": {**made["items"], **bounds}}


def _description(member: Member) -> str | None:
    said = member.metadata.get("help")
    if said is None:
        return None
    unit = member.metadata.get("unit")
    return f"{said}{f' ({unit})' if unit else ''}{'; required' if member.required else ''}"


def _plain(default: object) -> object:
    """A default as JSON has it; nothing for a table, a list, or none at all."""
    if isinstance(default, Duration):
        return str(default)
    return default if isinstance(default, bool | int | float | str) else None


def _of(kind: object, *, editable: bool) -> Schema:
    """The schema of a type; lists of a profile may be edited instead of replaced."""
    if kind == Argument:
        return {"anyOf": [*_ARGUMENT["anyOf"], _edit({"type": ["number", "string"]})]}
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if choices := shapes.choices_of(kind):
        return {"type": "string", "enum": list(choices)}
    if isinstance(kind, type) and shapes.is_table(kind):
        return _table(shapes.members_of(kind), editable=editable)
    if shapes.is_list(kind):
        items = _of(shapes.item_of(kind), editable=editable)
        whole = {"type": "array", "items": items}
        return {"anyOf": [whole, _edit(items)]} if editable else whole
    if shapes.is_open_table(kind):
        inner = _of(shapes.item_of(kind), editable=editable)
        return {"type": "object", "additionalProperties": inner}
    options = tuple(shapes.alternatives(kind))
    if options == (kind,):
        raise TypeError(f"the schema has no word for {kind}")
    return _any_of(options, editable=editable)


def _any_of(options: Iterable[object], *, editable: bool) -> Schema:
    several = [_of(each, editable=editable) for each in options]
    return several[0] if len(several) == 1 else {"anyOf": several}


def _edit(items: Schema) -> Schema:
    """A list edit: `{ append = [...], remove = [...] }`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {edit: {"type": "array", "items": items} for edit in EDITS},
    }


def _table(members: Iterable[Member], *, editable: bool) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {each.name: _member(each, editable=editable) for each in members},
    }
