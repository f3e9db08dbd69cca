"""The flag table of one engine release: JSON text in, `Flag` values out, or what is wrong with it and where.

A table holds hundreds of flags and is read by every `check`, so it is taken apart by hand rather than field by field, and a
flag becomes a `Flag` when somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from compiler.catalog.entries import decode
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.facts import Action, Flag
from compiler.source import Source
from compiler.value import Value


Row = Mapping[str, Any]
"""One flag as the JSON has it."""

_TOP_KEYS = {"engine": str, "version": str, "source": str, "flags": list}
FLAG_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "aliases": list,
    "dest": str,
    "takes": str,
    "nargs": str,
    "choices": list,
    "default": (str, int, float, bool, list),
    "const": (str, int, float, bool),
    "action": str,
    "required": bool,
    "deprecated": str,
    "custom": bool,
    "keys": list,
}
RELEASE_KEYS: Mapping[str, type] = {"since": str, "until": str}
"""What a row says beside its flag in a file of several releases."""

_LISTS = ("aliases", "choices", "keys")
_NAME = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ACTIONS = frozenset(Action)


class FlagMap(Mapping[str, Flag]):
    """Flags by full name, in the order of names; each is made when it is first asked for."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Row | Flag]) -> None:
        """`entries` are sound rows of a table, or flags."""
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Flag:  # type: ignore[explicit-override]  # `override` is of Python 3.12
        """The flag of a full name."""
        entry = self._entries[name]
        if not isinstance(entry, Flag):
            entry = self._entries[name] = make_flag(entry)
        return entry

    def __iter__(self) -> Iterator[str]:  # type: ignore[explicit-override]  # `override` is of Python 3.12
        """The full names."""
        return iter(self._entries)

    def __len__(self) -> int:  # type: ignore[explicit-override]  # `override` is of Python 3.12
        """How many flags there are."""
        return len(self._entries)

    def __contains__(self, name: object) -> bool:  # type: ignore[explicit-override]  # `override` is of Python 3.12
        """Whether there is a flag of this full name; makes none."""
        return name in self._entries

    def spellings(self, name: str) -> tuple[str, ...]:
        """All names of a flag; makes none but for a flag that has several."""
        entry = self._entries[name]
        if isinstance(entry, Flag) or "aliases" in entry or "action" in entry:
            return self[name].spellings
        return (name,)

    def changed(self, flags: Iterable[Flag], *, without: Iterable[str]) -> FlagMap:
        """The map with some flags added or replaced, and some left out."""
        kept = {name: each for name, each in self._entries.items() if name not in set(without)}
        entries = kept | {flag.name: flag for flag in flags}
        return FlagMap({name: entries[name] for name in sorted(entries)})


@frozen(kw_only=True, eq=False, repr=False)
class FlagTable(Value):
    """The flags of one release, by full name, and the other names some of them have."""

    flags: FlagMap
    aliases: Mapping[str, str]


def flag_table(flags: FlagMap) -> FlagTable:
    """The table of these flags."""
    aliases = {
        alias: name for name in flags for alias in flags.spellings(name)[1:] if alias not in flags
    }
    return FlagTable(flags=flags, aliases=aliases)


def make_flag(row: Row) -> Flag:
    """The flag of a sound row."""
    values = {key: value for key, value in row.items() if key not in RELEASE_KEYS}
    for key in _LISTS:
        if key in values:
            values[key] = tuple(map(str, values[key]))
    if isinstance(values.get("default"), list):
        values["default"] = tuple(map(str, values["default"]))
    if "action" in values:
        values["action"] = Action(values["action"])
    return Flag(**values)


def read_flags(
    file: EntryFile, *, engine: str, version: str
) -> tuple[FlagTable | None, tuple[Diagnostic, ...]]:
    """Read the table of `engine` at `version`, which the file must be about."""
    values, source, faults = parse_json(file)
    if source is None or faults:
        return None, faults
    found = tuple(_faults(values, source, engine=engine, version=version))
    if found:
        return None, found
    rows = {row["name"]: row for row in values["flags"]}
    return flag_table(FlagMap({name: rows[name] for name in sorted(rows)})), ()


def parse_json(file: EntryFile) -> tuple[Any, Source | None, tuple[Diagnostic, ...]]:
    """The values of a JSON file with its text, or what is wrong with it and where."""
    import json  # noqa: PLC0415 - a run that reads no table does without it

    source, faults = decode(file, code=CATALOGUE_INVALID)
    if source is None:
        return None, None, faults
    try:
        return json.loads(source.text, parse_constant=str), source, ()  # `NaN` is no JSON
    except json.JSONDecodeError as fault:
        place = source.span(fault.pos, min(fault.pos + 1, len(source.text)))
        message = f"invalid JSON: {fault.msg[:1].lower()}{fault.msg[1:]}"
        return None, source, (error(CATALOGUE_INVALID, message, Label(place)),)
    except (RecursionError, ValueError):
        message = "the file nests too deep or holds a number that is too long"
        return None, source, (error(CATALOGUE_INVALID, message, Label(source.span(0, 0))),)


def _faults(values: Any, source: Source, *, engine: str, version: str) -> Iterator[Diagnostic]:  # noqa: ANN401 - JSON
    wrong = wrong_keys(values, _TOP_KEYS, required=("engine", "version", "flags"))
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
        wrong = flag_fault(flag)
        if wrong is None:
            names = _names(flag)
            wrong = None if seen.isdisjoint(names) else f"`{names[0]}` is in the table twice"
            seen.update(names)
        if wrong is not None:
            yield error(CATALOGUE_INVALID, wrong, Label(place_of(flag, source)))


def _names(flag: Row) -> list[Any]:
    return [flag["name"], *flag["aliases"]] if "aliases" in flag else [flag["name"]]


def flag_fault(flag: Any, *, more: Mapping[str, type] | None = None) -> str | None:  # noqa: ANN401 - JSON
    """What is wrong with a row; `more` are keys it may have beside those of a flag."""
    wrong = wrong_keys(flag, {**FLAG_KEYS, **more} if more else FLAG_KEYS, required=("name",))
    if wrong is not None:
        return wrong
    for key in _LISTS:
        if key in flag and not all(isinstance(each, str | int) for each in flag[key]):
            return f"`{flag['name']}`: expected words in `{key}`"
    for name in _names(flag):
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            return f"`{name}` is no name of a flag"
    if "action" in flag and flag["action"] not in _ACTIONS:
        return f"`{flag['name']}`: unknown action `{flag['action']}`"
    return None


def wrong_keys(
    values: Any,  # noqa: ANN401 - JSON
    kinds: Mapping[str, Any],
    *,
    required: tuple[str, ...],
) -> str | None:
    """What is wrong with the keys of an object."""
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


def place_of(flag: Any, source: Source) -> Span:  # noqa: ANN401 - JSON
    """Where a flag stands, the last of several of one name; at the file's start when it has no name."""
    name = flag.get("name") if isinstance(flag, dict) else None
    quoted = f'"{name}"'
    at = source.text.rfind(quoted)
    return source.span(0, 0) if at < 0 else source.span(at, at + len(quoted))
