"""Whether the system lets us write, asked before anything changes."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def ask_for(rights: int, path: Path) -> None:
    """Ask for rights (`os.W_OK`) to a path, so that their lack shows before anything changes.

    Raises:
        OSError: when the system would not, by its reason: who may not write, or that nobody may, on a file system that is
            mounted for reading.
    """
    if os.access(path, rights):
        return
    read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    code = errno.EROFS if read_only else errno.EACCES
    raise OSError(code, os.strerror(code), str(path))
