"""The flags of all releases of an engine in one file: which rows hold for one release, and how such a file is written.

A row is a flag as in a table of one release, with the first and the last release it holds for: no `since` is from the first
release of the file, no `until` is up to its newest. A flag that changed has several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from compiler.catalog.flags import (
    RELEASE_KEYS,
    FlagMap,
    FlagTable,
    Row,
    flag_fault,
    flag_table,
    parse_json,
    place_of,
    wrong_keys,
)
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile
from compiler.diagnostics import Diagnostic, Label, error
from compiler.facts import Flag
from compiler.source import Source
from compiler.value import Value
from compiler.versions import version_key


SERIES = "flags"
"""The stem of the file, among those of single releases."""

_TOP_KEYS = {"engine": str, "source": str, "releases": list, "flags": list}


@frozen(kw_only=True, eq=False, repr=False)
class Series(Value):
    """The flags of several releases.

    Attributes:
        source: where they were read, with `{version}` for the release.
        releases: the oldest first.
    """

    source: str
    releases: tuple[str, ...]
    rows: tuple[Row, ...]

    def table(self, version: str) -> FlagTable:
        """The table of one of the releases."""
        order = {each: place for place, each in enumerate(self.releases)}
        wanted, newest = order[version], len(order)
        entries = {
            row["name"]: row
            for row in self.rows
            if ("since" not in row or order[row["since"]] <= wanted)
            and order.get(row.get("until", ""), newest) >= wanted
        }
        return flag_table(FlagMap(entries))


def read_series(file: EntryFile, *, engine: str) -> tuple[Series | None, tuple[Diagnostic, ...]]:
    """Read the file of an engine. Ours is sound, as a test makes sure, and only a team's is looked at row by row."""
    values, source, faults = parse_json(file)
    if source is None or faults:
        return None, faults
    found = () if file.shipped else tuple(_faults(values, source, engine=engine))
    if found:
        return None, found
    return Series(
        source=values.get("source", ""),
        releases=tuple(values["releases"]),
        rows=tuple(values["flags"]),
    ), ()


def _faults(values: Any, source: Source, *, engine: str) -> Iterator[Diagnostic]:  # noqa: ANN401 - JSON
    wrong = wrong_keys(values, _TOP_KEYS, required=("engine", "releases", "flags"))
    if wrong is None and values["engine"] != engine:
        wrong = f"expected the flags of `{engine}`, which the folder's name stands for"
    releases = values["releases"] if wrong is None else []
    if wrong is None and not (releases and all(map(_is_release, releases))):
        wrong = "expected releases in `releases`"
    if wrong is None and sorted(releases, key=_order) != releases:
        wrong = "expected the oldest release first in `releases`"
    if wrong is not None:
        yield error(CATALOGUE_INVALID, wrong, Label(source.span(0, 0)))
        return
    ends: dict[str, int] = {}
    for row in values["flags"]:
        wrong = flag_fault(row, more=RELEASE_KEYS) or _release_fault(row, releases, ends)
        if wrong is not None:
            yield error(CATALOGUE_INVALID, wrong, Label(place_of(row, source)))


def _is_release(text: object) -> bool:
    return isinstance(text, str) and version_key(text) is not None


def _order(version: str) -> tuple[tuple[int, ...], int, int]:
    return version_key(version) or ((), 0, 0)


def _release_fault(row: Row, releases: Sequence[str], ends: dict[str, int]) -> str | None:
    """What is wrong with the releases of a row; `ends` are the last releases of the rows before it, by flag."""
    name = row["name"]
    for key in RELEASE_KEYS:
        if key in row and row[key] not in releases:
            return f"`{name}`: `{row[key]}` is not among `releases`"
    first = releases.index(row.get("since", releases[0]))
    last = releases.index(row.get("until", releases[-1]))
    if first > last:
        return f"`{name}`: expected `since` before `until`"
    if ends.get(name, -1) >= first:
        return f"`{name}` has two rows for `{releases[first]}`"
    ends[name] = last
    return None


def write_series(tables: Mapping[str, Mapping[str, Flag]], *, engine: str, source: str) -> str:
    """The file for these tables by release: one flag a line, by name, its rows the oldest first."""
    import json  # noqa: PLC0415 - only a catalogue that is made needs it

    releases = sorted(tables, key=_order)
    rows = [
        json.dumps(row, ensure_ascii=False)
        for name in sorted({name for table in tables.values() for name in table})
        for row in _rows([tables[each].get(name) for each in releases], releases)
    ]
    head = (
        f'{{"engine": {json.dumps(engine)},',
        f'"source": {json.dumps(source)},',
        f'"releases": {json.dumps(releases)},',
        '"flags": [',
    )
    return "\n".join((*head, ",\n".join(rows), "]}")) + "\n"


def write_table(flags: Mapping[str, Flag], *, engine: str, version: str, source: str) -> str:
    """The file of one release, one flag a line, by name."""
    import json  # noqa: PLC0415 - as above

    rows = [
        json.dumps({"name": name, **said(flags[name])}, ensure_ascii=False)
        for name in sorted(flags)
    ]
    head = (
        f'{{"engine": {json.dumps(engine)}, "version": {json.dumps(version)},',
        f'"source": {json.dumps(source)},',
        '"flags": [',
    )
    return "\n".join((*head, ",\n".join(rows), "]}")) + "\n"


def _rows(flags: Sequence[Flag | None], releases: Sequence[str]) -> Iterator[dict[str, object]]:
    """The rows of one flag, given what it is in each release."""
    start = 0
    for place in range(1, len(flags) + 1):
        if place < len(flags) and flags[place] == flags[start]:
            continue
        flag = flags[start]
        if flag is not None:
            since = {"since": releases[start]} if start else {}
            until = {"until": releases[place - 1]} if place < len(flags) else {}
            yield {"name": flag.name, **since, **until, **said(flag)}
        start = place


def said(flag: Flag) -> dict[str, object]:
    """What a flag says beside its name, nothing that goes without saying."""
    values = asdict(flag, filter=lambda attribute, value: value != attribute.default)
    del values["name"]
    return values
