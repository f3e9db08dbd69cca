"""The edge of what is good, where goodness changes once along a range of whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def least(*, low: int, high: int, margin: Callable[[int], float]) -> int | None:
    """The least number from `low` to `high` whose margin is not negative, where its sign changes once; `None` for none.

    How large a margin is only hints where to ask next: a straight line through two of them is nearly true of memory, and
    finds in four questions what halving finds in ten. Every third question halves, whatever the hints say. The answer has
    been asked, and so has the number below it.
    """
    if low > high or (over := margin(high)) < 0:
        return None
    if low == high or (short := margin(low)) >= 0:
        return low
    bad, good = low, high
    asked = 0
    while good - bad > 1:
        asked += 1
        share = 0.5 if asked % 3 == 0 else short / (short - over)
        guess = min(max(bad + round(share * (good - bad)), bad + 1), good - 1)
        found = margin(guess)
        if found >= 0:
            good, over = guess, found
        else:
            bad, short = guess, found
    return good


def most(*, low: int, high: int, margin: Callable[[int], float]) -> int | None:
    """The greatest number from `low` to `high` whose margin is not negative; as `least`, seen from the other end."""
    mirrored = least(low=-high, high=-low, margin=lambda value: margin(-value))
    return None if mirrored is None else -mirrored
