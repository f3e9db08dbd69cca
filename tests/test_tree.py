"""What `out/` is told to be: the paths of a tree, the states of a comparison, and its diff."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import pytest

from compiler.tree import (
    Comparison,
    OutFile,
    OutTree,
    State,
    assemble,
    compare,
    unified_diff,
)
from trees import BEFORE, OTHER, SCRIPT, UNIT, compared, file, only, states, tree, written


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An `out/` that holds `BEFORE`."""
    return written(tmp_path / "out")


# paths


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "k/../../x",
        "../k/x",
        "k//x",
        "k/./x",
        "k/",
        "k/a b",
        "k/a\tb",
        "k/a\nb",
        "k/a\u2028b",
        "k/a\u00a0b",
        "k/a\x00b",
        "k/a\udcff",
        "k/" + "x" * 256,
        "MANIFEST/x",
        ".pending/x",
    ],
)
def test_a_path_that_cannot_be_written_is_refused(path: str) -> None:
    """A path that leaves `out/`, that MANIFEST cannot hold, or that we need ourselves is no file's."""
    named = OutFile(path=path, text="", profile=path.partition("/")[0])
    found = assemble([named])
    assert not isinstance(found, OutTree)
    assert [each.code for each in found] == ["out-path"]
    assert found[0].summary.isprintable()
    with pytest.raises(ValueError, match="not a path of a tree"):
        OutTree({path: named})


def test_a_file_outside_its_profile_is_refused() -> None:
    """A profile writes into its own folder only, nested names included."""
    inside = OutFile(path="team/k2.6/plan.json", text="", profile="team/k2.6")
    assert isinstance(assemble([inside]), OutTree)
    outside = OutFile(path="team/k2.60/plan.json", text="", profile="team/k2.6")
    found = assemble([outside])
    assert not isinstance(found, OutTree)
    assert "`team/k2.6`" in found[0].summary


def test_two_files_on_one_path_are_refused() -> None:
    """Two profiles that write one path are both named."""
    files = [
        OutFile(path="team/k/x", text="1", profile="team"),
        OutFile(path="team/k/x", text="2", profile="team/k"),
    ]
    found = assemble(files)
    assert not isinstance(found, OutTree)
    assert "both `team` and `team/k`" in found[0].summary


def test_a_file_where_another_needs_a_folder_is_refused() -> None:
    """A file and a folder cannot have one path."""
    found = assemble([file("k/x"), file("k/x/y"), file("k/x/z/w")])
    assert not isinstance(found, OutTree)
    assert ["`k/x`" in each.summary for each in found] == [True, True]


# states


def test_what_was_written_is_current(out: Path) -> None:
    """After a write nothing differs."""
    comparison = compare(BEFORE, root=out, profiles=None)
    assert comparison == Comparison()
    assert comparison.is_current(strict=True)


def test_changed_inputs_are_stale(out: Path) -> None:
    """A file as the last compile wrote it, where the inputs give another one, is stale."""
    wanted = tree(file(UNIT, "new\n"), file(SCRIPT, executable=True), file(OTHER))
    assert compared(out, wanted) == {UNIT: State.STALE}


def test_one_byte_edited(out: Path) -> None:
    """A file with one byte changed by hand is edited."""
    (out / UNIT).write_text((out / UNIT).read_text()[:-1])
    found = only(out)
    assert (found.path, found.state, found.notes) == (UNIT, State.EDITED, ())


def test_edited_and_stale_is_edited(out: Path) -> None:
    """A file both edited and stale is edited, with a note that its inputs changed too."""
    (out / UNIT).write_text("edited\n")
    wanted = tree(file(UNIT, "new\n"), file(SCRIPT, executable=True), file(OTHER))
    found = only(out, wanted)
    assert (found.state, found.notes) == (State.EDITED, ("its inputs changed too",))


def test_a_file_put_right_by_hand_is_stale_in_manifest_only(out: Path) -> None:
    """Bytes that are those produced are right wherever they come from; only the line is behind."""
    (out / UNIT).write_text("new\n")
    wanted = tree(file(UNIT, "new\n"), file(SCRIPT, executable=True), file(OTHER))
    found = only(out, wanted)
    assert found.state is State.STALE
    assert found.standing == found.wanted


def test_a_deleted_file_is_missing(out: Path) -> None:
    """A file of MANIFEST that is not there is missing."""
    (out / UNIT).unlink()
    assert compared(out) == {UNIT: State.MISSING}


def test_a_new_file_is_missing(out: Path) -> None:
    """A file that no compile has written yet is missing too."""
    wanted = tree(*BEFORE.files.values(), file("new/plan.json"))
    found = only(out, wanted)
    assert (found.path, found.state, found.notes) == (
        "new/plan.json",
        State.MISSING,
        ("it was never written",),
    )


