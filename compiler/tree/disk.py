"""What stands below `out/`, read without following a symlink."""

from __future__ import annotations

import os
import stat
from enum import Enum, auto
from pathlib import Path

from attrs import frozen

from compiler.tree.places import parents
from compiler.tree.states import Version
from compiler.value import Value


class EntryKind(Enum):
    """What stands at a path."""

    ABSENT = auto()
    FILE = auto()
    DIRECTORY = auto()
    OTHER = auto()
    """A symlink, a socket, a device, or a file that cannot be read."""
    CUT_OFF = auto()
    """Nothing of ours: what should be a folder above it is something else, such as a symlink."""


@frozen(kw_only=True, eq=False, repr=False)
class Standing(Value):
    """What stands at a path; `note` says it in words where it is neither a file nor nothing."""

    kind: EntryKind
    version: Version | None = None
    note: str = ""


def look(root: Path, path: str, *, seen: set[str] | None = None) -> Standing:
    """What stands at a path below the root. Never fails: a file that cannot be read is `OTHER`, with the reason.

    Give the same `seen` for many paths, under the lock, and each folder above them is looked at once.
    """
    seen = set() if seen is None else seen
    try:
        folder = path.rpartition("/")[0]
        for above in parents(path) if folder not in seen else ():
            mode = os.lstat(f"{root}/{above}").st_mode
            if not stat.S_ISDIR(mode):
                return Standing(
                    kind=EntryKind.CUT_OFF, note=f"{_name_of(mode)} stands at `{above}`"
                )
        seen.add(folder)
        return _look_at(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return Standing(kind=EntryKind.ABSENT)
    except OSError as failure:
        return Standing(kind=EntryKind.OTHER, note=f"it cannot be read: {failure.strerror}")


def _look_at(path: str) -> Standing:
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        return Standing(kind=EntryKind.DIRECTORY, note="a directory stands there")
    if not stat.S_ISREG(mode):
        return Standing(kind=EntryKind.OTHER, note=f"{_name_of(mode)} stands there")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - opened without following a link
        version = Version(file.read(), bool(mode & stat.S_IXUSR))
    return Standing(kind=EntryKind.FILE, version=version)


def _name_of(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symlink"
    return "a file" if stat.S_ISREG(mode) else "a special file"


def survey(root: Path, below: str = "") -> tuple[str, ...]:
    """The paths of everything that is no directory, below a folder of the root; symlinks are listed, not followed.

    Raises:
        OSError: when a folder cannot be listed.
    """
    if below and look(root, below).kind is not EntryKind.DIRECTORY:
        return ()
    found: list[str] = []
    folders = [below]
    while folders:
        folder = folders.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                (folders if entry.is_dir(follow_symlinks=False) else found).append(path)
    return tuple(sorted(found))
