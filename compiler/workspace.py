"""Where a tree is: its root, and the names of the profiles a person means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, Span, error, printable, reason_of
from compiler.language.load import SUFFIX, DiskReader, name_of
from compiler.language.syntax import parse_toml
from compiler.near import near
from compiler.source import Source
from compiler.value import Value


if TYPE_CHECKING:
    from pathlib import Path

    from compiler.language.spans import Entry


PIN_FILE = "poolproof.toml"
PROFILES = "profiles"
OUT = "out"
REQUIRES = "requires"

_PLAIN_PIN = re.compile(r"(>=|<)[ ]*([0-9]{1,9}(?:\.[0-9]{1,9})*)")


@frozen(eq=False, repr=False)
class Workspace(Value):
    """One tree: the folder that holds `profiles/` and `out/`, by its absolute path."""

    folder: str

    @property
    def root(self) -> Path:
        """The same, for what does more with it than read."""
        from pathlib import Path  # noqa: PLC0415 - a run that only reads does without it

        return Path(self.folder)

    @property
    def profiles_folder(self) -> str:
        """The folder of the profiles, for what only reads it."""
        return f"{self.folder.rstrip('/')}/{PROFILES}"

    @property
    def profiles(self) -> Path:
        """The folder of the profiles."""
        return self.root / PROFILES

    @property
    def out(self) -> Path:
        """The folder of what is written."""
        return self.root / OUT


@frozen(kw_only=True, eq=False, repr=False)
class FoundTree(Value):
    """The tree and the names of the profiles that were asked for; empty names mean all of them."""

    workspace: Workspace | None
    names: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def find(asked: Sequence[str], *, here: str) -> FoundTree:
    """Find the tree from the first profile's path upwards, else from `here`.

    A profile is asked for by its path (`profiles/k2.6-200k.toml`) or by its name (`k2.6-200k`). With `./` in front a name is a
    path without its suffix where there is such a file, else the name.

    Errors: `tree-missing`, `profile-outside`.
    """
    start = _start(asked, here)
    root = _root_above(start)
    if root is None:
        return FoundTree(workspace=None, names=(), diagnostics=(_no_tree(start),))
    workspace = Workspace(root)
    names, faults = [], []
    for each in asked:
        named = _name_in(workspace, each, here)
        if named is None:
            faults.append(_outside(each, workspace))
        else:
            names.append(named)
    return FoundTree(
        workspace=workspace, names=tuple(dict.fromkeys(names)), diagnostics=tuple(faults)
    )


def _start(asked: Sequence[str], here: str) -> str:
    for each in asked:
        folder = os.path.dirname(os.path.join(here, each))
        if _is_path(each, here) and is_folder(folder):
            return os.path.realpath(folder)
    return here


def _is_path(asked: str, here: str) -> bool:
    """Whether a profile is asked for by its path, not its name; `./x.toml` is one even where nothing stands."""
    return asked.endswith(SUFFIX) and (
        asked.startswith(("/", "./", "../")) or is_file(os.path.join(here, asked))
    )


def is_file(path: str | Path) -> bool:
    """Whether a file stands at a path, or a link to one; none where it cannot be looked at, as by a name too long for a file.

    `Path.is_file` raises then, and a path that somebody typed may be anything. So with the two below.
    """
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Whether a folder stands at a path, or a link to one."""
    return os.path.isdir(path)


def is_there(path: str | Path) -> bool:
    """Whether anything stands at a path, a link to nothing too."""
    return os.path.lexists(path)


