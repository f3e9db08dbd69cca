"""Sentences broken into lines that fit; formulas and tables left as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.report.cells import cells, shown


NARROWEST = 30
"""Cells that text is given at least; a narrower column is worse to read than a line that runs over."""

_WORD = re.compile(r"(?:`[^`]*`|\S)+")  # what stands in backticks is one word: it gets copied
_SPACED = re.compile(r"(?:`[^`]*`|\S)+ *")
_ROW = re.compile(r"(\S(?:.*?\S)?  +)(\S.*)")
_QUOTED = re.compile(r"`[^`]*`")


def broken(text: str, *, room: int) -> list[str]:
    r"""The lines of a text, harmless, prose wrapped to `room` cells (or `NARROWEST`, if that is more).

    A `\n` always ends a line. A line with an indent or with ` = ` outside backticks is a table or a formula and is kept
    whole. Of one with a gap of several spaces what stands after the gap is wrapped, under itself where there is room.
    """
    room = max(room, NARROWEST)
    lines: list[str] = []
    for line in map(shown, text.split("\n")):
        row = _ROW.fullmatch(line)
        if cells(line) <= room:
            lines.append(line)
        elif row is not None:
            lines += _wrapped_row(row[1], row[2], room)
        else:
            lines += [line] if _is_laid_out(line) else _wrapped(line, room)
    return lines


def _wrapped_row(left: str, right: str, room: int) -> list[str]:
    """A row of two columns; the second has lines of its own where nothing is left beside the first."""
    under = cells(left)
    if room - under < NARROWEST:
        return [left.rstrip(), *(f"  {line}" for line in _wrapped(right, room - 2))]
    first, *more = _wrapped(right, room - under)
    return [left + first, *(" " * under + line for line in more)]


def _is_laid_out(line: str) -> bool:
    """Whether its author placed the words of a line with care."""
    return line.startswith(" ") or "  " in line.rstrip() or " = " in _QUOTED.sub("", line)


def _wrapped(line: str, room: int) -> list[str]:
    """A line of prose, broken between words."""
    lines: list[str] = []
    for word in _WORD.findall(line):
        if lines and cells(lines[-1]) + 1 + cells(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def narrowed(line: str, *, width: int) -> Iterator[str]:
    """A printed line in rows that fit a narrow terminal; the rows after the first are indented by two more."""
    if cells(line) <= width:
        yield line
        return
    indent = len(line) - len(line.lstrip(" "))
    row, margin = "", indent
    for word in _SPACED.findall(line):
        if row and cells(row) + cells(word.rstrip()) > max(width - margin, NARROWEST):
            yield " " * margin + row.rstrip()
            row, margin = word, indent + 2
        else:
            row += word
    yield " " * margin + row.rstrip()
