"""Findings about a command or a tree, which stand in no profile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compiler.diagnostics import Diagnostic
from compiler.workspace import Workspace, check_pin, find


CHECKOUT = Path(__file__).parents[1]
FRAGMENT = "[serve]\nport = 31000\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one fragment."""
    folder = tmp_path / "tree"
    (folder / "profiles" / "base").mkdir(parents=True)
    (folder / "profiles" / "base" / "port.toml").write_text(FRAGMENT)
    return folder


def pin_faults(tree: Path, pin: str, *, version: str = "0.1.0") -> tuple[Diagnostic, ...]:
    """What is said of a tree with this `poolproof.toml`."""
    (tree / "poolproof.toml").write_text(pin)
    return check_pin(Workspace(tree), version=version)


def run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, run in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "compiler", *words],
        cwd=tree,
        env={"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_without_a_tree(tmp_path: Path) -> None:
    """`tree-missing`: neither `profiles/` nor a pin is there or above."""
    found = find((), here=tmp_path)
    assert found.workspace is None
    assert [each.code for each in found.diagnostics] == ["tree-missing"]


def test_a_tree_is_found_from_below(tree: Path) -> None:
    """The nearest folder above that holds `profiles/` is the tree."""
    found = find((), here=tree / "profiles" / "base")
    assert found.workspace == Workspace(tree)


@pytest.mark.parametrize("asked", ["profiles/base/port.toml", "base/port", "base/port.toml"])
def test_a_profile_is_asked_for_by_path_or_name(tree: Path, asked: str) -> None:
    """Its path, its name, and its name with the suffix mean the same."""
    found = find((asked,), here=tree)
    assert (found.names, found.diagnostics) == (("base/port",), ())


def test_a_profile_beside_the_tree(tree: Path) -> None:
    """`profile-outside`: a file that is there and not below `profiles/`."""
    (tree / "loose.toml").write_text(FRAGMENT)
    found = find(("loose.toml", "base/port"), here=tree)
    assert [each.code for each in found.diagnostics] == ["profile-outside"]
    assert found.names == ("base/port",)


@pytest.mark.parametrize("pin", ["", 'requires = ">=0.1,<0.2"\n', 'requires = "==0.1.0"\n'])
def test_a_pin_for_this_compiler(tree: Path, pin: str) -> None:
    """A pin that allows this version, or asks for none, says nothing."""
    assert pin_faults(tree, pin) == ()


@pytest.mark.parametrize("version", ["0.0.9", "0.2.0", "1.0.0"])
def test_a_pin_for_another_compiler(tree: Path, version: str) -> None:
    """`pin-mismatch` shows the pin, and both ways out."""
    (fault,) = pin_faults(tree, '# ours\nrequires = ">=0.1,<0.2"\n', version=version)
    assert fault.code == "pin-mismatch"
    assert fault.primary is not None
    assert (fault.primary.span.file, fault.primary.span.line) == ("poolproof.toml", 2)
    assert version in fault.summary
    assert len(fault.help) == 2


@pytest.mark.parametrize("pin", ['requires = "0.1"\n', "requires = 1\n", "requires =\n", "\udcff"])
def test_a_pin_that_is_no_range(tree: Path, pin: str) -> None:
    """`pin-invalid`: no version range, another type, no TOML, no UTF-8."""
    (tree / "poolproof.toml").write_bytes(pin.encode(errors="surrogateescape"))
    faults = check_pin(Workspace(tree), version="0.1.0")
    assert [each.code for each in faults] == ["pin-invalid"]


def test_a_fragment_is_not_compiled(tree: Path) -> None:
    """`profile-not-deployable`: a fragment that is named has nothing to write."""
    done = run(tree, "compile", "base/port")
    assert done.returncode == 1
    assert "error[profile-not-deployable]" in done.stderr
    assert not (tree / "out").exists()


def test_an_id_that_no_entry_can_have(tree: Path) -> None:
    """`catalogue-id`: an id that cannot be the name of a file below the catalogue."""
    figures = ("--total-mib", "97887", "--compute-capability", "12.0", "--multiprocessors", "188")
    rest = ("--name", "Card", "--interconnect", "pcie", "--source", "a log")
    done = run(tree, "catalog", "add-gpu", "../card", *figures, *rest)
    assert done.returncode == 1
    assert "error[catalogue-id]" in done.stderr
    assert not (tree / "profiles" / "catalog").exists()
