"""A text goes into a file as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import TypeVar


_Named = TypeVar("_Named", str, Path)

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
"""What file systems say that have no second name for a file."""


_STDOUT = "-"


def file_or_stdout(_context: object, _option: object, value: _Named | None) -> _Named | None:
    """What `-o` names; `None`, as without it, for the `-` that stands for stdout elsewhere."""
    return None if value is not None and str(value) == _STDOUT else value


def write_whole(text: str, path: Path, *, is_new: bool = False) -> None:
    """Write beside the file, then give that its name; a link is followed, and what is no file (a pipe, a device) is written to.

    Raises `OSError`; `FileExistsError` where it is to be new, and is there already.
    """
    if is_new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    target = path.resolve()
    if target.exists() and not target.is_file():
        target.write_text(text, "utf-8")
        return
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    beside = Path(name)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(text)
        beside.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
        _name(beside, target, is_new=is_new)
    finally:
        beside.unlink(missing_ok=True)


def _name(beside: Path, target: Path, *, is_new: bool) -> None:
    if is_new:
        try:
            # A rename would put it over a file that came meanwhile.
            target.hardlink_to(beside)
        except OSError as fault:
            if fault.errno not in _NO_LINKS:
                raise
        else:
            return
    beside.replace(target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