def _root_above(folder: str) -> str | None:
    while True:
        if is_file(os.path.join(folder, PIN_FILE)):
            return folder
        if is_folder(os.path.join(folder, PROFILES)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _name_in(workspace: Workspace, asked: str, here: str) -> str | None:
    """The name of a profile in this tree; `None` for a path that leads elsewhere. Its file may be a symlink."""
    path = os.path.join(here, asked)
    if not _is_path(asked, here):
        beside = f"{path}{SUFFIX}"
        if not (asked.startswith(("./", "../")) and is_file(beside)):
            return name_of(asked.removeprefix("./"))
        path = beside
    with suppress(OSError, ValueError):  # a NUL in a path is a ValueError
        folder = os.path.realpath(workspace.profiles_folder)
        at = f"{os.path.realpath(os.path.dirname(path))}/{os.path.basename(path)}"
        if at.startswith(f"{folder}/"):
            return at.removeprefix(f"{folder}/").removesuffix(SUFFIX)
    return None


def _no_tree(here: str) -> Diagnostic:
    return error(
        "tree-missing",
        f"there is no `{PROFILES}/` or `{PIN_FILE}` in `{here}` or above it",
        help=("run this inside a tree, or make one: `poolproof init` asks what it needs",),
    )


def _outside(asked: str, workspace: Workspace) -> Diagnostic:
    return error(
        "profile-outside",
        f"`{asked}` is not below `{workspace.profiles_folder}`",
        help=(f"move it there; names and `extends` are relative to `{PROFILES}/`",),
    )


def check_pin(workspace: Workspace, *, version: str) -> tuple[Diagnostic, ...]:
    """Whether this compiler is one that the tree's `poolproof.toml` allows; no file allows every one.

    Errors: `pin-mismatch`, `pin-invalid`, and those of `parse_toml`.
    """
    source, faults = _read_pin(workspace)
    if source is None:
        return faults
    values, faults = parse_toml(source)
    if values is None:
        return faults
    # In this order, since the pin of a later compiler may have keys that this one does not know.
    return _compare(values, source, version=version) or _unknown_keys(values, source)


def _read_pin(workspace: Workspace) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    try:
        data = DiskReader(workspace.folder).read(PIN_FILE.removesuffix(SUFFIX))
        return None if data is None else Source(PIN_FILE, data.decode()), ()
    except UnicodeDecodeError:
        reason = "it is not UTF-8, as TOML must be"
    except OSError as fault:
        reason = reason_of(fault)
    start = Label(Span(file=PIN_FILE, line=1, column=1, end_line=1, end_column=1))
    return None, (error("pin-invalid", f"`{PIN_FILE}` cannot be read: {reason}", start),)


def _unknown_keys(values: Mapping[str, object], source: Source) -> tuple[Diagnostic, ...]:
    """A misspelled pin would otherwise pin nothing."""
    return tuple(
        error(
            "pin-invalid",
            f"unknown key `{printable(key)}` in `{PIN_FILE}`",
            _key(key, source),
            help=(f"a key with a similar name exists: `{REQUIRES}`",)
            if near(key, [REQUIRES])
            else (),
        )
        for key in values
        if key != REQUIRES
    )


def _compare(
    values: Mapping[str, object], source: Source, *, version: str
) -> tuple[Diagnostic, ...]:
    pin = values.get(REQUIRES)
    if REQUIRES not in values or (isinstance(pin, str) and _is_plainly_allowed(pin, version)):
        return ()
    # Loading the library takes a third of a whole `check`, so only what is not plain pays for it.
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    try:
        allowed = SpecifierSet(pin if isinstance(pin, str) else "!")
        if allowed.contains(version, prereleases=True):
            return ()
    except ValueError:  # that of the library, or Python's own for numbers of thousands of digits
        summary = f"`{REQUIRES}` is no version range like `>=0.1,<0.2`"
        return (error("pin-invalid", summary, _pin(source)),)
    return (
        error(
            "pin-mismatch",
            f"this tree wants poolproof {allowed}, this is {version}",
            _pin(source),
            notes=("another version may write other bytes, and the diff would hide a real change",),
            help=(
                f"install the version that it wants: `pip install 'poolproof{allowed}'`",
                f"or move the pin in `{PIN_FILE}`, compile, and review the diff of `{OUT}/`",
            ),
        ),
    )


def _is_plainly_allowed(pin: str, version: str) -> bool:
    """Whether a pin of numbers alone (`>=0.1,<0.2`) holds for a version of numbers alone; else nothing is said."""
    parts = [_PLAIN_PIN.fullmatch(each.strip()) for each in pin.split(",")]
    if not version.replace(".", "").isdecimal():
        return False
    ours = _numbers(version)
    return all(
        part is not None
        and (ours >= _numbers(part[2]) if part[1] == ">=" else ours < _numbers(part[2]))
        for part in parts
    )


def _numbers(version: str) -> tuple[int, ...]:
    """A version's numbers without zeros at the end: `0.3` and `0.3.0` are one version."""
    numbers = [int(each) for each in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _pin(source: Source) -> Label:
    return Label(_entry(REQUIRES, source).value, "the pin")


def _key(key: str, source: Source) -> Label:
    entry = _entry(key, source)
    return Label(entry.key or entry.value)


def _entry(key: str, source: Source) -> Entry:
    from compiler.language.spans import index_spans  # noqa: PLC0415 - only what has something to say needs places

    return index_spans(source)[key,]
