"""One compile at a time: a lock on the directory itself, which leaves nothing behind."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


WAIT_S = 2.0
"""How long a run waits for another one by default; a write takes far less."""

_STEP_S = 0.05


@contextmanager
def locked(root: Path, *, exclusive: bool, wait_s: float) -> Iterator[bool]:
    """Hold the lock of a directory; the value says whether it was to be had in time.

    A file system without locks (some network ones) counts as locked: there the next run still finds what two
    runs at once may leave.

    Raises:
        OSError: when the directory cannot be opened.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _acquire(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, wait_s=wait_s)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, kind: int, *, wait_s: float) -> bool:
    for attempt in range(1 + int(wait_s / _STEP_S)):
        if attempt:
            time.sleep(_STEP_S)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError:
            return True
        return True
    return False
