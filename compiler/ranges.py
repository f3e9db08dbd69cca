"""A number we know only to a degree: at least, most likely, at most."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from compiler.value import Value


@frozen(eq=False, repr=False)
class Range(Value):
    """low <= best <= high, all in the same unit (the name of what holds it says which)."""

    low: float
    best: float
    high: float

    def __attrs_post_init__(self) -> None:
        """A range out of order is a bug in whoever made it."""
        if not self.low <= self.best <= self.high:
            raise ValueError(f"range out of order: {self.low} {self.best} {self.high}")

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A figure that is known."""
        return cls(value, value, value)

    def __add__(self, other: Range) -> Range:
        """The sum of two independent figures."""
        return Range(self.low + other.low, self.best + other.best, self.high + other.high)

    def scaled(self, factor: float) -> Range:
        """The range times a factor that is not negative."""
        return Range(self.low * factor, self.best * factor, self.high * factor)

    @property
    def is_exact(self) -> bool:
        """Whether the three are one number."""
        return self.low == self.high


def total(ranges: Iterable[Range]) -> Range:
    """The sum of independent ranges; nothing sums to zero."""
    result = Range.exactly(0.0)
    for each in ranges:
        result += each
    return result


def most(ranges: Iterable[Range]) -> Range:
    """The range of the greatest of several figures that do not exist at the same time."""
    several = tuple(ranges)
    return Range(
        max(each.low for each in several),
        max(each.best for each in several),
        max(each.high for each in several),
    )


def said_gib(known: Range) -> str:
    """A part of a GPU's memory from its least to its most: `7.9 to 8.4 GiB`."""
    low, high = f"{known.low:.1f}", f"{known.high:.1f}"
    return f"{low} GiB" if low == high else f"{low} to {high} GiB"


def said(known: Range, form: str, *, unit: str = "") -> str:
    """As people read it: `7.32 GiB (5.96 to 7.33)`; the best estimate alone where low and high print the same."""
    low, best, high = (format(each, form) for each in (known.low, known.best, known.high))
    return f"{best}{unit}" if low == high else f"{best}{unit} ({low} to {high})"
