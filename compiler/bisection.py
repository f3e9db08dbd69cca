"""The edge of what is good, where goodness changes once along a range of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable


Margins = tuple[float, ...]
"""How far a number is above each of several limits; it is good where none is negative."""
_PATIENCE = 3
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
) -> int | None:
    """The least number from `low` to `high` that is good, where goodness changes once; `None` for none.

    How large a margin is only hints where to ask next: each limit by itself is nearly a straight line, and where the last
    of these lines crosses zero is the edge, or near it. The answer has been asked, and so has the number below it.

    `below` are the margins of the number below `low`, where they are known and not good; `hint` is a number near the edge.
    """
    if low > high or min(over := margins(high)) < 0:
        return None
    bad, short, good = low - 1, below, high
    asked = [(high, over)] if below is None else [(bad, below), (high, over)]
    width, patience = good - bad, _PATIENCE
    while good - bad > 1:
        if len(asked) == 1:
            guess = low if hint is None else hint
        else:
            edge = None if patience == 0 else _crossing(asked[-2], asked[-1], short)
            guess = (bad + good) // 2 if edge is None or not bad < edge < good else math.ceil(edge)
        guess = min(max(guess, bad + 1), good - 1)
        found = margins(guess)
        asked.append((guess, found))
        if min(found) < 0:
            bad, short = guess, found
        else:
            good = guess
        patience -= 1
        if good - bad <= width / 2:
            width, patience = good - bad, _PATIENCE
    return good


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
    *, low: int, high: int, margins: Callable[[int], Margins], above: Margins | None = None
) -> int | None:
    """The greatest number from `low` to `high` that is good; as `least`, seen from the other end."""
    mirrored = least(low=-high, high=-low, margins=lambda value: margins(-value), below=above)
    return None if mirrored is None else -mirrored
