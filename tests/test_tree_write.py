"""Writing `out/`: what is touched, what is refused, and a machine that would not."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.tree import OutFile, OutTree, State, Written, write
from trees import (
    BEFORE,
    OTHER,
    SCRIPT,
    UNIT,
    compared,
    expected,
    file,
    in_child,
    standing,
    succeeds,
    tree,
    written,
)


AFTER = tree(file(UNIT, "new\n"), file(SCRIPT), file("k2.6-200k/PLAN.md"))
NOBODY = 65534


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An `out/` that holds `BEFORE`."""
    return written(tmp_path / "out")


def attempt(
    out: Path, wanted: OutTree, *names: str, overwrite: bool = False
) -> Written | list[str]:
    """What a write did, or the codes of its diagnostics."""
    profiles = frozenset(names) if names else None
    done = write(wanted, root=out, profiles=profiles, overwrite=overwrite, wait_s=0.1)
    return done if isinstance(done, Written) else [each.code for each in done]


# what is written


def test_a_write_makes_the_tree(out: Path) -> None:
    """Afterwards exactly the tree stands there, orphans and their folders are gone, and MANIFEST fits."""
    assert attempt(out, AFTER) == Written(
        written=("k2.6-200k/PLAN.md", UNIT, SCRIPT), removed=(OTHER,), unchanged=0
    )
    assert standing(out) == expected(AFTER)
    assert compared(out, AFTER) == {}


def test_a_first_write_makes_out(tmp_path: Path) -> None:
    """`out/` is made when it is not there, and files have mode 644 or 755 whatever the umask is."""
    umask = os.umask(0o077)
    try:
        out = written(tmp_path / "out")
    finally:
        os.umask(umask)
    assert standing(out) == expected(BEFORE)
    modes = [(out / path).stat().st_mode & 0o777 for path in (UNIT, SCRIPT, "MANIFEST")]
    assert modes == [0o644, 0o755, 0o644]


def test_nothing_to_write_makes_nothing(tmp_path: Path) -> None:
    """An empty tree makes no `out/`; once there is a MANIFEST, it is kept without lines."""
    out = tmp_path / "out"
    assert attempt(out, tree()) == Written()
    assert not out.exists()
    out.mkdir()
    assert attempt(out, tree()) == Written()
    assert standing(out) == {}
    written(out)
    attempt(out, tree())
    assert standing(out) == expected(tree())


def test_what_is_right_is_not_touched(out: Path) -> None:
    """A file whose bytes and mode are right keeps its inode and the times of its last change, MANIFEST included."""

    def marks() -> dict[str, tuple[int, int, int]]:
        stats = {path: (out / path).stat() for path in expected(BEFORE)}
        return {path: (at.st_ino, at.st_mtime_ns, at.st_ctime_ns) for path, at in stats.items()}

    before = marks()
    assert attempt(out, BEFORE) == Written(unchanged=3)
    assert marks() == before
    assert isinstance(attempt(out, tree(*BEFORE.files.values(), file("new/x"))), Written)
    assert all(marks()[path] == before[path] for path in BEFORE.files)


def test_a_mode_alone_is_written(out: Path) -> None:
    """A file that only becomes executable is written."""
    wanted = tree(file(UNIT, executable=True), file(SCRIPT, executable=True), file(OTHER))
    assert attempt(out, wanted) == Written(written=(UNIT,), unchanged=2)
    assert standing(out) == expected(wanted)


def test_text_arrives_byte_by_byte(tmp_path: Path) -> None:
    """Line ends and letters are written as they are."""
    wanted = tree(file("k/x", "a\r\nb\rc\n\u00e9\u2028\x00"), file("k/empty", ""))
    assert standing(written(tmp_path / "out", wanted)) == expected(wanted)


