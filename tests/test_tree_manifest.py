"""MANIFEST: how it is written, and that it may be spoilt in any way without losing a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.tree import State, Written, compare, write
from compiler.tree.manifest import ManifestLine, parse_manifest, render_manifest
from examples import examples
from trees import BEFORE, OTHER, SCRIPT, UNIT, compared, file, tree, written


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An `out/` that holds `BEFORE`."""
    return written(tmp_path / "out")


def test_manifest_is_one_sorted_line_a_file(out: Path) -> None:
    """MANIFEST lists every file but itself by path, with digest, mode and profile."""
    lines = (out / "MANIFEST").read_text().split("\n")
    assert lines[0] == "# sha256  mode  path  profile"
    assert [line[64:] for line in lines[1:]] == [
        "  644  k2.6-200k/ct200/kimi.service  k2.6-200k",
        "  755  k2.6-200k/ct200/launch.sh  k2.6-200k",
        "  644  k2.6-32k/plan.json  k2.6-32k",
        "",
    ]


NAMES = st.text("abz019._-", min_size=1, max_size=9).filter(lambda name: name.strip("."))
LINES = st.builds(
    ManifestLine,
    path=st.lists(NAMES.filter(lambda name: name != ".pending"), min_size=1, max_size=4).map(
        "/".join
    ),
    profile=NAMES,
    sha256=st.text("0123456789abcdef", min_size=64, max_size=64),
    executable=st.booleans(),
)


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.frozensets(LINES))
def test_manifest_reads_back_as_it_was_written(lines: frozenset[ManifestLine]) -> None:
    """Every set of lines goes to text and back, in one spelling."""
    parsed = parse_manifest(render_manifest(lines).encode())
    assert frozenset(parsed.lines) == lines
    assert not parsed.faults


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.binary())
def test_any_bytes_are_read_as_a_manifest(content: bytes) -> None:
    """Nothing that may stand in MANIFEST is an exception; what is not as we write it is a fault."""
    parsed = parse_manifest(content)
    assert parsed.faults or render_manifest(parsed.lines).encode() == content


def test_a_manifest_cannot_point_out_of_out(tmp_path: Path) -> None:
    """A line with a path that leaves `out/` is a fault; the file it points at is neither read nor removed."""
    outside = tmp_path / "precious"
    outside.write_text("text")
    out = tmp_path / "out"
    out.mkdir()
    line = ManifestLine.of(file("k/x", "text"))
    text = render_manifest([line]).replace("k/x", "k/../../precious")
    (out / "MANIFEST").write_text(text)
    assert compared(out, tree()) == {"MANIFEST": State.EDITED}
    assert isinstance(write(tree(), root=out, profiles=None, overwrite=True), Written)
    assert outside.read_text() == "text"


def test_a_missing_manifest(out: Path) -> None:
    """Without MANIFEST, files that are right are right, others are in the way, and the rest is foreign."""
    (out / "MANIFEST").unlink()
    assert compared(out) == {"MANIFEST": State.MISSING}
    wanted = tree(file(UNIT, "new\n"), file(SCRIPT, executable=True))
    assert compared(out, wanted) == {
        "MANIFEST": State.MISSING,
        UNIT: State.BLOCKED,
        OTHER: State.FOREIGN,
    }


def spoil(text: str, how: str) -> bytes:
    """A MANIFEST gone wrong in some way."""
    rows = text.split("\n")
    spoilt = {
        "empty": "",
        "cut": text[:-20],
        "no line end": text[:-1],
        "prose": text + "see the wiki\n",
        "order": "\n".join((rows[0], rows[2], rows[1], *rows[3:])),
        "repeated": text + rows[1] + "\n",
        "carriage returns": text.replace("\n", "\r\n"),
        "upper case": text.upper(),
    }
    return b"\xff\x00" + text.encode() if how == "binary" else spoilt[how].encode()


@pytest.mark.parametrize(
    "how",
    [
        "empty",
        "cut",
        "no line end",
        "prose",
        "order",
        "repeated",
        "carriage returns",
        "upper case",
        "binary",
    ],
)
def test_a_manifest_gone_wrong(out: Path, how: str) -> None:
    """However MANIFEST is spoilt, it is said to be edited, and a write puts it right without losing anything."""
    good = (out / "MANIFEST").read_text()
    (out / "MANIFEST").write_bytes(spoil(good, how))
    (out / "mine").write_text("mine")
    found = compared(out)
    assert found.pop("MANIFEST") is State.EDITED
    assert found.pop("mine") is State.FOREIGN
    assert set(found.values()) <= {State.STALE}
    assert isinstance(write(BEFORE, root=out, profiles=None, overwrite=False), Written)
    assert (out / "MANIFEST").read_text() == good
    assert (out / "mine").read_text() == "mine"


def test_lines_count_whatever_ends_them(out: Path) -> None:
    """A MANIFEST that came through a system with other line ends still tells an edit from a foreign file."""
    good = (out / "MANIFEST").read_bytes()
    (out / "MANIFEST").write_bytes(good.replace(b"\n", b"\r\n"))
    (out / UNIT).write_text("edited\n")
    assert compared(out) == {"MANIFEST": State.EDITED, UNIT: State.EDITED}


def test_a_manifest_with_merge_conflicts(out: Path) -> None:
    """Both sides of a conflict are lines of ours: what a merge took from either side is no edit."""
    ours = (out / "MANIFEST").read_text().split("\n")
    theirs = tree(file(UNIT, "theirs\n"), file(SCRIPT, executable=True), file(OTHER))
    row = render_manifest([ManifestLine.of(theirs.files[UNIT])]).split("\n")[1]
    conflict = ["<<<<<<< HEAD", ours[1], "=======", row, ">>>>>>> branch"]
    (out / "MANIFEST").write_text("\n".join((ours[0], *conflict, *ours[2:])))
    merged = tree(file(UNIT, "merged\n"), file(SCRIPT, executable=True), file(OTHER))
    for standing in (file(UNIT).text, "theirs\n"):
        (out / UNIT).write_text(standing)
        assert compared(out, merged) == {"MANIFEST": State.EDITED, UNIT: State.STALE}
    (out / UNIT).write_text("neither\n")
    assert compared(out, merged) == {"MANIFEST": State.EDITED, UNIT: State.EDITED}
    comparison = compare(merged, root=out, profiles=None)
    assert comparison.of(State.EDITED)[0].notes[0] == "line 2 is a merge conflict marker"


@pytest.mark.parametrize("kind", ["link", "directory", "full directory"])
def test_something_else_in_the_place_of_manifest(out: Path, kind: str, tmp_path: Path) -> None:
    """A link in the place of MANIFEST is not followed; a directory is no MANIFEST either."""
    place = out / "MANIFEST"
    place.rename(tmp_path / "MANIFEST")
    if kind == "link":
        place.symlink_to(tmp_path / "MANIFEST")
    else:
        place.mkdir()
        if kind == "full directory":
            (place / "mine").write_text("mine")
    found = compared(out)
    assert found["MANIFEST"] is State.EDITED
    done = write(BEFORE, root=out, profiles=None, overwrite=False)
    if kind == "full directory":
        assert isinstance(done, tuple)
        assert [each.code for each in done] == ["out-foreign"]
        assert (place / "mine").read_text() == "mine"
    else:
        assert isinstance(done, Written)
        assert place.read_text() == (tmp_path / "MANIFEST").read_text()
        assert not place.is_symlink()
