"""A file's text as its statements: headers, pairs, comments, and blank lines, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import pairwise

from attrs import frozen

from compiler.language.spans import Entry, TomlPath
from compiler.source import Source
from compiler.value import Value


class StatementKind(Enum):
    """What a statement is."""

    HEADER = auto()
    PAIR = auto()
    COMMENT = auto()
    BLANK = auto()


@frozen(kw_only=True, eq=False, repr=False)
class Statement(Value):
    """One statement, whole lines of the text.

    Attributes:
        start, end: its offsets; the line end belongs to it.
        path: of a header its table, of a pair its setting; empty for the others.
        subject: the offsets of a header with its brackets, of a pair's value.
    """

    kind: StatementKind
    start: int
    end: int
    path: TomlPath = ()
    subject: tuple[int, int] = (0, 0)


def statements(source: Source, spans: Mapping[TomlPath, Entry]) -> tuple[Statement, ...]:
    """The statements of valid TOML, in order; together they are the whole text."""
    return tuple(_statements(source, spans))


def _statements(source: Source, spans: Mapping[TomlPath, Entry]) -> Iterator[Statement]:
    opening = _opening(spans)
    bounds = [*source.line_starts, len(source.text)]
    taken = 0
    for number, (start, end) in enumerate(pairwise(bounds), 1):
        if number <= taken or start == end:
            continue
        if number not in opening:
            blank = not source.text[start:end].strip()
            yield Statement(
                kind=StatementKind.BLANK if blank else StatementKind.COMMENT, start=start, end=end
            )
            continue
        path, entry = opening[number]
        taken = entry.value.end_line
        yield Statement(
            kind=StatementKind.HEADER if _is_header(entry) else StatementKind.PAIR,
            start=start,
            end=bounds[taken],
            path=path,
            subject=source.extent(entry.value),
        )


def _opening(spans: Mapping[TomlPath, Entry]) -> Mapping[int, tuple[TomlPath, Entry]]:
    """What the statement of each line is about, by the line on which it begins."""
    opening: dict[int, tuple[TomlPath, Entry]] = {}
    until = 0  # the last line of the value that began before
    for path, entry in sorted(spans.items(), key=lambda each: (_start(each[1]), -len(each[0]))):
        line, _ = _start(entry)
        if (
            entry.key == entry.value or line in opening
        ):  # implied by a longer key, or inside of what opens the line
            continue
        if line > until:
            opening[line] = (path, entry)
            until = entry.value.end_line
    return opening


def _start(entry: Entry) -> tuple[int, int]:
    first = entry.value if entry.key is None else min(entry.key, entry.value)
    return first.line, first.column


def _is_header(entry: Entry) -> bool:
    """A header's brackets stand around its key; a value behind it. An array's element has no key of its own."""
    return entry.key is None or entry.value <= entry.key
