"""A test over a table of rows: a test for all of them, where one for each would cost more than what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature

import pytest


Test = Callable[..., None]
OF_ONE_TEST = ("tmp_path", "monkeypatch", "capsys", "capfd", "caplog")
"""Fixtures that rows would share."""


def _joined(*values: object) -> str:
    return "-".join(map(str, values))


def folded(
    names: str, rows: Iterable[object], *, ids: Callable[..., str] = _joined
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but as one test: every row is looked at, and those that fail are told by their names.

    For tests that look at data or read only; where the test takes what is one test's, `tmp_path` and the like, rows would
    meet each other, so that this is refused.
    """
    table = [*rows]
    keys = [each.strip() for each in names.split(",")]

    def fold(test: Test) -> Test:
        given = signature(test)
        shared = given.parameters.keys() & set(OF_ONE_TEST)
        assert table, f"{test.__name__}: no rows"
        assert not shared, f"{test.__name__}: rows would share {shared}"

        @wraps(test)
        def every_row(**fixtures: object) -> None:
            failed = []
            for row in table:
                values = row if len(keys) > 1 else (row,)
                assert isinstance(values, tuple)
                try:
                    test(**fixtures, **dict(zip(keys, values, strict=True)))
                except pytest.skip.Exception as skip:
                    raise AssertionError(
                        "a row may not skip: the other rows would not be looked at"
                    ) from skip
                except Exception as fault:  # noqa: BLE001 - the other rows are to be looked at too
                    fault.add_note(f"row: {ids(*values)}")
                    failed.append((ids(*values), fault))
            if failed:
                told = ", ".join(name for name, _ in failed)
                raise ExceptionGroup(
                    f"{len(failed)} of {len(table)} rows: {told}", [fault for _, fault in failed]
                )

        left = [each for name, each in given.parameters.items() if name not in keys]
        vars(every_row)["__signature__"] = given.replace(parameters=left)
        return every_row

    return fold
