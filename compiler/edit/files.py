"""A profile's file: the bytes that an edit may begin from, and the way to put others in their place."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from compiler.diagnostics import Diagnostic, Label, error, reason_of
from compiler.language.load import SUFFIX, file_of, top_of


def refusal(root: Path, name: str) -> Diagnostic | None:
    """Why a profile's file is not edited, whatever it holds; `None` when it may be. `root` is the folder `profiles`.

    Errors: `edit-refused`.
    """
    path = root / f"{name}{SUFFIX}"
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None  # whoever reads it says so
    if stat.S_ISLNK(mode):
        return refused(name, f"`{file_of(name)}` is a symlink", "edit the file that it leads to")
    return None


def refused(name: str, summary: str, advice: str) -> Diagnostic:
    """`edit-refused`, at the file."""
    return error(
        "edit-refused", f"{summary}, so nothing was written", Label(top_of(name)), help=(advice,)
    )


def replace(root: Path, name: str, *, before: str, after: str) -> Diagnostic | None:
    """Put a text in the place of another in one step, its mode kept; or change nothing and say why.

    Errors: `edit-unwritable` when the file is not any more what was read, or the system would not write it.
    """
    path = root / f"{name}{SUFFIX}"
    try:
        if path.read_bytes() != before.encode():
            return _unwritable(name, "it changed since it was read")
        _put(path, after.encode())
    except OSError as fault:
        return _unwritable(name, reason_of(fault))
    return None


def _unwritable(name: str, reason: str) -> Diagnostic:
    return error(
        "edit-unwritable",
        f"`{file_of(name)}` cannot be written: {reason}",
        Label(top_of(name)),
        help=("nothing was written; mend that, and run it again",),
    )


def _put(path: Path, data: bytes) -> None:
    """Write beside the file, down to the disk, and rename: whoever reads sees the old bytes or the new ones."""
    mode = stat.S_IMODE(path.stat().st_mode)
    from compiler.tree.rights import ask_for  # noqa: PLC0415 - what writes nothing does without `tree`

    ask_for(os.W_OK, path)  # a rename would not ask
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
