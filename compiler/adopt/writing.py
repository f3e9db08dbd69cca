"""The settings of an adopted launch go in; the text of a profile comes out, what is not carried in its comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import fields

from compiler.adopt.adopted import Adopted
from compiler.adopt.around import UNKNOWN_GPU
from compiler.adopt.folding import nested
from compiler.adopt.launch import Change, Setting
from compiler.adopt.launchfaults import entry_span
from compiler.diagnostics import printable
from compiler.engines.adopting import ChangeKind
from compiler.language.written import key_toml, number_toml, text_toml
from compiler.profile import SCHEMA, Profile


_TABLES = tuple(each.name for each in fields(Profile))
_TOLD = (
    ChangeKind.OPEN,
    ChangeKind.SECRET,
    ChangeKind.UNKNOWN,
    ChangeKind.DROPPED,
    ChangeKind.ASSUMED,
)


def adopted_toml(adopted: Adopted, *, whole: bool = False) -> str:
    """The profile of an adopted launch; `whole` has the stand-ins for what the launch does not say or leaves open, too."""
    missing = adopted.unsaid
    settings = [each for each in adopted.settings if whole or ".".join(each.path) not in missing]
    remarks = {}
    if any(each.value == UNKNOWN_GPU and each.path == ("gpus", "kind") for each in settings):
        remarks["gpus.kind"] = "the launch does not say; `poolproof catalog list` has the kinds"
    span = entry_span(adopted.launch)
    return profile_toml(
        settings,
        origin=span.file if span is not None else "a command",
        changes=adopted.changes,
        remarks=remarks,
    )


def profile_toml(
    settings: Sequence[Setting],
    *,
    origin: str,
    changes: Sequence[Change],
    remarks: Mapping[str, str],
) -> str:
    """The text; `remarks` stand behind the settings they are about (`gpus.kind`)."""
    values = nested(settings)
    lines = [
        f"# Adopted from {printable(origin)}. What it says and a profile cannot is kept in comments.",
        f"schema = {SCHEMA}",
    ]
    if "description" in values:
        lines.append(f"description = {text_toml(values['description'])}")
    for table in _TABLES:
        if isinstance(values.get(table), Mapping):
            lines += _table((table,), values[table], remarks)
    told = [each for each in changes if each.kind in _TOLD]
    lines += (
        [
            "",
            "# When it was adopted, this was left to say, not carried, not known, or taken for granted; what was mended since may go:",
        ]
        if told
        else []
    )
    lines += [f"# {each.kind}: {printable(each.text)}{place_of(each)}" for each in told]
    return "\n".join(lines) + "\n"


def place_of(change: Change) -> str:
    """Where a change was found, behind its text."""
    return f" ({printable(change.span.file)}:{change.span.line})" if change.span is not None else ""


def _table(
    path: tuple[str, ...], values: Mapping[str, Any], remarks: Mapping[str, str]
) -> Iterator[str]:
    plain = {key: value for key, value in values.items() if not _is_table(path, value)}
    if plain:
        yield ""
        yield f"[{'.'.join(map(key_toml, path))}]"
    keys = sorted(plain) if path[0] in {"env", "flags"} else plain
    for key in keys:
        remark = remarks.get(".".join((*path, key)))
        behind = f"  # {remark}" if remark else ""
        yield f"{key_toml(key)} = {_value(plain[key])}{behind}"
    for key, value in values.items():
        if _is_table(path, value):
            yield from _table((*path, key), value, remarks)


def _is_table(path: tuple[str, ...], value: object) -> bool:
    """A secret's place stands on one line; a target is a table of its own."""
    return isinstance(value, Mapping) and path[0] != "secrets"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_toml(value)
    if isinstance(value, int):
        return number_toml(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_toml(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    return repr(value)
