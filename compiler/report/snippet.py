"""The lines of one file with what the labels say about them, drawn as rustc draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from compiler.report.cells import Row, cells, laid_out
from compiler.report.ink import Ink, Piece, Pieces, Strip
from compiler.report.marks import Mark, lanes, shown_lines
from compiler.report.prose import NARROWEST, broken
from compiler.source import Source
from compiler.value import Value


_LANE = 2  # cells: the bar and a space

_Placed = tuple[int, int, Mark]
"""A mark with its first cell and the cell after its last."""


def snippet(marks: Sequence[Mark], *, source: Source, gutter: int, width: int) -> Iterator[Pieces]:
    """The printed lines of a file's marks, in the order of its lines, `...` between those far apart.

    `gutter` is the width of the line numbers, `width` of the terminal, in cells.
    """
    page = _Page(source=source, marks=tuple(marks), gutter=gutter, width=width)
    before = 0
    for number in shown_lines(marks):
        if before and number - before > 1:
            yield page.gap(before, number)
        yield from page.line(number)
        before = number


@frozen(kw_only=True, eq=False, repr=False)
class _Page(Value):
    """What is the same for all lines of a snippet."""

    source: Source
    marks: tuple[Mark, ...]
    gutter: int
    width: int
    lanes: Mapping[Mark, int] = field(init=False)

    @lanes.default
    def _lanes(self) -> Mapping[Mark, int]:
        return lanes(self.marks)

    @property
    def indent(self) -> int:
        """The cells that the bars beside the code take."""
        return _LANE * (1 + max(self.lanes.values(), default=-1))

    @property
    def room(self) -> int:
        """The cells that are left for code."""
        return max(self.width - self.gutter - len(" | ") - self.indent, NARROWEST)

    def framed(self, strip: Strip, number: int | None = None) -> Pieces:
        """A strip behind the rule, with its line number if it has one."""
        frame = f"{'' if number is None else number:>{self.gutter}} | "
        return ((frame, Ink.FRAME), *strip.pieces())

    def gap(self, before: int, after: int) -> Pieces:
        """The line that stands for all between two lines, with the bars that pass through."""
        strip = Strip()
        self.draw_bars(
            strip, [each for each in self.lanes if each.line <= before and each.last >= after]
        )
        dots: Piece = ("...".ljust(self.gutter + len(" | ")), Ink.FRAME)
        return (dots, *strip.pieces())

    def draw_bars(self, strip: Strip, marks: Sequence[Mark]) -> None:
        """Draw the bars of these marks, each in its lane."""
        for each in marks:
            strip.put(_LANE * self.lanes[each], "|", each.ink)

    def line(self, number: int) -> Iterator[Pieces]:
        """A line of the file with all that is drawn under it."""
        here = [each for each in self.marks if each.line == number and not each.runs_over]
        opening = [each for each in self.lanes if each.line == number]
        closing = [each for each in self.lanes if each.last == number]
        barred = [each for each in self.lanes if each.line < number < each.last] + closing
        code = self.source.line(number)
        focus = [(each.start, each.end) for each in here]
        focus += [(each.start, each.start + 1) for each in opening]
        focus += [(max(each.end - 1, 0), each.end) for each in closing]
        row = laid_out(code, focus=focus, room=self.room)

        strip = Strip()
        self.draw_bars(strip, barred)
        if len(opening) == 1 and opening[0].start <= len(code) - len(code.lstrip()):
            barred.append(opening.pop())
            strip.put(_LANE * self.lanes[barred[-1]], "/", barred[-1].ink)
        strip.put(self.indent, row.text, Ink.PLAIN)
        yield self.framed(strip, number)

        for strip in _underlined(here, row=row, indent=self.indent, room=self.room):
            self.draw_bars(strip, barred)
            yield self.framed(strip)
        for each in opening:
            yield self.framed(self.opened(each, row=row, barred=barred))
            barred.append(each)
        for each in reversed(closing):  # the innermost first
            barred.remove(each)
            yield from map(self.framed, self.closed(each, row=row, barred=barred))

    def opened(self, mark: Mark, *, row: Row, barred: Sequence[Mark]) -> Strip:
        """The line from a mark's lane to its first character; the bar begins below it."""
        first, _ = row.reach((mark.start, mark.start + 1))
        return self.arm(mark, self.indent + first, barred)

    def closed(self, mark: Mark, *, row: Row, barred: Sequence[Mark]) -> Iterator[Strip]:
        """The line from a mark's bar to its last character, with the label."""
        _, end = row.reach((max(mark.end - 1, 0), mark.end))
        caret = self.indent + end - 1
        strip = self.arm(mark, caret, barred)
        self.draw_bars(strip, [mark])
        start = caret + 2
        if self.room - end - 1 < min(NARROWEST, cells(mark.text)):
            yield strip
            strip = Strip()
            self.draw_bars(strip, barred)
            start = self.indent + max(self.room - NARROWEST, 0)
        for line in broken(mark.text, room=self.room + self.indent - start):
            strip.put(start, line, mark.ink)
            yield strip
            strip = Strip()
            self.draw_bars(strip, barred)

    def arm(self, mark: Mark, caret: int, barred: Sequence[Mark]) -> Strip:
        """A line from right of a mark's lane to a caret, under the bars of others."""
        strip = Strip()
        strip.fill(range(_LANE * self.lanes[mark] + 1, caret), "_", mark.ink)
        strip.put(caret, mark.caret, mark.ink)
        self.draw_bars(strip, barred)
        return strip


