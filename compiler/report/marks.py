"""Labels made ready to draw: held against the file they point into, and set apart where they run over lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from attrs import frozen

from compiler.diagnostics import Label, Span
from compiler.report.ink import Ink
from compiler.source import Source
from compiler.value import Value


_SHOWN_WHOLE = 5
"""A span of at most so many lines is shown whole; of a longer one, its first and last line."""


@frozen(kw_only=True, eq=False, repr=False)
class Mark(Value):
    """A label in a file. Lines count from 1, code points of a line from 0; `end` is exclusive, within line `last`."""

    line: int
    start: int
    last: int
    end: int
    text: str
    caret: str
    ink: Ink

    @property
    def runs_over(self) -> bool:
        """Whether it reaches over several lines."""
        return self.last > self.line

    def lines(self) -> Sequence[int]:
        """The lines of it that are shown."""
        whole = range(self.line, self.last + 1)
        return whole if len(whole) <= _SHOWN_WHOLE else (self.line, self.last)


def mark(label: Label, *, source: Source, caret: str, ink: Ink) -> Mark:
    """The label in its file; a span that does not fit the file is drawn where it comes nearest."""
    line, start = max(label.span.line, 1), max(label.span.column - 1, 0)
    last, end = max(_end(label.span, source), (line, start))
    return Mark(
        line=line,
        start=min(start, len(source.line(line))),
        last=last,
        end=min(end, len(source.line(last))),
        text=label.text,
        caret=caret,
        ink=ink,
    )


def _end(span: Span, source: Source) -> tuple[int, int]:
    """The last line of a span and the code points of it that belong to the span."""
    count = len(source.line_starts)
    if span.line <= count < span.end_line:
        return count, len(source.line(count))
    if span.line < span.end_line and span.end_column <= 1:  # it ends with the line break before
        return span.end_line - 1, len(source.line(span.end_line - 1))
    return span.end_line, span.end_column - 1


def shown_lines(marks: Iterable[Mark]) -> list[int]:
    """The lines to show, in order; a line that would be alone between two of them is shown too."""
    wanted = sorted({number for each in marks for number in each.lines()})
    alone = (first + 1 for first, second in pairwise(wanted) if first + 2 == second)
    return sorted({*wanted, *alone})


def lanes(marks: Iterable[Mark]) -> Mapping[Mark, int]:
    """A lane beside the code for the bar of each mark that runs over lines; outer marks stand further left."""
    free_after: list[int] = []
    result: dict[Mark, int] = {}
    outer_first = sorted(
        (each for each in marks if each.runs_over), key=lambda each: (each.line, -each.last)
    )
    for each in outer_first:
        free = (lane for lane, last in enumerate(free_after) if last < each.line)
        lane = next(free, len(free_after))
        free_after[lane : lane + 1] = [each.last]
        result[each] = lane
    return result