def test_a_write_the_system_takes_in_pieces(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system takes fewer bytes than it is given, the rest follows."""
    whole = os.write
    monkeypatch.setattr(os, "write", lambda place, content: whole(place, content[:7]))
    assert isinstance(attempt(out, AFTER), Written)
    assert standing(out) == expected(AFTER)


def test_out_may_be_a_link(out: Path, tmp_path: Path) -> None:
    """A write goes through an `out/` that is a symlink, and leaves it one."""
    link = tmp_path / "link"
    link.symlink_to(out)
    assert isinstance(attempt(link, AFTER), Written)
    assert link.is_symlink()
    assert standing(out) == expected(AFTER)


def test_foreign_files_are_left_alone(out: Path) -> None:
    """What nobody produced stays, and so does a folder it stands in."""
    mine = out / "k2.6-32k" / "mine"
    mine.write_text("mine")
    done = attempt(out, AFTER)
    assert isinstance(done, Written)
    assert done.foreign == ("k2.6-32k/mine",)
    assert mine.read_text() == "mine"


def test_an_orphan_that_is_gone_leaves_no_line(out: Path) -> None:
    """The line and the empty folder of an orphan that somebody deleted go with the next write."""
    (out / OTHER).unlink()
    assert isinstance(attempt(out, AFTER), Written)
    assert standing(out) == expected(AFTER)


def test_names_write_their_own_only(out: Path) -> None:
    """With names, other profiles' files and lines stay as they are, edited or not."""
    (out / OTHER).write_text("edited\n")
    assert isinstance(attempt(out, AFTER, "k2.6-200k"), Written)
    both = expected(tree(*AFTER.files.values(), file(OTHER)))
    assert standing(out) == {**both, OTHER: (b"edited\n", False)}
    assert compared(out, BEFORE, "k2.6-32k") == {OTHER: State.EDITED}


def test_names_remove_their_orphans(out: Path) -> None:
    """With names, a named profile that produces nothing loses its files, and nobody else does."""
    assert attempt(out, tree(), "k2.6-200k") == Written(removed=(UNIT, SCRIPT))
    assert standing(out) == expected(tree(file(OTHER)))


def test_names_settle_a_merge_for_the_others(out: Path) -> None:
    """After a merge with conflicts in MANIFEST, a run for one profile keeps for the others what stands there."""
    theirs = written(out.parent / "theirs", tree(file(OTHER, "theirs\n")))
    ours, other = ((each / "MANIFEST").read_text() for each in (out, theirs))
    (out / "MANIFEST").write_text(f"<<<<<<< HEAD\n{ours}=======\n{other}>>>>>>> theirs\n")
    (out / OTHER).write_text("theirs\n")
    assert isinstance(attempt(out, BEFORE, "k2.6-200k"), Written)
    merged = tree(file(UNIT), file(SCRIPT, executable=True), file(OTHER, "theirs\n"))
    assert standing(out) == expected(merged)


# what is refused


def refused(out: Path, wanted: OutTree, code: str) -> None:
    """A write is refused for one reason and changes nothing, and the message names the way out."""
    before = standing(out)
    done = write(wanted, root=out, profiles=None, overwrite=False)
    assert not isinstance(done, Written)
    assert [each.code for each in done] == [code]
    assert "--overwrite" in done[0].help[0]
    assert standing(out) == before


def test_an_edited_file_is_not_written_over(out: Path) -> None:
    """A hand-edited file refuses the whole run before anything is written; `overwrite` goes over it."""
    (out / UNIT).write_text("edited\n")
    refused(out, AFTER, "out-edited")
    assert attempt(out, AFTER, overwrite=True) == Written(
        written=("k2.6-200k/PLAN.md", UNIT, SCRIPT), removed=(OTHER,)
    )
    assert standing(out) == expected(AFTER)


def test_an_edited_orphan_is_not_removed(out: Path) -> None:
    """An orphan that somebody edited is kept, unless told otherwise."""
    (out / OTHER).write_text("edited\n")
    refused(out, AFTER, "out-edited")
    assert isinstance(attempt(out, AFTER, overwrite=True), Written)
    assert standing(out) == expected(AFTER)


def test_a_foreign_file_is_not_written_over(out: Path) -> None:
    """A file nobody wrote, where one must go, refuses the run; `overwrite` goes over it."""
    (out / "k2.6-200k" / "PLAN.md").write_text("mine")
    refused(out, AFTER, "out-foreign")
    assert isinstance(attempt(out, AFTER, overwrite=True), Written)
    assert standing(out) == expected(AFTER)


def test_each_reason_is_given(out: Path) -> None:
    """Edited and foreign files are told apart in one refusal, each with its paths."""
    (out / UNIT).write_text("edited\n")
    (out / "k2.6-200k" / "PLAN.md").write_text("mine")
    done = write(AFTER, root=out, profiles=None, overwrite=False)
    assert not isinstance(done, Written)
    assert [(each.code, each.notes) for each in done] == [
        ("out-edited", (f"`{UNIT}`; its inputs changed too",)),
        ("out-foreign", ("`k2.6-200k/PLAN.md`",)),
    ]


def test_an_edit_that_is_what_is_produced_is_no_reason(out: Path) -> None:
    """A file that somebody already made what it must be is fine, and only its line is written."""
    (out / UNIT).write_text("new\n")
    done = attempt(out, AFTER)
    assert isinstance(done, Written)
    assert UNIT not in done.written
    assert standing(out) == expected(AFTER)


def test_links_are_replaced_never_followed(out: Path, tmp_path: Path) -> None:
    """With `overwrite`, a link in the place of a file, a folder or an orphan goes, and what it leads to stays."""
    elsewhere = tmp_path / "elsewhere"
    (out / "k2.6-200k").rename(elsewhere)
    (out / "k2.6-200k").symlink_to(elsewhere)
    (out / OTHER).unlink()
    (out / OTHER).symlink_to(elsewhere / "ct200" / "launch.sh")
    before = standing(elsewhere)
    assert attempt(out, AFTER) == ["out-edited", "out-foreign"]
    assert isinstance(attempt(out, AFTER, overwrite=True), Written)
    assert standing(out) == expected(AFTER)
    assert standing(elsewhere) == before


def test_orphans_behind_a_link_are_not_removed(out: Path, tmp_path: Path) -> None:
    """An orphan whose folder became a link is gone; what is behind the link is somebody's, empty folders too."""
    elsewhere = tmp_path / "elsewhere"
    (out / "k2.6-200k").rename(elsewhere)
    (out / "k2.6-200k").symlink_to(elsewhere)
    before = standing(elsewhere)
    assert attempt(out, tree(file(OTHER))) == Written(unchanged=1, foreign=("k2.6-200k",))
    assert standing(elsewhere) == before
    written(out, tree(file(OTHER), file("new/x")))
    (out / "new").rename(tmp_path / "new")
    (out / "new").symlink_to(tmp_path / "new")
    (tmp_path / "new" / "x").unlink()
    assert isinstance(attempt(out, tree(file(OTHER))), Written)
    assert (tmp_path / "new").is_dir()
    assert compared(out, tree(file(OTHER))) == dict.fromkeys(("k2.6-200k", "new"), State.FOREIGN)


def test_a_directory_in_the_place_of_an_orphan(out: Path) -> None:
    """A directory where an orphan was is somebody's; only the line of the orphan goes."""
    (out / OTHER).unlink()
    (out / OTHER).mkdir()
    (out / OTHER / "mine").write_text("mine")
    done = attempt(out, tree(file(UNIT), file(SCRIPT, executable=True)))
    assert done == Written(unchanged=2, foreign=(f"{OTHER}/mine",))
    assert (out / OTHER / "mine").read_text() == "mine"
    assert OTHER not in (out / "MANIFEST").read_text()


@pytest.mark.parametrize("full", [False, True])
def test_a_directory_in_the_place_of_a_file(out: Path, full: bool) -> None:  # noqa: FBT001 - a parameter
    """With `overwrite` an empty directory gives way; one with anything in it never does."""
    (out / UNIT).unlink()
    (out / UNIT / "a" / "b").mkdir(parents=True)
    if full:
        (out / UNIT / "a" / "mine").write_text("mine")
    before = standing(out)
    done = attempt(out, AFTER, overwrite=True)
    if full:
        assert done == ["out-foreign"]
        assert standing(out) == before
    else:
        assert isinstance(done, Written)
        assert standing(out) == expected(AFTER)


@pytest.mark.parametrize("kind", ["file", "link", "folder with something"])
def test_our_working_folder_taken_by_somebody(out: Path, kind: str, tmp_path: Path) -> None:
    """A file or a link called `.pending` is in the way; what stands beside our files in the folder stays."""
    pending = out / ".pending"
    if kind == "folder with something":
        pending.mkdir()
        (pending / "mine").write_text("mine")
        assert compared(out) == {".pending/mine": State.FOREIGN}
        assert isinstance(attempt(out, AFTER), Written)
        assert (pending / "mine").read_text() == "mine"
        assert compared(out, AFTER) == {".pending/mine": State.FOREIGN}
        return
    if kind == "file":
        pending.write_text("mine")
    else:
        pending.symlink_to(tmp_path)
    assert compared(out) == {".pending": State.BLOCKED}
    refused(out, AFTER, "out-foreign")
    assert isinstance(attempt(out, AFTER, overwrite=True), Written)
    assert standing(out) == expected(AFTER)


def test_a_file_becomes_a_folder_and_back(tmp_path: Path) -> None:
    """An orphan gives way to a folder of the same name, and an orphaned folder to a file."""
    flat = tree(file("k/x"))
    deep = tree(OutFile(path="k/x/y", text="deep\n", profile="k"))
    out = written(tmp_path / "out", flat)
    for wanted in (deep, flat):
        assert isinstance(attempt(out, wanted, overwrite=True), Written)
        assert standing(out) == expected(wanted)


# a machine that would not


def test_out_that_is_a_file(tmp_path: Path) -> None:
    """A file called `out` is a diagnostic, and stays."""
    out = tmp_path / "out"
    out.write_text("mine")
    assert attempt(out, BEFORE) == ["out-unwritable"]
    assert out.read_text() == "mine"


def test_out_without_a_parent(tmp_path: Path) -> None:
    """An `out/` that cannot be made is a diagnostic with the system's reason and the place."""
    out = tmp_path / "nowhere" / "out"
    done = write(BEFORE, root=out, profiles=None, overwrite=False)
    assert not isinstance(done, Written)
    assert done[0].code == "out-unwritable"
    assert "no such file or directory" in done[0].summary
    assert done[0].notes == (f"at `{out}`", "nothing was changed")


def test_one_compile_at_a_time(out: Path) -> None:
    """While another process holds the lock, for reading or writing, a write waits, then refuses."""
    for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
        holder = os.open(out, os.O_RDONLY)
        fcntl.flock(holder, kind)
        assert attempt(out, AFTER) == ["out-busy"]
        os.close(holder)
    assert standing(out) == expected(BEFORE)
    assert isinstance(attempt(out, AFTER), Written)


def test_a_compile_waits_for_a_short_one(out: Path) -> None:
    """A lock that is given back in time is waited for."""
    holder = os.open(out, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    release = threading.Timer(0.2, os.close, (holder,))
    release.start()
    done = write(AFTER, root=out, profiles=None, overwrite=False, wait_s=5)
    release.join()
    assert isinstance(done, Written)


def test_no_locks_on_this_file_system(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system has no locks, a write goes on without."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert isinstance(attempt(out, AFTER), Written)


def test_many_compiles_at_once(out: Path) -> None:
    """Processes that write different trees in turn leave one of them whole, and never find an edit."""
    script = """
wanted = tree(*(file(f"k/{n}", sys.argv[2] * n) for n in range(1, int(sys.argv[3]))))
for _ in range(15):
    done = write(wanted, root=Path(sys.argv[1]), profiles=None, overwrite=False, wait_s=60)
    assert isinstance(done, Written), done
"""
    sizes = {"a": 4, "b": 6, "c": 8}
    running = [in_child(script, out, letter, size) for letter, size in sizes.items()]
    for process in running:
        succeeds(process)
    assert standing(out) in [
        expected(tree(*(file(f"k/{n}", letter * n) for n in range(1, size))))
        for letter, size in sizes.items()
    ]


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("closed", [".", "k2.6-200k/ct200"])
def test_a_folder_without_the_right_to_write(public: Path, closed: str) -> None:
    """Where the user may not write, a write says so and changes nothing, in `out/` as in a folder of it."""
    out = written(public / "out")
    for place in (out, *out.rglob("*")):
        os.chown(place, os.getuid() or NOBODY, -1)
    (out / closed).chmod(0o555)
    script = """
if os.getuid() == 0:
    os.setuid(65534)
out = Path(sys.argv[1])
done = write(tree(file(UNIT, "new"), file("k2.6-200k/new")), root=out, profiles=None, overwrite=False)
assert done[0].code == "out-unwritable", done
assert "permission denied" in done[0].summary, done
assert done[0].notes[-1] == "nothing was changed", done
assert compared(out) == {}, compared(out)
assert write(BEFORE, root=out, profiles=None, overwrite=False) == Written(unchanged=3)
"""
    succeeds(in_child(script, out))
    (out / closed).chmod(0o755)
    assert standing(out) == expected(BEFORE)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take rights away from another user")
def test_what_may_not_be_read(public: Path) -> None:
    """A file that cannot be read counts as edited; a folder that cannot be listed is a diagnostic."""
    out = written(public / "out")
    (out / UNIT).chmod(0)
    (out / "k2.6-32k").chmod(0o711)
    os.chown(out, NOBODY, -1)
    script = """
os.setuid(65534)
out = Path(sys.argv[1])
new = tree(file(UNIT, "new"), file(SCRIPT, executable=True))
assert compared(out, new, "k2.6-200k") == {UNIT: State.EDITED}
done = write(new, root=out, profiles=frozenset({"k2.6-200k"}), overwrite=False)
assert [each.code for each in done] == ["out-edited"], done
comparison = compare(BEFORE, root=out, profiles=None)
assert [each.code for each in comparison.diagnostics] == ["out-unreadable"], comparison
done = write(BEFORE, root=out, profiles=None, overwrite=True)
assert [each.code for each in done] == ["out-unreadable"], done
"""
    succeeds(in_child(script, out))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that holds very little."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_file_system_that_is_full(small_disk: Path) -> None:
    """On a full file system a write says so and changes nothing, and it works once there is room."""
    out = written(small_disk / "out")
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 150_000)
    big = tree(*BEFORE.files.values(), file("k2.6-200k/big", "x" * 200_000))
    done = write(big, root=out, profiles=None, overwrite=False)
    assert not isinstance(done, Written)
    assert "no space left on device" in done[0].summary
    assert done[0].notes[-1] == "nothing was changed"
    assert standing(out) == expected(BEFORE)
    filler.unlink()
    assert attempt(out, big) == Written(written=("k2.6-200k/big",), unchanged=3)
    assert standing(out) == expected(big)


def test_a_file_system_that_is_read_only(small_disk: Path) -> None:
    """On a read-only file system a comparison works, a write with nothing to do does, and another says why not."""
    out = written(small_disk / "out")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert compared(out) == {}
    assert attempt(out, BEFORE) == Written(unchanged=3)
    done = write(AFTER, root=out, profiles=None, overwrite=False)
    assert not isinstance(done, Written)
    assert "read-only file system" in done[0].summary
    assert standing(out) == expected(BEFORE)
