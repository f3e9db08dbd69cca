"""Printed lines in the making: pieces of text, each with the ink it is written in."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import Factory, define

from compiler.diagnostics import Severity
from compiler.report.cells import cells


class Ink(Enum):
    """What a piece of text is, as the ANSI attributes it is printed with."""

    PLAIN = ""
    STRONG = "1"
    ERROR = "1;31"
    WARNING = "1;33"
    FRAME = "1;34"
    HELP = "1;36"

    @classmethod
    def of(cls, severity: Severity) -> Ink:
        """The ink of a diagnostic's head and of its primary label."""
        return cls.ERROR if severity is Severity.ERROR else cls.WARNING


Piece = tuple[str, Ink]
Pieces = tuple[Piece, ...]
"""One printed line."""


def printed(pieces: Pieces, *, colour: bool) -> str:
    """The line as text, without blanks at its end; escape sequences only with `colour`."""
    kept = list(pieces)
    while kept and not kept[-1][0].strip(" "):
        kept.pop()
    if kept:
        kept[-1] = (kept[-1][0].rstrip(" "), kept[-1][1])
    return "".join(_painted(text, ink) if colour else text for text, ink in kept)


def _painted(text: str, ink: Ink) -> str:
    """The text in its ink, and the terminal as it was before."""
    return f"\x1b[{ink.value}m{text}\x1b[0m" if ink.value else text


@define
class Strip:
    """One line that is drawn cell by cell; what is put later covers what was there."""

    _drawn: dict[int, Piece] = Factory(dict)

    def put(self, at: int, text: str, ink: Ink) -> None:
        """Write a text that starts in cell `at`. Nothing may be drawn to the right of it."""
        self._drawn[at] = (text, ink)

    def fill(self, reach: Iterable[int], char: str, ink: Ink) -> None:
        """Write the same character into each of these cells."""
        for at in reach:
            self._drawn[at] = (char, ink)

    def has(self, at: int) -> bool:
        """Whether something is drawn in this cell."""
        return any(start <= at < start + cells(text) for start, (text, _) in self._drawn.items())

    def pieces(self) -> Pieces:
        """The line, with spaces between what was drawn."""
        result: list[Piece] = []
        end = 0
        for at, (text, ink) in sorted(self._drawn.items()):
            if at > end:
                result.append((" " * (at - end), Ink.PLAIN))
            if at == end and result and result[-1][1] is ink:
                result[-1] = (result[-1][0] + text, ink)
            else:
                result.append((text, ink))
            end = at + cells(text)
        return tuple(result)