def test_without_a_manifest_nobody_knows_what_was_written(out: Path) -> None:
    """Files of an `out/` that was taken away are missing, and nothing is claimed of what was there."""
    (out / UNIT).unlink()
    (out / "MANIFEST").unlink()
    found = {each.path: each for each in compare(BEFORE, root=out, profiles=None).differences}
    assert (found[UNIT].state, found[UNIT].notes) == (State.MISSING, ())


def test_a_removed_profile_leaves_orphans(out: Path) -> None:
    """Files of MANIFEST that nothing produces any more are orphans; one that is gone leaves its line."""
    (out / SCRIPT).unlink()
    comparison = compare(tree(file(OTHER)), root=out, profiles=None)
    assert states(comparison) == {UNIT: State.ORPHAN, SCRIPT: State.ORPHAN}
    assert [bool(each.notes) for each in comparison.differences] == [False, True]


def test_an_edited_orphan_is_edited(out: Path) -> None:
    """An orphan that somebody changed is edited, since taking it away would lose that."""
    (out / OTHER).write_text("edited\n")
    found = only(out, tree(file(UNIT), file(SCRIPT, executable=True)))
    assert (found.state, found.notes) == (State.EDITED, ("it is no longer produced",))


def test_foreign_files_are_listed_and_tolerated(out: Path) -> None:
    """A file nobody knows is foreign; it counts only when strict."""
    (out / "k2.6-200k" / "notes.txt").write_text("mine")
    (out / "link").symlink_to("/etc")
    comparison = compare(BEFORE, root=out, profiles=None)
    assert states(comparison) == {"k2.6-200k/notes.txt": State.FOREIGN, "link": State.FOREIGN}
    assert comparison.is_current()
    assert not comparison.is_current(strict=True)


def test_a_foreign_name_is_shown_on_one_line(out: Path) -> None:
    """Whatever bytes a foreign name has, it can be printed."""
    (out / os.fsdecode(b"a\nb\xff")).write_text("")
    (path,) = compared(out)
    assert path.isprintable()
    path.encode()


def test_a_foreign_file_in_the_way_blocks(out: Path) -> None:
    """A file nobody wrote, where one must go, is not foreign but blocked."""
    (out / "new").mkdir()
    (out / "new" / "plan.json").write_text("mine")
    wanted = tree(*BEFORE.files.values(), file("new/plan.json"))
    comparison = compare(wanted, root=out, profiles=None)
    assert states(comparison) == {"new/plan.json": State.BLOCKED}
    assert not comparison.is_current()


@pytest.mark.parametrize("path", [UNIT, SCRIPT])
def test_the_executable_bit_counts(out: Path, path: str) -> None:
    """A changed executable bit is an edit; other bits are not compared."""
    bits = (out / path).stat().st_mode
    (out / path).chmod(bits ^ 0o044)
    assert compared(out) == {}
    (out / path).chmod(bits ^ 0o100)
    assert compared(out) == {path: State.EDITED}


def test_a_mode_that_inputs_changed_is_stale(out: Path) -> None:
    """A file that becomes executable by its inputs is stale."""
    wanted = tree(file(UNIT, executable=True), file(SCRIPT, executable=True), file(OTHER))
    assert compared(out, wanted) == {UNIT: State.STALE}


