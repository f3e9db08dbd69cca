"""Compiled templates are kept as Python keeps modules; what is kept never changes what is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from types import CodeType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, nodes

from compiler.render import templates
from compiler.render.bytecode import kept_code
from examples import examples


class Compiler:
    """Gives the code of an expression, and counts how often it was asked."""

    def __init__(self, text: str = "6 * 7") -> None:
        self.text = text
        self.asked = 0

    def __call__(self) -> CodeType:
        """The code."""
        self.asked += 1
        return compile(self.text, "x", "eval")


@pytest.fixture(autouse=True)
def _bytecode_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def value_of(source: Path, compiled: Callable[[], CodeType], *, depends: bytes = b"1") -> object:
    return eval(kept_code(source, kind="x", depends=depends, compiled=compiled))


def kept_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_code_is_compiled_once(tmp_path: Path) -> None:
    """The second to ask gets what the first has left, in the one file that is left."""
    compiled = Compiler()
    assert value_of(tmp_path / "a.j2", compiled) == value_of(tmp_path / "a.j2", compiled) == 42
    assert compiled.asked == 1
    tag = sys.implementation.cache_tag
    assert kept_in(tmp_path) == [tmp_path / "__pycache__" / f"a.{tag}.opt-x.pyc"]


def test_what_code_depends_on_makes_it_anew(tmp_path: Path) -> None:
    """Another template, or another jinja2, gets no code of the old one."""
    source = tmp_path / "a.j2"
    assert value_of(source, Compiler("1"), depends=b"1") == 1
    assert value_of(source, Compiler("2"), depends=b"2") == 2
    assert value_of(source, Compiler("3"), depends=b"2") == 2


@given(data=st.data())
@settings(derandomize=True, deadline=None, max_examples=examples(100))
def test_damaged_code_is_as_good_as_none(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cut off at any byte, or with any byte changed, it is compiled and kept again."""
    source = tmp_path_factory.mktemp("kept") / "a.j2"
    value_of(source, Compiler())
    (kept,) = kept_in(source.parent)
    whole = kept.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytes([whole[place] ^ data.draw(st.integers(1, 255))])
    kept.write_bytes(
        whole[:place] + data.draw(st.sampled_from([b"", changed + whole[place + 1 :]]))
    )
    compiled = Compiler()
    assert value_of(source, compiled) == 42
    assert compiled.asked == 1
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\0" * 4096])
def test_a_file_of_somebody_else_is_no_code(content: bytes, tmp_path: Path) -> None:
    """What we did not write is not read as code."""
    value_of(tmp_path / "a.j2", Compiler())
    (kept,) = kept_in(tmp_path)
    kept.write_bytes(content)
    assert value_of(tmp_path / "a.j2", Compiler()) == 42


def test_code_is_not_kept_where_python_keeps_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PYTHONDONTWRITEBYTECODE` is for us, too."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert value_of(tmp_path / "a.j2", Compiler()) == 42
    assert kept_in(tmp_path) == []


def test_code_is_kept_where_python_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PYTHONPYCACHEPREFIX` moves ours with the modules'."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
    source = tmp_path / "templates" / "a.j2"
    assert value_of(source, Compiler()) == 42
    assert [path.is_relative_to(tmp_path / "elsewhere") for path in kept_in(tmp_path)] == [True]


def test_an_interpreter_without_bytecode_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Python has no place for bytecode, nothing is kept and nothing is missed."""
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert value_of(tmp_path / "a.j2", Compiler()) == 42
    assert kept_in(tmp_path) == []


@pytest.mark.parametrize("blocked", ["__pycache__", "__pycache__/folder"])
def test_what_cannot_be_kept_is_not_missed(blocked: str, tmp_path: Path) -> None:
    """Where something else stands in its place, code is compiled and nothing is left behind."""
    source = tmp_path / "a.j2"
    if blocked == "__pycache__":
        (tmp_path / blocked).write_text("a file")
    else:
        value_of(source, Compiler())
        (kept,) = kept_in(tmp_path)
        kept.unlink()
        (kept / "folder").mkdir(parents=True)
    before = kept_in(tmp_path)
    assert value_of(source, Compiler()) == 42
    assert kept_in(tmp_path) == before


def test_kept_templates_write_what_fresh_ones_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a kept template comes the same text, and from an edited one the new text."""

    def filled(place: str) -> str:
        monkeypatch.setattr(templates, "folder", lambda: tmp_path / place)
        return templates.fill("x.j2", name="n")

    template = tmp_path / "fresh" / "x.j2"
    template.parent.mkdir()
    template.write_text("{% if name %}\n# {{ name | comment }}\n{% endif %}\n", encoding="utf-8")
    assert filled("fresh") == "# n\n"
    copytree(tmp_path / "fresh", tmp_path / "kept")
    assert filled("kept") == "# n\n"
    assert len(kept_in(tmp_path)) == 4
    copytree(tmp_path / "fresh", tmp_path / "edited")
    (tmp_path / "edited" / "x.j2").write_text("{{ name | comment }}", encoding="utf-8")
    assert filled("edited") == "n"


@pytest.mark.parametrize(
    "path", sorted(templates.folder().glob("*.j2")), ids=lambda path: path.name
)
def test_no_template_encodes_what_it_says_itself(path: Path) -> None:
    """jinja2 encodes a constant when it compiles, and a kept template would not follow its encoder."""
    tree = Environment(autoescape=False).parse(path.read_text(encoding="utf-8"))
    for encoded in tree.find_all(nodes.Filter):
        assert encoded.find(nodes.Name) is not None, f"line {encoded.lineno}"
