"""Small trees for the tests of `out/`, and what stands on the disk against what should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from compiler.tree import (
    Comparison,
    Difference,
    OutFile,
    OutTree,
    State,
    Written,
    assemble,
    compare,
    write,
)
from compiler.tree.manifest import ManifestLine, render_manifest


UNIT = "k2.6-200k/ct200/kimi.service"
SCRIPT = "k2.6-200k/ct200/launch.sh"
OTHER = "k2.6-32k/plan.json"


def file(path: str, text: str | None = None, *, executable: bool = False) -> OutFile:
    """A file of the profile its path begins with."""
    text = f"text of {path}\n" if text is None else text
    return OutFile(path=path, text=text, executable=executable, profile=path.partition("/")[0])


def tree(*files: OutFile) -> OutTree:
    """A tree of these files."""
    made = assemble(files)
    assert isinstance(made, OutTree)
    return made


BEFORE = tree(file(UNIT), file(SCRIPT, executable=True), file(OTHER))


def written(root: Path, wanted: OutTree = BEFORE) -> Path:
    """An `out/` that holds a tree, as a compile wrote it."""
    assert isinstance(write(wanted, root=root, profiles=None, overwrite=False), Written)
    return root


def states(comparison: Comparison) -> dict[str, State]:
    """The state of each path that differs."""
    assert not comparison.diagnostics
    return {each.path: each.state for each in comparison.differences}


def compared(out: Path, wanted: OutTree = BEFORE, *names: str) -> dict[str, State]:
    """The states of a comparison for these profiles; for all without names."""
    return states(compare(wanted, root=out, profiles=frozenset(names) if names else None))


def only(out: Path, wanted: OutTree = BEFORE) -> Difference:
    """The only difference of a comparison."""
    comparison = compare(wanted, root=out, profiles=None)
    assert len(comparison.differences) == 1
    return comparison.differences[0]


def expected(wanted: OutTree) -> dict[str, tuple[bytes, bool]]:
    """Everything that should stand in `out/` for a tree: bytes and executable bit by path."""
    manifest = render_manifest(ManifestLine.of(each) for each in wanted.files.values()).encode()
    files = {each.path: (each.text.encode(), each.executable) for each in wanted.files.values()}
    return {**files, "MANIFEST": (manifest, False)}


def standing(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Everything that stands in `out/`, folders without a file included as empty ones."""
    found = {}
    for place in root.rglob("*"):
        name = str(place.relative_to(root))
        if place.is_file():
            found[name] = (place.read_bytes(), bool(place.stat().st_mode & 0o100))
        elif not any(place.iterdir()):
            found[name] = (b"an empty folder", False)
    return found


def in_child(script: str, *words: object) -> subprocess.Popen[str]:
    """A process of its own that runs a script, which finds this module's names and its words in `sys.argv`."""
    prelude = "import hashlib, os, signal, sys\nfrom pathlib import Path\nsys.path[:0] = ['tests']\nfrom trees import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", prelude + script, *map(str, words)],
        cwd=Path(__file__).parents[1],
        stderr=subprocess.PIPE,
        text=True,
    )


def succeeds(process: subprocess.Popen[str]) -> None:
    """A process of `in_child` ends well."""
    errors = process.communicate()[1]
    assert (process.returncode, errors) == (0, ""), errors
