"""Diagnostics as workflow commands, read back as the runner reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import Checkout
from compiler.diagnostics import Label, Span, error, warning
from compiler.report.github import render_github


def span(*, file: str = "a.toml", end_line: int = 3) -> Span:
    """A span from line 3, column 5."""
    return Span(file=file, line=3, column=5, end_line=end_line, end_column=9)


def test_an_error_is_one_command() -> None:
    """Place, title and the whole message stand in one line."""
    found = error(
        "pool-too-small",
        "the pool is too small",
        Label(span(), "one request needs 5"),
        secondary=(Label(span(file="b.toml"), "gives 4"), Label(span(file="c.toml"))),
        notes=("first\nsecond",),
        help=("any of these", "x = 1"),
    )
    assert render_github([found]) == (
        "::error file=a.toml,line=3,endLine=3,col=5,endColumn=9,title=pool-too-small"
        "::the pool is too small%0Aone request needs 5%0Ab.toml:3:5: gives 4%0Ac.toml:3:5"
        "%0Anote: first%0Asecond%0Ahelp: any of these%0Ax = 1\n"
    )


def test_columns_are_not_padded() -> None:
    """The padding of aligned columns is gone, since an annotation has letters of several widths; code keeps its spaces."""
    found = error(
        "x",
        "y",
        notes=("`a  =  1` is  so",),
        help=(
            "any one of these\nfraction = 0.9         100 tokens\n  context = 8_000  200 tokens",
        ),
    )
    assert render_github([found]) == (
        "::error title=x::y%0Anote: `a  =  1` is: so%0Ahelp: any one of these"
        "%0Afraction = 0.9: 100 tokens%0A  context = 8_000: 200 tokens\n"
    )


def test_a_span_over_lines_has_no_columns() -> None:
    """GitHub refuses columns of a span over several lines, so they are left out."""
    found = warning("x", "y", Label(span(end_line=4)))
    assert render_github([found]) == "::warning file=a.toml,line=3,endLine=4,title=x::y\n"


def test_without_a_place_only_the_title_is_given() -> None:
    """A diagnostic that points nowhere annotates the run."""
    assert render_github([error("x", "y")]) == "::error title=x::y\n"


def test_what_ends_a_command_or_a_property_is_escaped() -> None:
    """Per cent, line ends, and in properties colon and comma cannot end what they stand in."""
    found = error("x", "50%: a,b\r\n::set-output", Label(span(file="a:b,c%\n.toml")))
    assert render_github([found]) == (
        "::error file=a%3Ab%2Cc%25%0A.toml,line=3,endLine=3,col=5,endColumn=9,title=x"
        "::50%25: a,b%0D%0A::set-output\n"
    )


def test_control_characters_do_not_reach_the_log() -> None:
    """An escape sequence of a file is a picture in the log too."""
    assert render_github([error("x", "\x1b[31m")]) == "::error title=x::␛[31m\n"


def test_commands_keep_their_order_and_equals_stand_once() -> None:
    """One command a diagnostic, in the order given; equal ones once."""
    found = [warning("b", "y"), error("a", "y"), warning("b", "y")]
    assert render_github(found) == "::warning title=b::y\n::error title=a::y\n"


def test_a_tree_below_the_root_of_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workflow's paths count from the repository's root: a tree below it says where it stands, and one elsewhere does not."""
    tree = Checkout(tmp_path / "infra" / "llm")
    (tree.root / "profiles").mkdir(parents=True)
    tree.write("a", "schema = 2\n[targets.x]\n")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert "file=infra/llm/profiles/a.toml," in tree.run("check", "--format", "github").out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "infra" / "llm"))
    assert "file=profiles/a.toml," in tree.run("check", "--format", "github").out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "other"))
    assert "file=profiles/a.toml," in tree.run("check", "--format", "github").out
