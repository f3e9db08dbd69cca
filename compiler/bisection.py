"""The edge of what is good, where goodness changes once along a range of whole numbers."""

from __future__ import annotations

from collections.abc import Callable


def least(*, low: int, high: int, good: Callable[[int], bool]) -> int | None:
    """The least number from `low` to `high` that is good, where all above a good one are good; `None` for none."""
    if low > high or not good(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle + 1, high)
    return high


def most(*, low: int, high: int, good: Callable[[int], bool]) -> int | None:
    """The greatest number from `low` to `high` that is good, where all below a good one are good; `None` for none."""
    mirrored = least(low=-high, high=-low, good=lambda value: good(-value))
    return None if mirrored is None else -mirrored
