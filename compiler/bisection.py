"""The edge of what is good, where goodness changes once along a range of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable


Margins = tuple[float, ...]
"""How far a number is above each of several limits; it is good where none is negative."""
_PATIENCE = 6
"""So many questions may pass before the range that is left has halved; then the next one halves it."""


def margin(*, good: bool) -> Margins:
    """Of what is only good or not: it hints at nothing."""
    return (1.0 if good else -1.0,)


def least(
    *,
    low: int,
    high: int,
    margins: Callable[[int], Margins],
    below: Margins | None = None,
    hint: int | None = None,
    guess: int | None = None,
) -> int | None:
    """The least number from `low` to `high` that is good, where goodness changes once; `None` for none.

    How large a margin is only hints where to ask next: each limit by itself is nearly a straight line, and where the last
    of these lines crosses zero is the edge, or near it. Answers that stay on one side of it, as where the lines have steps,
    are followed by strides that double. The answer has been asked, and so has the number below it.

    `below` are the margins of the number below `low`, where they are known and not good; `hint` is a number near the edge.
    With both the hint is asked before the far end, which is not asked at all where the hint is good. A `guess` is the edge
    itself, as far as anybody knows, or beyond an end: it and the number below it are asked before all others.
    """
    if low > high:
        return None
    edge = _Edge(bad=low - 1, good=high + 1, short=below, margins=margins)
    if guess is not None:
        guess = max(low, min(guess, high))
        if edge.ask(guess) and guess > low:
            edge.ask(guess - 1)
    elif below is not None and hint is not None and low <= hint < high:
        edge.ask(hint)
    if edge.good > high and (edge.bad == high or not edge.ask(high)):
        return None
    return _narrowed(edge, first=low if hint is None else hint)


class _Edge:
    """Between which numbers it is, and what was asked on the way. A plain class: every cold `check` loads it.

    Attributes:
        bad, good: the nearest numbers that are so, or one beyond the ends, which nobody asked.
        short: the margins of the bad one, where they are known.
    """

    def __init__(
        self, *, bad: int, good: int, short: Margins | None, margins: Callable[[int], Margins]
    ) -> None:
        self.bad, self.good, self.short, self.margins = bad, good, short, margins
        self.asked: list[tuple[int, Margins]] = [] if short is None else [(bad, short)]

    def ask(self, number: int) -> bool:
        found = self.margins(number)
        self.asked.append((number, found))
        if min(found) < 0:
            self.bad, self.short = number, found
            return False
        self.good = number
        return True

    def crossing(self) -> int | None:
        """The number at which the last two answers say that it is."""
        at = _crossing(self.asked[-2], self.asked[-1], self.short)
        return None if at is None or not self.bad < at <= self.good else math.ceil(at)


def _narrowed(edge: _Edge, *, first: int) -> int:
    """The good one once nothing is left between the two; `first` is asked where a single answer says nothing."""
    width, patience, stride, was_good = edge.good - edge.bad, _PATIENCE, 0, False
    while edge.good - edge.bad > 1:
        if len(edge.asked) == 1:
            at = first
        else:
            crossing = None if patience == 0 else edge.crossing()
            at = (edge.bad + edge.good) // 2 if crossing is None else crossing
            if patience:
                at = min(at, edge.good - stride) if was_good else max(at, edge.bad + stride)
        is_good = edge.ask(min(max(at, edge.bad + 1), edge.good - 1))
        stride, was_good = (stride * 2 if is_good == was_good else 1), is_good
        patience -= 1
        if edge.good - edge.bad <= width / 2:
            width, patience = edge.good - edge.bad, _PATIENCE
    return edge.good


def _crossing(
    first: tuple[int, Margins], second: tuple[int, Margins], short: Margins | None
) -> float | None:
    """Where lines through two numbers reach zero, the last of them; `None` where that says nothing.

    Only those limits count that are not kept at the bad end, where it is known.
    """
    (left, before), (right, after) = first, second
    roots: list[float] = []
    for here, there, end in zip(before, after, short or after, strict=True):
        slope = (there - here) / (right - left)
        if slope > 0 and (short is None or end < 0):
            roots.append(right - there / slope)
        elif there < 0:
            return None
    return max(roots, default=None)


def most(
    *,
    low: int,
    high: int,
    margins: Callable[[int], Margins],
    above: Margins | None = None,
    guess: int | None = None,
) -> int | None:
    """The greatest number from `low` to `high` that is good; as `least`, seen from the other end."""
    mirrored = least(
        low=-high,
        high=-low,
        margins=lambda value: margins(-value),
        below=above,
        guess=None if guess is None else -guess,
    )
    return None if mirrored is None else -mirrored