def _underlined(marks: Sequence[Mark], *, row: Row, indent: int, room: int) -> list[Strip]:
    """The carets of a line's marks, and their labels: one beside its carets if it fits, the others hung below.

    Shorter carets are drawn over longer ones. Labels hang from right to left, so that none crosses another's thread.
    """
    if not marks:
        return []
    carets = Strip()
    placed = [(*row.reach((each.start, each.end)), each) for each in marks]
    for first, last, each in sorted(
        placed, key=lambda each: (each[0] - each[1], each[2].caret == "^")
    ):
        carets.fill(range(indent + first, indent + last), each.caret, each.ink)
    strips = [carets]
    labelled = sorted(
        (each for each in placed if each[2].text), key=lambda each: (-each[0], each[1])
    )
    beside = _beside(placed, room)
    if beside is not None:
        _, last, each = beside
        labelled.remove(beside)
        lines = broken(each.text, room=room - last - 1)
        strips += [Strip() for _ in lines[1:]]
        for strip, line in zip(strips, lines, strict=True):
            strip.put(indent + last + 1, line, each.ink)
    _hang(labelled, strips, indent=indent, room=room)
    return strips


def _beside(placed: Sequence[_Placed], room: int) -> _Placed | None:
    """The mark whose label may stand beside its carets: nothing is right of it and the label fits."""
    candidate = max(placed, key=lambda each: (each[1], each[0]))
    first, last, mark = candidate
    others = [each for each in placed if each is not candidate]
    if not mark.text or any(end > first for _, end, _ in others):
        return None
    left = room - last - 1
    return candidate if left >= NARROWEST or cells(mark.text) <= left else None


def _hang(labelled: Sequence[_Placed], strips: list[Strip], *, indent: int, room: int) -> None:
    """Add strips with labels below those there are, each on a thread from its carets down."""
    if labelled:
        strips.append(Strip())
    for at, (first, _, mark) in enumerate(labelled):
        thread = len(strips)
        left = next((each + _LANE for each, _, _ in labelled[at + 1 :] if each < first), 0)
        # Where little room is left the label begins left of its thread, up to the next one.
        start = min(first, max(left, room - NARROWEST))
        for line in broken(mark.text, room=room - start):
            strips.append(Strip())
            strips[-1].put(indent + start, line, mark.ink)
        for strip in strips[1:thread]:
            if not strip.has(indent + first):
                strip.put(indent + first, "|", mark.ink)
