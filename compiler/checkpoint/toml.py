"""A described model goes in; the text of its catalogue file comes out, for a person to read and complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import attrs

from compiler.facts import Model
from compiler.language.written import comment_toml, key_toml, number_toml, text_toml


_WIDTH = 100
_LEFT_OUT = frozenset({"sources", "shipped"})


def model_toml(model: Model, *, heading: Iterable[str] = ()) -> str:
    """The file of a model; the same text for the same model. What has its default is left out.

    `heading` are lines of comment for its top.
    """
    lines = [comment_toml(line) for line in heading]
    lines += [""] if lines else []
    lines += [f"{name} = {_value(value)}" for name, value in _said(model)]
    if model.sources:
        lines += ["", "[sources]"]
        lines += [f"{key_toml(key)} = {text_toml(source)}" for key, source in model.sources.items()]
    return "\n".join(lines) + "\n"


def _said(value: attrs.AttrsInstance) -> Iterator[tuple[str, object]]:
    """The fields that a reader has to be told."""
    for each in attrs.fields(type(value)):
        found = getattr(value, each.name)
        told = each.name == "kind" or found != each.default
        if told and each.name not in _LEFT_OUT:
            yield each.name, found


def _value(value: object) -> str:
    if isinstance(value, Enum):
        return text_toml(str(value.value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_toml(value) if isinstance(value, int) else f"{value:g}"
    if isinstance(value, str):
        return text_toml(value)
    if isinstance(value, tuple):
        return _list([_value(each) for each in value])
    if attrs.has(type(value)):
        inside = ", ".join(f"{name} = {_value(each)}" for name, each in _said(value))  # type: ignore[arg-type]
        return f"{{ {inside} }}"
    raise TypeError(f"no way to write a {type(value).__name__}")


def _list(items: list[str]) -> str:
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    rows: list[str] = []
    for item in items:
        if rows and len(rows[-1]) + len(item) + 2 <= _WIDTH:
            rows[-1] += f" {item},"
        else:
            rows.append(f"    {item},")
    return "\n".join(["[", *rows, "]"])
