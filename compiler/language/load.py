"""A profile's name goes in; its parsed file with positions comes out. The only reader of profiles."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, Span, error, reason_of
from compiler.language.directives import Directives, read_directives
from compiler.language.shapes import is_control
from compiler.language.syntax import parse_toml
from compiler.source import Source
from compiler.value import Value


if TYPE_CHECKING:
    from pathlib import Path

    from compiler.language.spans import Entry, TomlPath


SUFFIX = ".toml"
LARGEST_BYTES = 2**20
"""No person writes and no reviewer reads a larger profile; reading one would take minutes."""
NO_PROFILES = frozenset({"boots", "catalog"})
"""Folders beside the profiles that hold facts instead."""

# What nearly every name is; no fault can be in it.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_SURROGATES = range(0xD800, 0xE000)  # what Python makes of bytes in a file name that are no UTF-8


class Reader(Protocol):
    """Where profiles are read from: the disk, or a revision of a repository.

    Only names without a `name_fault` may be asked for.
    """

    def read(self, name: str) -> bytes | None:
        """The bytes of a profile; `None` when there is none. Raises `OSError` when it is there and cannot be read."""

    def names(self) -> tuple[str, ...]:
        """The names of all profiles, sorted. Raises `OSError` when they cannot be listed."""


@frozen(eq=False, repr=False)
class DiskReader(Value):
    """Reads below `root`, the folder `profiles`."""

    root: str | Path

    def read(self, name: str) -> bytes | None:
        """As in `Reader`. A symlink is followed; what is no file (a pipe, a device) is not opened."""
        path = f"{self.root}/{name}{SUFFIX}"
        try:
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            with open(path, "rb", buffering=0) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self) -> tuple[str, ...]:
        """As in `Reader`. Hidden files are left out, and folders that are symlinks are not searched."""
        found: list[str] = []
        for folder, folders, files in os.walk(self.root, onerror=_raise):
            below = os.path.relpath(folder, self.root)
            place, left_out = ("", NO_PROFILES) if below == "." else (f"{below}/", ())
            folders[:] = [each for each in folders if each[0] != "." and each not in left_out]
            found += [
                f"{place}{each}".removesuffix(SUFFIX)
                for each in files
                if each.endswith(SUFFIX) and each[0] != "."
            ]
        return tuple(sorted(found))


def _raise(fault: OSError) -> None:
    """A folder that cannot be listed would otherwise be left out without a word."""
    raise fault


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Document(Value):
    """One profile file, parsed.

    Attributes:
        name: the profile's name.
        source: its text.
        values: what `tomllib` made of it; never changed.
        directives: what the file says to the compiler.
    """

    name: str
    source: Source
    values: Mapping[str, Any]
    directives: Directives

    @cached_property
    def spans(self) -> Mapping[TomlPath, Entry]:
        """Where each of the values stands; found when a message first asks, as most files pass without one."""
        from compiler.language.spans import index_spans  # noqa: PLC0415 - only what has something to say needs places

        return index_spans(self.source)


Loaded = tuple[Document | None, tuple[Diagnostic, ...]]
"""A document, with what is wrong with its file; neither when there is no such file."""


def file_of(name: str) -> str:
    """The path of a profile's file as messages show it."""
    return f"profiles/{name}{SUFFIX}"


def name_of(file: str) -> str:
    """The name of a profile that is given by its file as messages show it, or by its name."""
    return file.removesuffix(SUFFIX).removeprefix("profiles/")


def top_of(name: str) -> Span:
    """Where a profile's file begins: the place of what is wrong with all of it."""
    return Span(file=file_of(name), line=1, column=1, end_line=1, end_column=1)


def name_fault(name: str) -> str | None:
    """Why a text cannot be the name of a profile, as the end of a sentence; `None` when it can.

    A file has one name only, so that a parent of two profiles is seen to be the same; and no name leads out of the
    folder of profiles.
    """
    if _PLAIN_NAME.fullmatch(name):
        return None
    parts = name.split("/")
    faults = {
        "is empty": not name,
        "holds a character that no name may hold": any(
            is_control(each) or ord(each) in _SURROGATES for each in name
        ),
        "holds a backslash; folders are separated by `/`": "\\" in name,
        "is an absolute path; names are relative to `profiles/`": name.startswith("/"),
        "leads out of its folder; names are relative to `profiles/`": ".." in parts,
        "has an empty part; a profile has one spelling only": "" in parts,
        "has a part `.`; a profile has one spelling only": "." in parts,
    }
    return next((fault for fault, is_so in faults.items() if is_so), None)


def load_document(reader: Reader, name: str) -> Loaded:
    """Read and parse one profile; `(None, ())` when there is none of that name.

    A document comes with errors when only its directives are wrong. Errors: `profile-unreadable`, `not-utf8`,
    `toml-syntax`, `toml-limit`, and those of `read_directives`.
    """
    if name_fault(name) is not None:
        return None, ()
    try:
        data = reader.read(name)
    except OSError as fault:
        return None, (_unreadable(name, fault),)
    if data is None:
        return None, ()
    if len(data) > LARGEST_BYTES:
        return None, (_too_large(name, data),)
    try:
        source = Source(file_of(name), data.decode())
    except UnicodeDecodeError as fault:
        return None, (_not_utf8(_lossy(name, data), fault),)
    values, faults = parse_toml(source)
    if values is None:
        return None, faults
    directives, faults = read_directives(values, source=source)
    return Document(name=name, source=source, values=values, directives=directives), faults


def load_once(reader: Reader, name: str, cache: MutableMapping[str, Loaded]) -> Loaded:
    """As `load_document`, and the same again for who asks with the same `cache`."""
    if name not in cache:
        cache[name] = load_document(reader, name)
    return cache[name]


def load_source(reader: Reader, name: str) -> Source | None:
    """The text of a profile that could not be loaded, for messages to quote; `None` when it cannot be read at all."""
    try:
        data = None if name_fault(name) is not None else reader.read(name)
    except OSError:
        return None
    return None if data is None else _lossy(name, data)


def _lossy(name: str, data: bytes) -> Source:
    """The text with a replacement character for what is no UTF-8."""
    return Source(file_of(name), data.decode(errors="replace"))


def _unreadable(name: str, fault: OSError) -> Diagnostic:
    summary = f"`{name}` cannot be read: {reason_of(fault)}"
    return error("profile-unreadable", summary, Label(top_of(name)))


def _too_large(name: str, data: bytes) -> Diagnostic:
    size = f"{len(data) / 2**20:.1f} MiB"
    summary = f"`{name}` holds {size}; a profile may hold {LARGEST_BYTES // 2**20} MiB"
    return error("toml-limit", summary, Label(top_of(name)))


def _not_utf8(source: Source, fault: UnicodeDecodeError) -> Diagnostic:
    start = len(fault.object[: fault.start].decode())
    return error(
        "not-utf8",
        "the file is not UTF-8, as TOML must be",
        Label(source.span(start, start + 1), f"byte 0x{fault.object[fault.start]:02x}"),
        help=("save it as UTF-8",),
    )
