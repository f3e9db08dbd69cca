"""A wheel or a folder goes in; the texts of the engine's Python files come out, none of them imported."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error
from compiler.value import Value


UNREADABLE = "engine-unreadable"
"""The code of everything that keeps a flag table from being read."""

SERVER_ARGS = "sglang/srt/server_args.py"
"""The file every release declares its flags in, or at least starts to."""

_LAYOUTS = ("", "python/", "..")
"""Where the package stands below a folder: an unpacked wheel, a checkout, or the package's own folder."""

_LARGEST_FILE = 16 * 2**20  # the largest Python file of a release is under 1 MiB


class UnreadableError(Exception):
    """A file is there and its text cannot be had; the message is for the user."""


@frozen(kw_only=True, eq=False, repr=False)
class SourceTree(Value):
    """The Python files of one engine.

    Attributes:
        shown: its name in messages.
        version: the release it says it is; `None` when it does not say.
        read: a name (`sglang/srt/server_args.py`) to its text, or to `None` when there is no such file. Raises
            `UnreadableError`.
    """

    shown: str
    version: str | None
    read: Callable[[str], str | None]


def open_tree(path: Path) -> tuple[SourceTree | None, tuple[Diagnostic, ...]]:
    """Open a wheel, or a folder that holds the package `sglang`; all errors are `engine-unreadable`."""
    shown = path.name or str(path)
    try:
        tree = _open_folder(path, shown) if path.is_dir() else _open_wheel(path, shown)
        found = tree.read(SERVER_ARGS)
    except UnreadableError as fault:
        return None, (error(UNREADABLE, f"`{shown}` cannot be read: {fault}"),)
    except OSError as fault:
        reason = (fault.strerror or "the system gives no reason").lower()
        return None, (error(UNREADABLE, f"`{shown}` cannot be read: {reason}"),)
    if found is None:
        summary = f"`{shown}` is no SGLang: it holds no `{SERVER_ARGS}`"
        advice = "give a wheel of sglang, or the folder of a checkout"
        return None, (error(UNREADABLE, summary, help=(advice,)),)
    return tree, ()


def _open_wheel(path: Path, shown: str) -> SourceTree:
    if path.exists() and not path.is_file():
        # A device has no end.
        raise UnreadableError("it is no regular file")
    try:
        wheel = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise UnreadableError("it is no wheel, or its end is missing") from None
    names = frozenset(wheel.namelist())

    def read(name: str) -> str | None:
        if name not in names:
            return None
        if wheel.getinfo(name).file_size > _LARGEST_FILE:
            raise UnreadableError(f"`{name}` is too large to be source text")
        try:
            return _text(wheel.read(name), name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise UnreadableError(f"`{name}` in it is damaged") from None

    metadata = next((name for name in sorted(names) if name.endswith(".dist-info/METADATA")), None)
    text = read(metadata) if metadata else None
    version = HeaderParser().parsestr(text)["Version"] if text else None
    return SourceTree(shown=shown, version=version, read=read)


def _open_folder(path: Path, shown: str) -> SourceTree:
    bases = [path / layout for layout in _LAYOUTS]
    base = next((each for each in bases if (each / SERVER_ARGS).is_file()), path)

    def read(name: str) -> str | None:
        try:
            return _text((base / name).read_bytes(), name)
        except (FileNotFoundError, NotADirectoryError):
            return None

    return SourceTree(shown=shown, version=_version_of(base), read=read)


def _version_of(base: Path) -> str | None:
    """What an unpacked wheel says it is; a checkout does not say."""
    found = [*base.glob("sglang-*.dist-info/METADATA")]
    if len(found) != 1:
        return None
    version = HeaderParser().parsestr(found[0].read_text(encoding="utf-8"))["Version"]
    return str(version) if version else None


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnreadableError(f"`{name}` in it is not UTF-8") from None
