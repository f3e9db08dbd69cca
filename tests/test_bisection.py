"""The edge that is found is the edge, whatever the margins hint, and few questions find it."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.bisection import least, most


SHAPES: dict[str, Callable[[float], float]] = {
    "line": lambda away: 13_000.3 * away,
    "bend": lambda away: away**3,
    "step": lambda away: 1.0 if away > 0 else -1.0,
    "cliff": lambda away: away if away > 0 else -1e9,
}


@settings(derandomize=True, deadline=None)
@given(
    st.integers(-50, 50),
    st.integers(-2, 80),
    st.integers(-80, 160),
    st.sampled_from(sorted(SHAPES)),
)
def test_the_edge_is_the_edge(low: int, length: int, edge: int, shape: str) -> None:
    """The least and the most are those of a plain search; nothing for an empty range or one with none."""
    high = low + length
    good = [value for value in range(low, high + 1) if value >= edge]
    found = least(low=low, high=high, margin=lambda value: SHAPES[shape](value - edge + 0.5))
    assert found == (good[0] if good else None)
    good = [value for value in range(low, high + 1) if value <= edge]
    found = most(low=low, high=high, margin=lambda value: SHAPES[shape](edge - value + 0.5))
    assert found == (good[-1] if good else None)


def questions(shape: str, *, edge: int) -> int:
    asked: list[int] = []

    def margin(value: int) -> float:
        asked.append(value)
        return SHAPES[shape](value - edge + 0.5)

    assert least(low=1, high=999, margin=margin) == edge
    return len(asked)


def test_a_line_takes_four_questions() -> None:
    """Where margins lie on a line both ends, the edge, and its neighbour are asked, and no more."""
    assert max(questions("line", edge=edge) for edge in range(2, 999)) == 4


def test_no_shape_takes_long() -> None:
    """Every third question halves, so that hints which mislead cost three times the halvings at most."""
    assert (
        max(questions(shape, edge=edge) for shape in SHAPES for edge in range(2, 999)) <= 2 + 3 * 10
    )
