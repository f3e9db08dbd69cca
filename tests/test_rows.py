"""What tests are made with here: a table that is folded into one test, and properties with fewer examples by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import examples
from rows import folded


def below(number: int, bound: int) -> None:
    assert number < bound, f"{number} reaches {bound}"


def test_every_row_that_fails_is_told_by_its_name() -> None:
    """All rows are looked at, whichever of them fail and in what way, and the message has their names."""
    rows = [(1, 2), (3, 2), ("x", 2), (0, 2), (2, 2)]
    whole = folded("number, bound", rows, ids=lambda number, _: f"row-{number}")(below)
    with pytest.raises(ExceptionGroup, match="3 of 5 rows: row-3, row-x, row-2") as told:
        whole()
    assert [type(each) for each in told.value.exceptions] == [
        AssertionError, TypeError, AssertionError,
    ]  # fmt: skip
    assert "3 reaches 2" in str(told.value.exceptions[0])
    with pytest.raises(ExceptionGroup, match="1 of 2 rows: 3-2"):
        folded("number, bound", rows[:2])(below)()


def test_rows_that_pass_are_one_test_that_passes() -> None:
    """What a fixture gives comes to each row beside the row's own values."""
    folded("number", [0, 1])(below)(bound=2)


def test_what_cannot_be_folded() -> None:
    """A table without rows would never fail, and rows that write would meet each other."""

    def writes(tmp_path: Path, number: int) -> None:
        raise NotImplementedError

    with pytest.raises(AssertionError, match="no rows"):
        folded("number", [])(below)
    with pytest.raises(AssertionError, match="tmp_path"):
        folded("number", [1])(writes)


def test_a_row_that_skips_fails() -> None:
    """The rows behind it would not be looked at, and nobody would miss them."""

    def skips(number: int) -> None:
        pytest.skip(f"not {number}")

    with pytest.raises(AssertionError, match="may not skip"):
        folded("number", [0, 1])(skips)()


def test_how_many_examples(pytestconfig: pytest.Config) -> None:
    """A fifth in a quick run, but not next to none; all of them wherever slow tests run."""
    quick = pytestconfig.getoption("markexpr") == "not slow"
    assert [examples(each) for each in (10, 60, 500)] == ([10, 20, 100] if quick else [10, 60, 500])
