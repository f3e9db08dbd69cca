"""A write that is killed at any step, or meets an error there, loses nothing and is carried on by the next one."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.diagnostics import Diagnostic
from compiler.tree import OutTree, State, Written, write
from examples import examples
from trees import compared, expected, file, in_child, standing, tree, written


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it, and nothing works after it."""


CHANGES = ("mkdir", "write", "fsync", "fchmod", "replace", "unlink", "rmdir")
"""The calls of `os` that change something on the disk; `open` is one when it creates."""

BASE = tree(
    file("a/plan.json"),
    file("a/host/unit.service", "unit\n"),
    file("a/host/launch.sh", "run\n", executable=True),
    file("b/plan.json"),
    file("gone/host/unit.service"),
)
NEXT = tree(
    file("a/plan.json"),
    file("a/host/unit.service", "another unit\n"),
    file("a/host/launch.sh", "run\n"),
    file("b/plan.json", "another b\n"),
    file("new/host/unit.service"),
)
AFTER = tree(
    file("a/plan.json", "a third plan\n"),
    file("a/host/unit.service", "a third unit\n"),
    file("b/plan.json"),
    file("gone/host/unit.service", "back again\n"),
    file("later/x"),
)


@contextmanager
def stopped(
    at: int, stop: Callable[[str], None], *, once: bool = False, sync: bool = False
) -> Iterator[list[str]]:
    """Let so many changes to the disk happen; each later one (or only the next) gets `stop`, half done.

    Without `sync` nothing is really synced, which no reader of the disk can tell.
    """
    done: list[str] = []
    real = {name: getattr(os, name) for name in ("open", *CHANGES)}

    def wrapped(name: str) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            if name == "open" and not (
                len(arguments) > 1 and isinstance(arguments[1], int) and arguments[1] & os.O_CREAT
            ):
                return real[name](*arguments, **named)
            done.append(name)
            if len(done) > at and not (once and len(done) > at + 1):
                if name == "write" and len(done) == at + 1:
                    descriptor, content = arguments
                    assert isinstance(content, memoryview)
                    real["write"](descriptor, content[:3])
                stop(name)
            if name == "fsync" and not sync:
                return None
            return real[name](*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(os, name, wrapped(name))
        yield done


def kill(_: str) -> None:
    """What `stopped` does for a simulated SIGKILL."""
    raise Killed


def put(out: Path, wanted: OutTree, *names: str) -> Written | tuple[Diagnostic, ...]:
    """A write without `overwrite`."""
    profiles = frozenset(names) if names else None
    return write(wanted, root=out, profiles=profiles, overwrite=False)


def killed(out: Path, wanted: OutTree, *names: str, at: int) -> bool:
    """Whether a write was killed after so many changes; else it ended before."""
    with stopped(at, kill):
        try:
            done = put(out, wanted, *names)
        except Killed:
            return True
    assert isinstance(done, Written)
    return False


def count(start: OutTree, wanted: OutTree, folder: Path) -> int:
    """How many changes to the disk a write makes."""
    out = written(folder / "counted", start)
    with stopped(10**9, kill) as done:
        assert isinstance(put(out, wanted), Written)
    shutil.rmtree(out)
    return len(done)


def no_edits(out: Path, wanted: OutTree, *names: str) -> None:
    """A comparison takes nothing for somebody's work."""
    found = set(compared(out, wanted, *names).values())
    assert not found & {State.EDITED, State.BLOCKED, State.FOREIGN}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for many small trees, in memory where that is possible."""
    shared = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield base
    shutil.rmtree(base)


@pytest.mark.parametrize(
    "follower", [NEXT, AFTER, BASE, tree()], ids=["same", "other", "back", "none"]
)
def test_killed_at_every_step(folder: Path, follower: OutTree) -> None:
    """Wherever a write is killed, a comparison finds no edit, and the next write ends in exactly what it wants."""
    steps = count(BASE, NEXT, folder)
    assert steps > 40
    for at in range(steps):
        out = written(folder / str(at), BASE)
        assert killed(out, NEXT, at=at)
        no_edits(out, follower)
        no_edits(out, NEXT)
        done = put(out, follower)
        assert isinstance(done, Written)
        assert standing(out) == expected(follower)
        assert compared(out, follower) == {}
        assert not put(out, follower).resumed  # type: ignore[union-attr]


def test_killed_in_the_first_write(folder: Path) -> None:
    """A write that made `out/` itself is carried on as well."""
    at = 0
    while killed(folder / str(at), BASE, at=at):
        out = folder / str(at)
        no_edits(out, AFTER)
        written(out, AFTER)
        assert standing(out) == expected(AFTER)
        at += 1
    assert at > 30


@pytest.mark.parametrize("every", [11, pytest.param(5, marks=pytest.mark.slow)])
def test_killed_twice(folder: Path, every: int) -> None:
    """A second write, of other profiles, that is killed as well leaves nothing the third one takes for an edit."""
    steps = count(BASE, NEXT, folder)
    for first in range(0, steps, every):
        second = 0
        while True:
            out = written(folder / f"{first}-{second}", BASE)
            assert killed(out, NEXT, at=first)
            if not killed(out, AFTER, at=second):
                break
            no_edits(out, NEXT)
            third = (NEXT, BASE, AFTER)[second % 3]
            written(out, third)
            assert standing(out) == expected(third)
            shutil.rmtree(out)
            second += 4


def test_killed_then_some_profiles(folder: Path) -> None:
    """After a killed write for all, one for some profiles ends in its own, and all others are still ours."""
    for at in range(count(BASE, NEXT, folder)):
        out = written(folder / str(at), BASE)
        assert killed(out, NEXT, at=at)
        assert isinstance(put(out, AFTER, "b", "later"), Written)
        assert compared(out, AFTER, "b", "later") == {}
        left = standing(out)
        assert not any(path.startswith(".pending") for path in left)
        empty = {path for path, found in left.items() if found[0] == b"an empty folder"}
        assert empty <= {"gone", "gone/host"}  # its line is still in MANIFEST, and goes with it
        no_edits(out, AFTER)
        written(out, NEXT)
        assert standing(out) == expected(NEXT)


def test_an_edit_after_a_kill_is_an_edit(folder: Path) -> None:
    """What somebody writes into a file after a killed write is theirs: it is found, and not written over."""
    for at in range(0, count(BASE, NEXT, folder), 2):
        out = written(folder / str(at), BASE)
        assert killed(out, NEXT, at=at)
        (out / "a/host/unit.service").write_text("mine\n")
        assert compared(out, NEXT)["a/host/unit.service"] is State.EDITED
        done = put(out, NEXT)
        assert not isinstance(done, Written)
        assert [each.code for each in done] == ["out-edited"]
        assert (out / "a/host/unit.service").read_text() == "mine\n"


def test_half_a_write_is_seen(folder: Path) -> None:
    """A comparison says that a write was cut off, even where every file is already right."""
    steps = count(BASE, NEXT, folder)
    out = written(folder / "out", BASE)
    assert killed(out, NEXT, at=steps - 2)
    assert standing(out).keys() - expected(NEXT).keys() == {".pending/journal"}
    assert compared(out, NEXT) == {".pending/journal": State.STALE}
    done = put(out, NEXT)
    assert done == Written(unchanged=5, resumed=True)


TREES = st.sampled_from([BASE, NEXT, AFTER, tree()])
NAMES = st.sets(st.sampled_from(["a", "b", "gone", "new", "later"]), max_size=2)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(TREES, NAMES, st.integers(0, 70)), min_size=1, max_size=5), TREES)
def test_any_row_of_killed_writes(runs: list[tuple[OutTree, set[str], int]], last: OutTree) -> None:
    """After any row of writes, for all or for some, killed anywhere, no edit is found and the last one is exact."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        for wanted, names, at in runs:
            killed(out, wanted, *names, at=at)
            for each in (BASE, NEXT, AFTER):
                no_edits(out, each)
        assert isinstance(put(out, last), Written)
        assert standing(out) == ({} if not out.exists() else expected(last))


@pytest.mark.parametrize("steps", [(20, 42), pytest.param((5, 30, 36), marks=pytest.mark.slow)])
def test_a_real_kill(folder: Path, steps: tuple[int, ...]) -> None:
    """The same with processes that really die by SIGKILL, with everything synced."""
    script = """
from test_tree_crash import NEXT, put, stopped
with stopped(int(sys.argv[2]), lambda _: os.kill(os.getpid(), signal.SIGKILL), sync=True):
    put(Path(sys.argv[1]), NEXT)
"""
    for at in steps:
        out = written(folder / str(at), BASE)
        process = in_child(script, out, at)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        no_edits(out, NEXT)
        written(out, NEXT)
        assert standing(out) == expected(NEXT)


@pytest.mark.parametrize(
    ("code", "once"), [(errno.ENOSPC, False), (errno.EIO, True), (errno.EACCES, False)]
)
def test_an_error_at_every_step(folder: Path, code: int, *, once: bool) -> None:
    """An error is a diagnostic with its reason; before the commit nothing changed, after it nothing is lost."""

    def fail(_: str) -> None:
        raise OSError(code, os.strerror(code))

    changed_nothing = 0
    for at in range(count(BASE, NEXT, folder)):
        out = written(folder / f"{at}", BASE)
        with stopped(at, fail, once=once):
            done = put(out, NEXT)
        if not isinstance(done, Written):  # some steps of tidying up may fail
            assert [each.code for each in done] == ["out-unwritable"]
            assert os.strerror(code).lower() in done[0].summary
            if done[0].notes[-1] == "nothing was changed":
                changed_nothing += 1
                left = standing(out).keys() - expected(BASE).keys()
                assert all(path.startswith(".pending") for path in left)
                assert {**standing(out), **expected(BASE)} == standing(out)
        no_edits(out, AFTER)
        written(out, AFTER)
        assert standing(out) == expected(AFTER)
    assert changed_nothing > 20


def test_a_first_write_that_fails_leaves_nothing(folder: Path) -> None:
    """Where `out/` was made for a write that then found no room, it goes again."""

    def fail(_: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for at in range(2, 18):
        with stopped(at, fail, once=True):
            assert not isinstance(put(folder / "out", BASE), Written)
        assert not (folder / "out").exists()


def test_everything_is_synced_before_it_counts(folder: Path) -> None:
    """Each staged file is synced after its last byte, and folders before and after the renames."""
    out = written(folder / "out", BASE)
    with stopped(10**9, kill) as done:
        put(out, NEXT)
    order = "".join({"write": "w", "fsync": "s", "replace": "R"}.get(each, "") for each in done)
    files = 4 + 2  # with MANIFEST and the journal
    assert order.startswith("ws" * files + "sRss" + "R" * 4)
    assert order.endswith("sRs")