@pytest.mark.parametrize(
    "kind", ["link", "dangling link", "directory", "full directory", "fifo", "socket"]
)
def test_something_else_in_the_place_of_a_file(
    out: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link, a directory or a special file in the place of a file is an edit; a link is not followed."""
    place = out / UNIT
    content = place.read_text()
    place.unlink()
    if kind == "link":
        (tmp_path / "same").write_text(content)
        place.symlink_to(tmp_path / "same")
    elif kind == "dangling link":
        place.symlink_to("nowhere")
    elif kind == "directory":
        place.mkdir()
    elif kind == "full directory":
        place.mkdir()
        (place / "mine").write_text("")
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        monkeypatch.chdir(place.parent)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place.name)
    found = {each.path: each for each in compare(BEFORE, root=out, profiles=None).differences}
    assert found[UNIT].state is State.EDITED
    assert found[UNIT].notes
    assert found[UNIT].immovable is (kind == "full directory")
    assert set(found) - {UNIT} == ({f"{UNIT}/mine"} if kind == "full directory" else set())


def test_a_link_in_the_place_of_a_folder_is_not_followed(out: Path, tmp_path: Path) -> None:
    """Files behind a linked folder are not ours, even when they are equal."""
    (out / "k2.6-200k").rename(tmp_path / "elsewhere")
    (out / "k2.6-200k").symlink_to(tmp_path / "elsewhere")
    assert compared(out) == {UNIT: State.EDITED, SCRIPT: State.EDITED}


def test_a_file_in_the_place_of_a_folder(out: Path) -> None:
    """A file where a folder should be makes every file below it an edit."""
    (out / OTHER).unlink()
    (out / "k2.6-32k").rmdir()
    (out / "k2.6-32k").write_text("mine")
    assert compared(out) == {OTHER: State.EDITED}


def test_out_itself_may_be_a_link(out: Path, tmp_path: Path) -> None:
    """`out/` may be a symlink to a directory."""
    link = tmp_path / "link"
    link.symlink_to(out)
    assert compared(link) == {}
    (out / UNIT).unlink()
    assert compared(link) == {UNIT: State.MISSING}


def test_without_out_everything_is_missing(tmp_path: Path) -> None:
    """Where there is no `out/`, all of it is missing; an empty tree misses nothing."""
    out = tmp_path / "out"
    assert set(compared(out).values()) == {State.MISSING}
    assert set(compared(out)) == {*BEFORE.files, "MANIFEST"}
    assert compared(out, tree()) == {}
    assert not out.exists()


def test_out_that_is_a_file_is_said(tmp_path: Path) -> None:
    """A file called `out` is a diagnostic."""
    (tmp_path / "out").write_text("")
    comparison = compare(BEFORE, root=tmp_path / "out", profiles=None)
    assert [each.code for each in comparison.diagnostics] == ["out-unreadable"]
    assert not comparison.is_current()


def test_a_comparison_waits_for_a_compile(out: Path) -> None:
    """While another process holds the lock for writing, a comparison is refused rather than wrong."""
    holder = os.open(out, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    comparison = compare(BEFORE, root=out, profiles=None, wait_s=0.1)
    assert [each.code for each in comparison.diagnostics] == ["out-busy"]
    os.close(holder)
    assert compared(out) == {}


def test_two_comparisons_at_once(out: Path) -> None:
    """Readers do not wait for each other."""
    holder = os.open(out, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    assert compared(out) == {}
    os.close(holder)


# some profiles only


def test_names_look_at_their_own_only(out: Path) -> None:
    """With names, other profiles' files, foreign files elsewhere and the form of MANIFEST are left out."""
    (out / OTHER).write_text("edited\n")
    (out / "k2.6-32k" / "mine").write_text("")
    (out / "mine").write_text("")
    (out / "MANIFEST").write_text((out / "MANIFEST").read_text() + "prose\n")
    assert compared(out, BEFORE, "k2.6-200k") == {}
    assert compared(out, BEFORE, "k2.6-32k") == {
        OTHER: State.EDITED,
        "k2.6-32k/mine": State.FOREIGN,
    }


def test_names_find_their_orphans(out: Path) -> None:
    """With names, a file that a profile no longer produces is its orphan, and others' are not looked for."""
    assert compared(out, tree(file(UNIT)), "k2.6-200k") == {SCRIPT: State.ORPHAN}


def test_nested_names_do_not_claim_each_other(tmp_path: Path) -> None:
    """The files of `team/k` are not foreign to `team`, whose folder they stand in."""
    out = tmp_path / "out"
    outer = OutFile(path="team/plan.json", text="1", profile="team")
    inner = OutFile(path="team/k/plan.json", text="2", profile="team/k")
    both = tree(outer, inner)
    written(out, both)
    assert compared(out, both, "team") == {}
    assert compared(out, both, "team/k") == {}


def test_a_name_that_leaves_out_is_not_surveyed(out: Path) -> None:
    """A profile's name never leads out of `out/`."""
    (out.parent / "mine").write_text("")
    assert compared(out, BEFORE, "..", "k2.6-32k") == {}


# the diff


def test_the_diff_shows_what_a_compile_would_change(out: Path) -> None:
    """Changed, new and removed files appear as a unified diff; foreign ones do not."""
    (out / "mine").write_text("mine\n")
    wanted = tree(file(UNIT, "one\ntwo"), file(SCRIPT), file("new/plan.json", "{}\n"))
    comparison = compare(wanted, root=out, profiles=None)
    assert unified_diff(comparison) == (
        f"""\
--- out/{UNIT}
+++ out/{UNIT}
@@ -1 +1,2 @@
-text of {UNIT}
+one
+two
\\ No newline at end of file
--- out/{SCRIPT}
+++ out/{SCRIPT}
mode 755 -> 644
--- out/{OTHER}
+++ /dev/null
@@ -1 +0,0 @@
-text of {OTHER}
--- /dev/null
+++ out/new/plan.json
@@ -0,0 +1 @@
+{{}}
"""
    )


def test_the_diff_of_bytes_that_are_no_text(out: Path) -> None:
    """An edited file that is no UTF-8, or holds strange line ends, is still shown line by line."""
    (out / OTHER).write_bytes(b"a\xff\x0b\xe2\x80\xa8b\r\n")
    text = unified_diff(compare(BEFORE, root=out, profiles=None))
    assert "-a\\xff\x0b\u2028b\r\n+text of" in text


def test_the_diff_of_nothing_is_empty(out: Path) -> None:
    """Where all is current there is no diff."""
    assert unified_diff(compare(BEFORE, root=out, profiles=None)) == ""
