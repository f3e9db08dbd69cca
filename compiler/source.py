"""A text file held in memory, with its lines and the way from an offset to a position."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from attrs import define, field

from compiler.diagnostics import Span


@define(slots=False, frozen=True)
class Source:
    r"""One text file.

    Attributes:
        name: the path as messages show it, relative to the tree's root.
        text: its content, `\n` or `\r\n` line ends kept.
    """

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        r"""The offset of each line's first character. Only `\n` ends a line, as in TOML and systemd."""
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return tuple(starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset into the text."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset(self, line: int, *, column: int) -> int:
        """The offset of a position; the other way round than `position`."""
        return self.line_starts[line - 1] + column - 1

    def extent(self, span: Span) -> tuple[int, int]:
        """The offsets that a span is from, and up to."""
        return (
            self.offset(span.line, column=span.column),
            self.offset(span.end_line, column=span.end_column),
        )

    def span(self, start: int, end: int) -> Span:
        """The span of the characters from `start` up to, not including, `end`."""
        line, column = self.position(start)
        end_line, end_column = self.position(end)
        return Span(
            file=self.name, line=line, column=column, end_line=end_line, end_column=end_column
        )

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its line end; empty past the last line."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")
