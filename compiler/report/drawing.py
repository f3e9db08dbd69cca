"""Bars in a terminal: a letter a part, capital where it is sure; blocks of colour where the terminal has colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from string import ascii_uppercase

from compiler.bars import Bar
from compiler.report.prose import narrowed


# ANSI colours that a light and a dark terminal both show, in an order that keeps neighbours apart.
_COLOURS = (34, 32, 35, 33, 36, 31, 94, 92, 95, 93, 96, 91)
_LETTERS = ascii_uppercase
_INDENT = "  "


class Sure(Enum):
    """How sure it is that a cell is taken; the value is the block that shows it."""

    SURE = "█"
    LIKELY = "▓"
    POSSIBLE = "░"
    FREE = " "


def drawing(bars: Sequence[Bar], *, width: int, colour: bool) -> Iterator[str]:
    """The lines of these bars, none wider than `width`."""
    wide = max(10, min(width, 100) - len(_INDENT) - 2)
    for bar in bars:
        head = f"{bar.title}, {bar.unit}: {bar.ranged(bar.size)}{_held_against(bar)}"
        yield from narrowed(head, width=width)
        cells = "".join(
            _painted(index, sure, colour=colour) for index, sure in _cells(bar, wide=wide)
        )
        yield f"{_INDENT}|{cells}|"
        if bar.mark is not None:
            yield f"{_INDENT} {_mark_line(bar, wide=wide)}"
        if len(bar.parts) > 1:
            yield from (f"{_INDENT}{line}" for line in _legend(bar, wide=wide, colour=colour))


def _held_against(bar: Bar) -> str:
    return "" if bar.mark is None else f", {bar.mark.name} {bar.ranged(bar.mark.at)}"


def _cells(bar: Bar, *, wide: int) -> Iterator[tuple[int, Sure]]:
    """The part and the certainty of each cell, by what its middle stands for."""
    for cell in range(wide):
        yield _at((cell + 0.5) / wide * bar.whole, bar)


def _at(amount: float, bar: Bar) -> tuple[int, Sure]:
    start = 0.0
    for index, part in enumerate(bar.parts):
        if amount < start + part.size.low:
            return index, Sure.SURE
        start += part.size.best
        if amount < start:
            return index, Sure.LIKELY
    return 0, Sure.POSSIBLE if amount < bar.size.high else Sure.FREE


def _painted(index: int, sure: Sure, *, colour: bool) -> str:
    """One cell. Without colour a capital is sure, a small letter likely, and a dot possible."""
    if sure is Sure.FREE:
        return " "
    if colour:
        code = 90 if sure is Sure.POSSIBLE else _COLOURS[index % len(_COLOURS)]
        return f"\x1b[{code}m{sure.value}\x1b[0m"
    letter = _LETTERS[index % len(_LETTERS)]
    return {Sure.SURE: letter, Sure.LIKELY: letter.lower(), Sure.POSSIBLE: "."}[sure]


def _mark_line(bar: Bar, *, wide: int) -> str:
    """A caret below the place, its name on the side where there is room."""
    if bar.mark is None:
        return ""
    at = min(wide - 1, int(bar.mark.at.best / bar.whole * wide)) if bar.whole else 0
    name = bar.mark.name
    after = f"{' ' * at}^ {name}"
    return after if len(after) <= wide else f"{name} ^".rjust(at + 1)


def _legend(bar: Bar, *, wide: int, colour: bool) -> Iterator[str]:
    """What each letter or colour is, a line a part; its figures below its name where both do not fit on one."""
    for index, part in enumerate(bar.parts):
        key = _painted(index, Sure.SURE, colour=colour)
        figures = bar.ranged(part.size)
        if len(part.name) + len(figures) + 3 <= wide:
            yield f"{key} {part.name} {figures}"
            continue
        shown = part.name if len(part.name) + 2 <= wide else f"{part.name[: wide - 5]}..."
        yield f"{key} {shown}"
        yield f"{_INDENT}{_INDENT}{figures}"
