"""One change at a time: a lock on the folder of a unit's generations, which goes with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; the value says whether it was free. A load may take half an hour: nobody waits for it.

    A file system without locks (some network ones) counts as free.

    Raises:
        OSError: when the folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _acquire(descriptor) and _is_there(folder, descriptor)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_there(folder: Path, descriptor: int) -> bool:
    """Whether the folder is still the one that was locked; a `retire --delete` may have removed it meanwhile."""
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
