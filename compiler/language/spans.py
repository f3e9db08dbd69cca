"""TOML text that `tomllib` has accepted goes in; where each of its keys and values stands comes out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

from attrs import define, field, frozen

from compiler.diagnostics import Span
from compiler.source import Source
from compiler.value import Value


TomlPath = tuple[str | int, ...]
"""The way to a value from the top of one file: keys, and the index of each list item."""

_BLANK = re.compile(r"[ \t]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+'""")
_SPACED_PART = re.compile(rf"[ \t]*+(?P<part>{_KEY_PART.pattern})[ \t]*+")
_STRING = re.compile(
    r'''
      """ (?: [^\\] | \\. )*? "{3,5} (?!")
    | \'\'\' .*? '{3,5} (?!')
    | " (?: [^"\\]++ | \\. )*+ "
    | ' [^']*+ '
    ''',
    re.DOTALL | re.VERBOSE,
)
_BARE_VALUE = re.compile(r"[^,\]}#\r\n]+")


@frozen(eq=False, repr=False)
class Entry(Value):
    """Where one key and its value stand.

    Attributes:
        key: the key's own part of a dotted key or header; `None` for a list item.
        value: the value; for a table its header, or its braces when it is inline. A table that is only
            implied by a dotted key or a longer header has the part that names it.
    """

    key: Span | None
    value: Span


def index_spans(source: Source) -> Mapping[TomlPath, Entry]:
    """Index every value, list item and table of a file.

    Where a table or an array of tables is opened more than once the first place counts, and a header of its own
    counts before a place that only implies it. The text must be valid TOML; for any other the result means nothing.
    """
    scanner = Scanner(source)
    while scanner.step():
        pass
    return scanner.implied | scanner.entries


def split_key(text: str) -> tuple[str, ...] | None:
    """The parts of a dotted key written as in TOML (`env."A.B"`); `None` when the text is no such key."""
    parts: list[str] = []
    position = 0
    while (match := _SPACED_PART.match(text, position)) is not None:
        try:
            parts.append(_key_name(match["part"]))
        except tomllib.TOMLDecodeError:
            return None
        if match.end() == len(text):
            return tuple(parts)
        if text[match.end()] != ".":
            return None
        position = match.end() + 1
    return None


def text_at(span: Span, *, source: Source) -> str:
    """What the author wrote at a span of this source."""
    start, end = source.extent(span)
    return source.text[start:end]


def _key_name(written: str) -> str:
    """The name that one part of a key stands for."""
    if written[0] == '"' and "\\" in written:
        return next(iter(tomllib.loads(f"{written} = 0")))
    return written[1:-1] if written[0] in "\"'" else written


@define
class _Open:
    """A list or an inline table whose closing bracket is still to come."""

    path: TomlPath
    key: Span | None
    start: int
    is_list: bool
    items: int = 0


@define
class Part:
    """One part of a dotted key."""

    name: str
    span: Span


@define
class Scanner:
    """A cursor over the text. Nesting is kept on a list, not on Python's stack, so that depth costs nothing."""

    source: Source
    text: str = field(init=False)
    at: int = 0
    table: TomlPath = ()
    opened: list[_Open] = field(factory=list)
    last_element: dict[TomlPath, int] = field(factory=dict)
    entries: dict[TomlPath, Entry] = field(factory=dict)
    implied: dict[TomlPath, Entry] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """The text is looked at for every token."""
        self.text = self.source.text

    def step(self) -> bool:
        """Read the next header, pair, item or bracket; false at the end of the text."""
        self._skip(_TRIVIA)
        if self.at >= len(self.text):
            return False
        if not self.opened:
            self._statement()
        elif self.text[self.at] in "]}":
            self._close(self.opened.pop())
        elif self.text[self.at] == ",":
            self.at += 1
        elif self.opened[-1].is_list:
            self._item(self.opened[-1])
        else:
            self._pair(self.opened[-1].path)
        return True

    def _skip(self, pattern: re.Pattern[str]) -> None:
        """Move past what the pattern matches."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"no TOML at offset {self.at} of {self.source.name}")
        self.at = match.end()

    def _record(self, path: TomlPath, key: Span | None, start: int) -> None:
        """What stands from `start` up to the cursor is the value of `path`."""
        self.entries.setdefault(path, Entry(key, self.source.span(start, self.at)))

    def _imply(self, path: TomlPath, part: Span) -> None:
        """A table that has no place of its own here, only a part of a longer key."""
        self.implied.setdefault(path, Entry(part, part))

    def _statement(self) -> None:
        """A header, or a pair of the table that the last header opened."""
        if self.text[self.at] != "[":
            self._pair(self.table)
            return
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 2 if is_array else 1
        parts = self._key()
        self.at += 2 if is_array else 1
        self.table = self._header(parts, start=start, is_array=is_array)

    def _header(self, parts: list[Part], *, start: int, is_array: bool) -> TomlPath:
        """Record a header that ends at the cursor; the result is the table that it opens."""
        path: TomlPath = ()
        for part in parts[:-1]:
            path = (*path, part.name)
            self._imply(path, part.span)
            if path in self.last_element:
                path = (*path, self.last_element[path])
        path = (*path, parts[-1].name)
        self._record(path, parts[-1].span, start)
        if not is_array:
            return path
        element = self.last_element.get(path, -1) + 1
        self.last_element[path] = element
        self._record((*path, element), None, start)
        return (*path, element)

    def _key(self) -> list[Part]:
        """A dotted key, up to what follows it."""
        parts: list[Part] = []
        while True:
            self._skip(_BLANK)
            start = self.at
            self._skip(_KEY_PART)
            span = self.source.span(start, self.at)
            parts.append(Part(_key_name(self.text[start : self.at]), span))
            self._skip(_BLANK)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _pair(self, table: TomlPath) -> None:
        """`key = value` in this table."""
        parts = self._key()
        self.at += 1  # the equals sign
        self._skip(_BLANK)
        path = table
        for part in parts[:-1]:
            path = (*path, part.name)
            self._imply(path, part.span)
        self._value((*path, parts[-1].name), parts[-1].span)

    def _item(self, parent: _Open) -> None:
        """The next item of this list."""
        path = (*parent.path, parent.items)
        parent.items += 1
        self._value(path, None)

    def _value(self, path: TomlPath, key: Span | None) -> None:
        """Read a plain value whole; of a list or an inline table only its opening bracket."""
        start, first = self.at, self.text[self.at]
        if first in "[{":
            self.opened.append(_Open(path, key, start, first == "["))
            self.at += 1
            return
        if first in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_BARE_VALUE)
            self.at = start + len(self.text[start : self.at].rstrip(" \t"))
        self._record(path, key, start)

    def _close(self, ended: _Open) -> None:
        """Step over the closing bracket."""
        self.at += 1
        self._record(ended.path, ended.key, ended.start)
