"""The flag table of one engine release: JSON text in, `Flag` values out, or what is wrong with it and where.

A table holds hundreds of flags and is read by every `check`, so it is taken apart by hand rather than field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from compiler.catalog.entries import decode
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.facts import Flag
from compiler.source import Source


_TOP_KEYS = {"engine": str, "version": str, "source": str, "flags": list}
_FLAG_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "aliases": list,
    "takes": str,
    "nargs": str,
    "choices": list,
    "default": (str, int, float, bool),
    "required": bool,
    "deprecated": str,
}
_LISTS = ("aliases", "choices")
_NAME = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@frozen(kw_only=True)
class FlagTable:
    """The flags of one release, by full name, and the other names some of them have."""

    flags: Mapping[str, Flag]
    aliases: Mapping[str, str]


def read_flags(
    file: EntryFile, *, engine: str, version: str
) -> tuple[FlagTable | None, tuple[Diagnostic, ...]]:
    """Read the table of `engine` at `version`, which the file must be about."""
    import json  # noqa: PLC0415 - a run that reads no table does without it

    source, faults = decode(file, code=CATALOGUE_INVALID)
    if source is None:
        return None, faults
    try:
        values = json.loads(source.text, parse_constant=str)  # `NaN` is no JSON
    except json.JSONDecodeError as fault:
        place = source.span(fault.pos, min(fault.pos + 1, len(source.text)))
        message = f"invalid JSON: {fault.msg[:1].lower()}{fault.msg[1:]}"
        return None, (error(CATALOGUE_INVALID, message, Label(place)),)
    except (RecursionError, ValueError):
        message = "the file nests too deep or holds a number that is too long"
        return None, (error(CATALOGUE_INVALID, message, Label(source.span(0, 0))),)
    found = tuple(_faults(values, source, engine=engine, version=version))
    if found:
        return None, found
    flags = [_flag(each) for each in values["flags"]]
    return flag_table(flags), ()


def flag_table(flags: list[Flag]) -> FlagTable:
    """The table of these flags; of two with one name the later counts."""
    return FlagTable(
        flags={each.name: each for each in flags},
        aliases={alias: each.name for each in flags for alias in each.aliases},
    )


def _flag(values: dict[str, Any]) -> Flag:
    lists = {key: tuple(map(str, values[key])) for key in _LISTS if key in values}
    return Flag(**{**values, **lists})


def _faults(values: Any, source: Source, *, engine: str, version: str) -> Iterator[Diagnostic]:  # noqa: ANN401 - JSON
    wrong = _wrong_keys(values, _TOP_KEYS, required=("engine", "version", "flags"))
    if wrong is None and (values["engine"], values["version"]) != (engine, version):
        wrong = f"expected the table of `{engine}` `{version}`, which the file's name stands for"
    if wrong is None and (surrogate := _SURROGATE.search(source.text)):
        place = Label(source.span(*surrogate.span()))
        yield error(CATALOGUE_INVALID, "expected the character itself, not its escape", place)
    if wrong is not None:
        yield error(CATALOGUE_INVALID, wrong, Label(source.span(0, 0)))
        return
    seen: set[str] = set()
    for flag in values["flags"]:
        wrong = _flag_fault(flag)
        if wrong is None:
            names = _names(flag)
            wrong = None if seen.isdisjoint(names) else f"`{names[0]}` is in the table twice"
            seen.update(names)
        if wrong is not None:
            yield error(CATALOGUE_INVALID, wrong, Label(_place(flag, source)))


def _names(flag: dict[str, Any]) -> list[Any]:
    return [flag["name"], *flag["aliases"]] if "aliases" in flag else [flag["name"]]


def _flag_fault(flag: Any) -> str | None:  # noqa: ANN401 - JSON
    wrong = _wrong_keys(flag, _FLAG_KEYS, required=("name",))
    if wrong is not None:
        return wrong
    for key in _LISTS:
        if key in flag and not all(isinstance(each, str | int) for each in flag[key]):
            return f"`{flag['name']}`: expected words in `{key}`"
    for name in _names(flag):
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            return f"`{name}` is no name of a flag"
    return None


def _wrong_keys(
    values: Any,  # noqa: ANN401 - JSON
    kinds: Mapping[str, Any],
    *,
    required: tuple[str, ...],
) -> str | None:
    if not isinstance(values, dict):
        return "expected an object"
    for key in required:
        if key not in values:
            return f"{_whose(values)}the key `{key}` is missing"
    for key, value in values.items():
        if key not in kinds:
            return f"{_whose(values)}unknown key `{key}`"
        if not isinstance(value, kinds[key]):
            return f"{_whose(values)}`{key}` has the wrong type"
    return None


def _whose(values: dict[str, Any]) -> str:
    name = values.get("name")
    return f"`{name}`: " if isinstance(name, str) else ""


def _place(flag: Any, source: Source) -> Span:  # noqa: ANN401 - JSON
    """Where a flag stands, the last of several of one name; at the file's start when it has no name."""
    name = flag.get("name") if isinstance(flag, dict) else None
    quoted = f'"{name}"'
    at = source.text.rfind(quoted)
    return source.span(0, 0) if at < 0 else source.span(at, at + len(quoted))
