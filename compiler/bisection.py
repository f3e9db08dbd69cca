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
) -> int | None:
    """The least number from `low` to `high` that is good, where goodness changes once; `None` for none.

    How large a margin is only hints where to ask next: each limit by itself is nearly a straight line, and where the last
    of these lines crosses zero is the edge, or near it. Answers that stay on one side of it, as where the lines have steps,
    are followed by strides that double. The answer has been asked, and so has the number below it.

    `below` are the margins of the number below `low`, where they are known and not good; `hint` is a number near the edge.
    With both the hint is asked before the far end, which is not asked at all where the hint is good.
    """
    if low > high:
        return None
    bad, short, good = low - 1, below, high + 1
    asked = [] if below is None else [(bad, below)]

    def ask(number: int) -> bool:
        nonlocal bad, short, good
        found = margins(number)
        asked.append((number, found))
        if min(found) < 0:
            bad, short = number, found
            return False
        good = number
        return True

    if below is not None and hint is not None and low <= hint < high:
        ask(hint)
    if good > high and not ask(high):
        return None
    width, patience, stride, was_good = good - bad, _PATIENCE, 0, False
    while good - bad > 1:
        if len(asked) == 1:
            guess = low if hint is None else hint
        else:
            edge = None if patience == 0 else _crossing(asked[-2], asked[-1], short)
            guess = (bad + good) // 2 if edge is None or not bad < edge <= good else math.ceil(edge)
            if patience:
                guess = min(guess, good - stride) if was_good else max(guess, bad + stride)
        is_good = ask(min(max(guess, bad + 1), good - 1))
        stride, was_good = (stride * 2 if is_good == was_good else 1), is_good
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
