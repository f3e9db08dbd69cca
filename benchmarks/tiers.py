"""Predictions that have a pool to compare with, and their line of a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from attrs import frozen

from benchmarks.asking import Answer


HEAD = (
    "| | boots | median | p90 | p95 | worst | in range | range's width |",
    "|---|---|---|---|---|---|---|---|",
)


@frozen(kw_only=True)
class Tier:
    """One tier's answers that have a pool to compare with."""

    name: str
    answers: tuple[Answer, ...]

    @property
    def errors(self) -> list[float]:
        """Absolute relative errors, sorted."""
        return sorted(abs(each.error) for each in self.answers if each.error is not None)

    @property
    def covered(self) -> float:
        """The part of the cases whose range holds the truth."""
        return sum(each.covers for each in self.answers) / max(1, len(self.answers))

    @property
    def width(self) -> float:
        """The median width of the range."""
        return statistics.median([each.width for each in self.answers] or [0.0])

    @property
    def beyond(self) -> list[Answer]:
        """The cases further off than 1 % and than the log's own decimals."""
        return [
            each
            for each in self.answers
            if each.error is not None and abs(each.error) > max(0.01, each.band)
        ]

    def row(self) -> str:
        """Its line of the table."""
        if not self.errors:
            return f"| {self.name} | 0 | | | | | | |"
        return row(self.name, self.errors, covered=self.covered, width=self.width)


def row(name: str, errors: Sequence[float], *, covered: float, width: float) -> str:
    """A line of the table, of errors that are sorted."""
    return (
        f"| {name} | {len(errors)} | {statistics.median(errors):.2%} | {share(errors, 0.9):.2%} "
        f"| {share(errors, 0.95):.2%} | {errors[-1]:.2%} | {covered:.0%} | {width:.2%} |"
    )


def share(errors: Sequence[float], part: float) -> float:
    """The error that so large a part of sorted ones stays within."""
    return errors[min(len(errors) - 1, int(part * len(errors)))]


def tier_of(name: str, answers: Iterable[Answer]) -> Tier:
    """Those of the answers that have a pool to compare with."""
    kept = tuple(each for each in answers if each.memory is not None and each.case.tokens)
    return Tier(name=name, answers=kept)
