"""Sentences broken into lines that fit; formulas and tables left as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.report.cells import cells, shown


NARROWEST = 28
"""Cells that text is given at least, what a note has on a terminal of 40; a narrower column is worse to read than a line that runs over."""
_WORD = re.compile(r"(?:`[^`]*`|\S)+")  # what stands in backticks is one word: it gets copied
_SPACED = re.compile(r"(?:`[^`]*`|\S)+ *")
_ROW = re.compile(r"(\S(?:.*?\S)?  +)(\S.*)")
_NUMBERED = re.compile(r" *\d+  (?=\S)")
_QUOTED = re.compile(r"`[^`]*`")


def broken(text: str, *, room: int, formulas: bool = False) -> list[str]:
    r"""The lines of a text, harmless, prose wrapped to `room` cells (or `NARROWEST`, if that is more).

    A `\n` always ends a line. A line with an indent is a table or a command and is kept whole; so is a formula, which has
    ` = ` outside backticks, unless `formulas` break, too: then its further rows are indented. Of a line with a gap of
    several spaces what stands after the gap is wrapped, under itself where there is room.
    """
    room = max(room, NARROWEST)
    lines: list[str] = []
    for line in map(shown, text.split("\n")):
        row = _ROW.fullmatch(line)
        if cells(line) <= room:
            lines.append(line)
        elif row is not None:
            lines += _wrapped_row(row[1], row[2], room)
        elif _is_laid_out(line):
            lines.append(line)
        elif _is_formula(line):
            lines += narrowed(line, width=room) if formulas else [line]
        else:
            lines += _wrapped(line, room)
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
    return line.startswith(" ") or "  " in line.rstrip()


def _is_formula(line: str) -> bool:
    return " = " in _QUOTED.sub("", line)


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
    """A printed line in rows that fit a narrow terminal; the rows after the first are indented by two more, behind its number."""
    if cells(line) <= width:
        yield line
        return
    indent = len(line) - len(line.lstrip(" "))
    number = _NUMBERED.match(line)
    under = 2 + (indent if number is None else number.end())
    row, margin = "", indent
    for word in _SPACED.findall(line):
        if row and cells(row) + cells(word.rstrip()) > max(width - margin, NARROWEST):
            yield " " * margin + row.rstrip()
            row, margin = word, under
        else:
            row += word
    yield " " * margin + row.rstrip()


_FENCE = "```"
_ITEM = re.compile(r"(- |\d+\. )")


def refilled(page: str, *, width: int) -> Iterator[str]:
    """The lines of a Markdown page with its paragraphs and items filled anew; code, headings and tables as they are."""
    paragraph: list[str] = []
    fenced = False
    for line in page.splitlines():
        is_code = fenced or line.startswith((_FENCE, "    ", "#", "|"))
        if paragraph and (is_code or not line or _ITEM.match(line)):
            yield from _filled(paragraph, width)
            paragraph = []
        fenced ^= line.startswith(_FENCE)
        if is_code or not line:
            yield line
        else:
            paragraph.append(line.strip())
    if paragraph:
        yield from _filled(paragraph, width)


def _filled(paragraph: list[str], width: int) -> Iterator[str]:
    item = _ITEM.match(paragraph[0])
    indent = len(item[0]) if item else 0
    first, *more = _wrapped(" ".join(paragraph)[indent:], max(width - indent, NARROWEST))
    yield paragraph[0][:indent] + first
    yield from (" " * indent + line for line in more)
