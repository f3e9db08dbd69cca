"""Where the files of the catalogue stand, and how the name of an entry becomes the name of its file."""

from __future__ import annotations

import errno
import os
import re
import stat
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, Span, error, reason_of
from compiler.source import Source
from compiler.value import Value


if TYPE_CHECKING:
    from pathlib import Path


CATALOGUE_INVALID = "catalogue-invalid"
BOOT_INVALID = "boot-invalid"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(?:/[A-Za-z0-9][A-Za-z0-9._+-]*)*")
_LONGEST_ID = 200  # a file name holds 255 bytes


class Kind(StrEnum):
    """The kinds of facts that have an id; the value is their folder."""

    GPU = "gpus"
    MODEL = "models"
    DRAFT = "drafts"


class Reader(Protocol):
    """Reads below one root: a folder, or a revision of a repository. Names have `/` and are relative to the root."""

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; `None` when there is none. Raises `OSError` when it is there and cannot be read."""

    def list(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, sorted; none when there is no such folder. Raises `OSError` as `read` does."""


@frozen(eq=False, repr=False)
class FolderReader(Value):
    """A `Reader` of a folder on disk."""

    root: str | Path

    def read(self, name: str) -> bytes | None:
        """As in `Reader`. What is no file (a pipe, a device) is not opened."""
        path = f"{self.root}/{name}"
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            with open(path, "rb", buffering=0) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def list(self, folder: str) -> tuple[str, ...]:
        """As in `Reader`."""
        try:
            return tuple(sorted(os.listdir(f"{self.root}/{folder}")))
        except (FileNotFoundError, NotADirectoryError):
            return ()


@frozen(kw_only=True, eq=False, repr=False)
class EntryFile(Value):
    """One file as it was found.

    Attributes:
        shown: its name in messages.
        shipped: whether it is ours, not a team's.
    """

    data: bytes
    shown: str
    shipped: bool


@frozen(kw_only=True, eq=False, repr=False)
class Shelf(Value):
    """One root of files.

    Attributes:
        below: the folder under the reader's root, with a slash at its end, or nothing.
        shown: what stands before a file's name in messages.
        shipped: whether it is ours, not a team's.
        code: the code of what is wrong with its files.
    """

    reader: Reader
    below: str = ""
    shown: str
    shipped: bool = False
    code: str = CATALOGUE_INVALID

    def open(self, name: str) -> tuple[EntryFile | None, tuple[Diagnostic, ...]]:
        """A file of this shelf; `(None, ())` when it has none of that name."""
        try:
            data = self.reader.read(self.below + name)
        except OSError as fault:
            return None, (self._unreadable(name, fault),)
        if data is None:
            return None, ()
        return EntryFile(data=data, shown=self.shown + name, shipped=self.shipped), ()

    def stems(self, folder: str, *, suffix: str) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """The names of a folder's files without their suffix, sorted; hidden files are left out."""
        try:
            names = self.reader.list(self.below + folder)
        except OSError as fault:
            return (), (self._unreadable(folder, fault),)
        return tuple(
            each.removesuffix(suffix)
            for each in names
            if each.endswith(suffix) and not each.startswith(".")
        ), ()

    def source(self, shown: str) -> Source | None:
        """The text of a file by its name in messages; `None` for one that is not of this shelf or cannot be read."""
        if not shown.startswith(self.shown) or ".." in shown:
            return None
        file, _ = self.open(shown.removeprefix(self.shown))
        return None if file is None else Source(shown, file.data.decode(errors="replace"))

    def _unreadable(self, name: str, fault: OSError) -> Diagnostic:
        shown = self.shown + name
        reason = reason_of(fault)
        return error(self.code, f"`{shown}` cannot be read: {reason}", Label(whole_file(shown)))


def whole_file(shown: str) -> Span:
    """The start of a file, for what is wrong with all of it."""
    return Span(file=shown, line=1, column=1, end_line=1, end_column=1)


def shipped_shelf() -> Shelf:
    """The files that come with the compiler."""
    reader = FolderReader(f"{os.path.dirname(__file__)}/data")
    return Shelf(reader=reader, shown="compiler/catalog/data/", shipped=True)


def team_shelf(profiles: Reader) -> Shelf:
    """A team's own files, in the same layout; `profiles` reads below the folder `profiles`."""
    return Shelf(reader=profiles, below="catalog/", shown="profiles/catalog/")


def boot_shelf(profiles: Reader) -> Shelf:
    """A team's recorded boots."""
    return Shelf(reader=profiles, below="boots/", shown="profiles/boots/", code=BOOT_INVALID)


def file_stem(id_: str) -> str | None:
    """The file's name for an id, without its suffix: `--` for `/`. `None` when no entry can have this id.

    A public hub allows no `--` in a name, so the way back is certain.
    """
    if len(id_) > _LONGEST_ID or "--" in id_ or not _ID.fullmatch(id_):
        return None
    return id_.replace("/", "--")


def id_of(stem: str) -> str:
    """The id of a file's name without suffix."""
    return stem.replace("--", "/")
