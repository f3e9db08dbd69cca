"""The edge that is found is the edge, whatever the margins hint, and few questions find it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bisection import Margins, least, most
from examples import examples


SHAPES: dict[str, Callable[[float], Margins]] = {
    "line": lambda away: (13_000.3 * away,),
    "bend": lambda away: (away**3,),
    "step": lambda away: (1.0 if away > 0 else -1.0,),
    "cliff": lambda away: (away if away > 0 else -1e9,),
    "clamp": lambda away: (max(away, -40.0),),
    "bow": lambda away: (away + away * away / 3000,),
    "two": lambda away: (away, 2 * away + 60),
    "handover": lambda away: (away / 100 if away > 0 else 40 * away - 2000,),
    "two ways": lambda away: (away, 500 - away / 10),
}
"""By how far a number is above the edge; of several limits the first is the last to be kept."""


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(
    low=st.integers(-50, 50),
    length=st.integers(-2, 80),
    edge=st.integers(-80, 160),
    shape=st.sampled_from(sorted(SHAPES)),
    known=st.booleans(),
    hint=st.none() | st.integers(-60, 140),
    guess=st.none() | st.integers(-90, 170),
)
def test_the_edge_is_the_edge(
    low: int,
    length: int,
    edge: int,
    shape: str,
    *,
    known: bool,
    hint: int | None,
    guess: int | None,
) -> None:
    """The least and the most are those of a plain search; nothing for an empty range or one with none."""
    high = low + length
    good = [value for value in range(low, high + 1) if value >= edge]

    def above(value: int) -> Margins:
        return SHAPES[shape](value - edge + 0.5)

    below = above(low - 1) if known and edge > low - 1 else None
    found = least(low=low, high=high, margins=above, below=below, hint=hint, guess=guess)
    assert found == (good[0] if good else None)
    good = [value for value in range(low, high + 1) if value <= edge]
    found = most(
        low=low,
        high=high,
        margins=lambda value: SHAPES[shape](edge - value + 0.5),
        guess=guess,
    )
    assert found == (good[-1] if good else None)


def questions(shape: str, *, edge: int, known: bool = False) -> int:
    asked: list[int] = []

    def margins(value: int) -> Margins:
        asked.append(value)
        return SHAPES[shape](value - edge + 0.5)

    below = SHAPES[shape](0 - edge + 0.5) if known else None
    assert least(low=1, high=999, margins=margins, below=below) == edge
    assert {edge, edge - 1} <= {*asked, 0 if known else edge}
    return len(asked)


def most_questions(shape: str, *, known: bool = False) -> int:
    return max(questions(shape, edge=edge, known=known) for edge in range(2, 999))


@pytest.mark.parametrize("shape", ["line", "two", "two ways"])
def test_a_line_takes_four_questions(shape: str) -> None:
    """Where each limit lies on a line both ends, the edge, and its neighbour are asked, and no more; a known end is not asked."""
    assert most_questions(shape) == 4
    assert most_questions(shape, known=True) == 3


@pytest.mark.parametrize(("shape", "count"), [("bow", 7), ("clamp", 11), ("cliff", 11)])
def test_what_is_nearly_a_line_takes_few(shape: str, count: int) -> None:
    """A bow, or a line that ends somewhere, takes no more questions than halving does."""
    assert most_questions(shape) <= count


@pytest.mark.parametrize("shape", ["line", "two", "two ways"])
def test_a_good_hint_spares_the_far_end(shape: str) -> None:
    """Where the number below is known and the edge is hinted at, the edge and its neighbour are asked, and nothing else."""
    for edge in range(2, 999):
        asked: list[int] = []

        def margins(value: int, edge: int = edge, asked: list[int] = asked) -> Margins:
            asked.append(value)
            return SHAPES[shape](value - edge + 0.5)

        below = SHAPES[shape](0 - edge + 0.5)
        assert least(low=1, high=999, margins=margins, below=below, hint=edge) == edge
        assert sorted(asked) == [edge - 1, edge]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_right_guess_takes_two_questions(shape: str) -> None:
    """Nothing but the edge and the number below it is asked; nor anything but the last, where that is not good."""
    for edge in (2, 500, 999, 1000):
        asked: list[int] = []

        def margins(value: int, edge: int = edge, asked: list[int] = asked) -> Margins:
            asked.append(value)
            return SHAPES[shape](value - edge + 0.5)

        found = least(low=1, high=999, margins=margins, guess=edge)
        assert (found, asked) == ((edge, [edge, edge - 1]) if edge <= 999 else (None, [999]))


def test_no_shape_takes_long() -> None:
    """When six questions did not halve what is left the next one does, and strides double, so that hints which mislead cost little."""
    assert (
        max(most_questions(shape, known=known) for shape in SHAPES for known in (False, True)) <= 27
    )
