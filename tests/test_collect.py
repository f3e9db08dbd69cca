"""Rules are found by where their files stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.rules import collect


RULE = """\
from compiler.rules import rule


@rule("{code}")
def judge(plan, where):
    yield from ()
"""


def test_a_file_in_the_folder_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file's rules are collected in the order of their codes; what stands in a folder below is not even loaded."""
    package = tmp_path / "some_rules"
    (package / "later").mkdir(parents=True)
    (package / "__init__.py").write_text("", "utf-8")
    (package / "later" / "__init__.py").write_text("raise AssertionError", "utf-8")
    for code in ("b-code", "a-code"):
        (package / f"{code[0]}.py").write_text(RULE.format(code=code), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("some_rules")
    assert [each.codes for each in collect("some_rules")] == [("a-code",), ("b-code",)]
