"""Public files that start SGLang, each as the file it is: what is read of them, or why nothing is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launching import outcome, read_text


FILES = Path(__file__).parent / "data" / "launch-files.jsonl"
REFUSING = {
    "launch-several",
    "launch-missing",
    "launch-unreadable",
    "launch-refused",
    "release-unknown",
}


def rows() -> Iterator[Any]:
    for line in FILES.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield pytest.param(row, id=row["id"])


@pytest.mark.parametrize("row", list(rows()))
def test_a_public_file(row: dict[str, Any]) -> None:
    """It comes to its settings and is compiled to the same, with what it leaves open; or it is refused, with the reason."""
    got = outcome(read_text(row["text"], name=row["name"]), version=None)
    assert [
        each for each in got.codes if each in {*REFUSING, "launch-lost", "launch-diffusion"}
    ] == row["codes"]
    assert "launch-unfaithful" not in got.codes
    if "settings" not in row:
        assert set(row["codes"]) & {*REFUSING, "launch-lost"}
        assert not got.text
        return
    assert got.text
    assert got.adopted is not None
    unsaid = got.adopted.unsaid
    settings = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in got.settings.items()
        if name not in unsaid
    }
    assert {name: settings.get(name) for name in row["settings"]} == row["settings"]
    assert [each.flag for each in got.adopted.chosen.reading.open] == row["open"]
