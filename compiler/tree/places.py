"""Which paths there are below `out/`: what may be written where, and the names the compiler keeps for itself."""

from __future__ import annotations

import re


MANIFEST = "MANIFEST"
"""The list of all files; it does not list itself."""

PENDING = ".pending"
"""The folder a write works in; gone when it has ended."""

JOURNAL = "journal"
"""In `.pending`: what a run that is at work, or was cut off, may have written."""

NEW_JOURNAL = "journal.new"
"""In `.pending`: a journal before it counts."""

_WORKING_FILE = re.compile(
    rf"{re.escape(PENDING)}/({JOURNAL}|{re.escape(NEW_JOURNAL)}|{MANIFEST}|[0-9]+)"
)
_LONGEST_NAME_BYTES = 255  # NAME_MAX of every Linux file system in use
_UTF8_BYTES = 4  # the most that one character takes
_NO_NAMES = frozenset({"", ".", ".."})


def is_working_file(path: str) -> bool:
    """Whether a path is one of those that a write works with."""
    return _WORKING_FILE.fullmatch(path) is not None


def parents(path: str) -> tuple[str, ...]:
    """The folders above a path, outermost first, without the root."""
    names = path.split("/")
    return tuple("/".join(names[:depth]) for depth in range(1, len(names)))


def path_fault(path: str) -> str | None:
    """Why no file may be written to a path, as the rest of a sentence; `None` when one may."""
    names = path.split("/")
    if not _NO_NAMES.isdisjoint(names):
        return "is no path below `out/`"
    if not path.isprintable() or " " in path:  # every other white space is not printable either
        return "holds white space, or a character that cannot be shown"
    if len(path) * _UTF8_BYTES > _LONGEST_NAME_BYTES and any(
        len(name.encode()) > _LONGEST_NAME_BYTES for name in names
    ):
        return f"has a name of more than {_LONGEST_NAME_BYTES} bytes"
    if names[0] in (MANIFEST, PENDING):
        return f"begins with `{names[0]}`, which the compiler needs itself"
    return None
