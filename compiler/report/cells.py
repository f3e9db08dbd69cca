"""How text looks on a terminal: harmless, and measured in cells, so that a caret stands under what it means.

Every code point becomes one glyph. A tab is four spaces. A control character is the picture Unicode has for it, so no
escape sequence of a file reaches the terminal. What reorders or hides text (marks of direction, zero-width
characters, line separators) and what cannot be encoded is a replacement character. Joiners and variation selectors
are dropped, because terminals do not agree how wide the sequences are that they make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from unicodedata import category, east_asian_width

from attrs import frozen

from compiler.value import Value


ELLIPSIS = "..."
_REPLACEMENT = "\ufffd"
_SPECIAL: Mapping[str, tuple[str, int]] = {
    **{chr(code): (chr(0x2400 + code), 1) for code in range(0x20)},
    "\x7f": ("\u2421", 1),
    "\t": (" " * 4, 4),
    "\u200d": ("", 0),  # zero-width joiner
    "\ufe0e": ("", 0),  # variation selectors: as text,
    "\ufe0f": ("", 0),  # as emoji
}
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # categories of Unicode
_COMBINING = frozenset({"Mn", "Me"})
_JAMO_FINALS = range(0x1160, 0x1200)  # Hangul vowels and finals join the syllable before them

Stretch = tuple[int, int]
"""Code points of a line, from the first up to, not including, the second; both count from 0."""


def shown(text: str) -> str:
    """The text as it may be printed on one line."""
    return text if _is_plain(text) else "".join(_glyph(char)[0] for char in text)


def cells(text: str) -> int:
    """How many cells the text takes once it is `shown`."""
    return len(text) if _is_plain(text) else sum(_glyph(char)[1] for char in text)


def _is_plain(text: str) -> bool:
    """Whether each character is one visible cell: true of nearly all lines, and cheap to ask."""
    return text.isascii() and text.isprintable()


def _glyph(char: str) -> tuple[str, int]:
    """What is printed for one code point, and the cells it takes."""
    if " " <= char <= "~":
        return char, 1
    if char in _SPECIAL:
        return _SPECIAL[char]
    kind = category(char)
    if kind in _HARMFUL:
        return _REPLACEMENT, 1
    if kind in _COMBINING or ord(char) in _JAMO_FINALS:
        return char, 0
    return char, 2 if east_asian_width(char) in "WF" else 1


@frozen(eq=False, repr=False)
class Row(Value):
    """One line of a file as it is printed.

    Attributes:
        text: what is printed.
        starts: for each code point of the line, its first cell.
        ends: for each code point of the line, the cell after its last.
        width: the cells of the text.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    width: int

    def reach(self, stretch: Stretch) -> tuple[int, int]:
        """The first cell of a stretch and the cell after its last; at least one cell, past the line's end too."""
        start, end = stretch
        length = len(self.starts)
        first = self.starts[start] if start < length else self.width
        last = self.ends[min(end, length) - 1] if start < min(end, length) else first
        return first, max(last, first + 1)


def laid_out(line: str, *, focus: Sequence[Stretch] = (), room: int) -> Row:
    """A line as it is printed in `room` cells: whole, or what stands around `focus` with `...` for what is left out.

    A focus that is itself too long keeps its two ends. With many of them a row may come out longer than `room`.
    """
    if _is_plain(line) and len(line) <= room:
        return Row(line, range(len(line)), range(1, len(line) + 1), len(line))
    glyphs = [_glyph(char) for char in line]
    edges = (0, *accumulate(width for _, width in glyphs))
    kept = [(0, len(line))] if edges[-1] <= room else _kept(edges, focus, room)
    return _joined(glyphs, kept)


def _kept(edges: Sequence[int], focus: Sequence[Stretch], room: int) -> list[Stretch]:
    """Which stretches of a line are shown: the ends of each focus, with as much around them as fits.

    `edges` are the cells before each code point, and of the whole line.
    """
    tip = max(room // 16, 1)
    wanted = [end for each in focus for end in _tips(each, tip)] or [(0, 0)]
    for around in range(room, 0, -1):
        kept = _widened(wanted, around, edges)
        if _cost(kept, edges) <= room:
            return kept
    return _widened(wanted, 0, edges)


def _tips(stretch: Stretch, tip: int) -> list[Stretch]:
    """A short stretch itself, a long one's first and last code points."""
    start, end = stretch
    return [stretch] if end - start <= 2 * tip else [(start, start + tip), (end - tip, end)]


def _widened(wanted: Iterable[Stretch], around: int, edges: Sequence[int]) -> list[Stretch]:
    """The stretches with `around` code points on each side; gaps that `...` would not shorten are closed."""
    length = len(edges) - 1
    result: list[Stretch] = []
    for start, end in sorted(wanted):
        first, last = _at_a_base(max(start - around, 0), edges), min(end + around, length)
        before = result[-1][1] if result else 0
        if first - before > len(ELLIPSIS):
            result.append((first, last))
        else:
            joined = result.pop()[0] if result else 0
            result.append((joined, max(before, last)))
    return result


def _at_a_base(start: int, edges: Sequence[int]) -> int:
    """The start, moved left while a character without a width of its own stands there."""
    while 0 < start < len(edges) - 1 and edges[start] == edges[start + 1]:
        start -= 1
    return start


def _cost(kept: Sequence[Stretch], edges: Sequence[int]) -> int:
    """The cells of a line of which only these stretches are shown."""
    gaps = len(kept) - 1 + (kept[0][0] > 0) + (kept[-1][1] < len(edges) - 1)
    return gaps * len(ELLIPSIS) + sum(edges[end] - edges[start] for start, end in kept)


def _joined(glyphs: Sequence[tuple[str, int]], kept: Sequence[Stretch]) -> Row:
    """The kept stretches in a row; all that is left out stands at its `...`."""
    text: list[str] = []
    reaches: list[tuple[int, int]] = []
    at = 0
    for start, end in (*kept, (len(glyphs), len(glyphs))):
        if start > len(reaches):
            text.append(ELLIPSIS)
            reaches += [(at, at + len(ELLIPSIS))] * (start - len(reaches))
            at += len(ELLIPSIS)
        for glyph, width in glyphs[start:end]:
            text.append(glyph)
            reaches.append((at, at + width) if width or not reaches else reaches[-1])
            at += width
    return Row("".join(text), [first for first, _ in reaches], [last for _, last in reaches], at)
