"""The steps that change `out/`: stage what is new, then commit it. Any of them may be the last one of a run."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from compiler.tree.files import OutFile
from compiler.tree.places import JOURNAL, MANIFEST, NEW_JOURNAL, PENDING, is_working_file, parents
from compiler.tree.rights import ask_for
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Work(Value):
    """What one write does.

    Attributes:
        root: the directory `out/`.
        changes: files to write.
        removals: paths to unlink.
        vacated: folders to remove when they are empty afterwards.
        manifest: the text of the MANIFEST to come.
        journal: the text of the journal: every line that may be true while the work lasts.
    """

    root: Path
    changes: tuple[OutFile, ...]
    removals: tuple[str, ...]
    vacated: tuple[str, ...]
    manifest: str
    journal: str

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that changes."""
        return (*self.removals, *(file.path for file in self.changes))


def stage(work: Work) -> None:
    """Write everything that is new into `.pending`, the journal last. Nothing else changes.

    Raises:
        OSError: when something could not be written; `abandon` then takes away what was staged.
    """
    _check_rights(work)
    pending = work.root / PENDING
    _make_folder(pending)
    _discard(pending, but=JOURNAL)
    for number, file in enumerate(work.changes):
        _put(pending / str(number), file.text, mode=0o755 if file.executable else 0o644)
    _put(pending / MANIFEST, work.manifest, mode=0o644)
    _put(pending / NEW_JOURNAL, work.journal, mode=0o644)
    _sync(pending)
    (pending / NEW_JOURNAL).replace(pending / JOURNAL)
    _sync(pending)
    _sync(work.root)


def commit(work: Work) -> None:
    """Make the tree what was staged, MANIFEST last, and take `.pending` away.

    Raises:
        OSError: when a step failed; the journal stays, and the next write goes on from there.
    """
    pending = work.root / PENDING
    for path in work.removals:
        (work.root / path).unlink(missing_ok=True)
    for number, file in enumerate(work.changes):
        (pending / str(number)).replace(_clear_way(work.root, file.path))
    for folder in sorted(work.vacated, reverse=True):  # the inner ones first
        with suppress(OSError):
            (work.root / folder).rmdir()
    for folder in sorted({above for path in work.paths for above in parents(path)}):
        with suppress(FileNotFoundError, NotADirectoryError):
            _sync(work.root / folder)
    _sync(work.root)
    (pending / MANIFEST).replace(_clear_way(work.root, MANIFEST))
    _sync(work.root)
    _discard(pending)
    with suppress(OSError):  # somebody keeps something in it
        pending.rmdir()


def abandon(root: Path) -> None:
    """Take away what a failed write staged; the journal stays, since it may be needed. Never fails."""
    with suppress(OSError):
        _discard(root / PENDING, but=JOURNAL)
        (root / PENDING).rmdir()


def _check_rights(work: Work) -> None:
    """Ask for the rights that a commit needs, so that the lack of one shows before anything changes."""
    for path in (*work.paths, MANIFEST):
        above = [work.root, *(work.root / folder for folder in parents(path))]
        folder = next(place for place in reversed(above) if place.is_dir())
        ask_for(os.W_OK | os.X_OK, folder)


def _put(path: Path, text: str, *, mode: int) -> None:
    """Write a file that does not exist yet, down to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(text.encode())
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    """Bring the names in a folder down to the disk, where the file system can do that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as failure:
        if failure.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _clear_way(root: Path, path: str) -> Path:
    """The place of a file, its folders made and nothing in the way that a rename cannot replace.

    What goes here, the comparison has allowed to go: a link or a file in the place of a folder, an empty folder.
    """
    for above in parents(path):
        _make_folder(root / above)
    target = root / path
    if target.is_dir() and not target.is_symlink():
        for folder, _, _ in os.walk(target, topdown=False):
            Path(folder).rmdir()
    return target


def _make_folder(place: Path) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(place.lstat().st_mode):
            return
        place.unlink()
    place.mkdir(mode=0o755)


def _discard(pending: Path, *, but: str | None = None) -> None:
    for entry in sorted(pending.iterdir()):
        if is_working_file(f"{PENDING}/{entry.name}") and entry.name != but:
            entry.unlink()
