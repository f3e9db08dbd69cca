"""What is written goes in, as values or as JSON; each piece of it by a name comes out, which stays the same when others come or go.

A line of a budget is named by its item, an option by its flag, a sentence by itself: their places in a list say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import fields, has


JsonPath = tuple[str, ...]
"""The way to a value of plan.json: keys, and places in lists as text."""


def named(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf of a value by its name; an empty list or table is one."""
    below = list(_below(value, name))
    if not below:
        yield name, value
    for _, inner, each in below:
        yield from named(each, inner)


def name_at(value: object, path: Sequence[str]) -> str:
    """The name of the leaf at a path of fields, keys, and places in lists."""
    name = ""
    for step in path:
        name, value = next((inner, each) for key, inner, each in _below(value, name) if key == step)
    return name


def json_lines(content: Mapping[str, object]) -> Iterator[tuple[JsonPath, ...]]:
    """For each line of plan.json the paths of all that it holds, none where it is a bracket alone: see `render.planfile`."""
    yield ()
    for key, value in content.items():
        entries = list(_entries(value))
        if not entries:
            yield ((key,),)
            continue
        yield ()
        for inner, each in entries:
            yield tuple(_leaves(each, (key, inner)))
        yield ()
    yield ()


def _leaves(value: object, path: JsonPath) -> Iterator[JsonPath]:
    """The paths below one of all that has nothing below it; an empty list or table is one."""
    entries = list(_entries(value))
    if not entries:
        yield path
    for key, each in entries:
        yield from _leaves(each, (*path, key))


def _entries(value: object) -> Iterator[tuple[str, object]]:
    """What is in a table or a list of JSON, by its key or its place."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from ((str(key), each) for key, each in items)


def _below(value: object, name: str) -> Iterator[tuple[str, str, object]]:
    """What is directly in a value: its step, its name, and itself."""
    if isinstance(value, str):
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key), f"{name}.{key}" if name else str(key), each
    elif isinstance(value, Sequence):
        for place, each in enumerate(value):
            yield str(place), f"{name}[{_label(each, place)}]", each
    elif has(type(value)):
        cls: Any = type(value)
        for member in fields(cls):
            yield member.name, f"{name}.{member.name}", getattr(value, member.name)


def _label(each: object, place: int) -> str:
    """What tells an item of a list from the others."""
    if isinstance(each, str):
        return each
    if isinstance(each, Mapping):
        return str(each.get("item", each.get("code", place)))
    words = getattr(each, "words", None)
    if words:
        return str(words[0])
    for member in ("item", "what", "name"):
        found = getattr(each, member, None)
        if isinstance(found, str):
            return found
    return str(place)
