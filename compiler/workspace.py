"""Where a tree is: its root, and the names of the profiles a person means."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.source import Source


if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PIN_FILE = "poolproof.toml"
PROFILES = "profiles"
OUT = "out"
SUFFIX = ".toml"


@frozen
class Workspace:
    """One tree: the folder that holds `profiles/` and `out/`."""

    root: Path

    @property
    def profiles(self) -> Path:
        """The folder of the profiles."""
        return self.root / PROFILES

    @property
    def out(self) -> Path:
        """The folder of what is written."""
        return self.root / OUT


@frozen(kw_only=True)
class Found:
    """The tree and the names of the profiles that were asked for; empty names mean all of them."""

    workspace: Workspace | None
    names: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def find(asked: Sequence[str], *, here: Path) -> Found:
    """Find the tree from the first profile's path upwards, else from `here`.

    A profile is asked for by its path (`profiles/k2.6-200k.toml`) or by its name (`k2.6-200k`).
    """
    paths = [here / each for each in asked if (here / each).is_file()]
    start = paths[0].resolve().parent if paths else here
    root = _root_above(start)
    if root is None:
        return Found(workspace=None, names=(), diagnostics=(_no_tree(here),))
    workspace = Workspace(root)
    names, faults = [], []
    for each in asked:
        named = _name_in(workspace, each, here)
        if named is None:
            faults.append(_outside(each, workspace))
        else:
            names.append(named)
    return Found(workspace=workspace, names=tuple(dict.fromkeys(names)), diagnostics=tuple(faults))


def _root_above(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / PIN_FILE).is_file() or (folder / PROFILES).is_dir():
            return folder
    return None


def _name_in(workspace: Workspace, asked: str, here: Path) -> str | None:
    path = here / asked
    if asked.endswith(SUFFIX) and path.is_file():
        try:
            return (
                path.resolve()
                .relative_to(workspace.profiles.resolve())
                .as_posix()
                .removesuffix(SUFFIX)
            )
        except ValueError:
            return None
    return asked.removesuffix(SUFFIX).removeprefix(f"{PROFILES}/")


def _no_tree(here: Path) -> Diagnostic:
    return error(
        "tree-missing",
        f"there is no `{PROFILES}/` or `{PIN_FILE}` in `{here}` or above it",
        help=(f"run this inside a tree, or make one: a folder `{PROFILES}/` with a profile in it",),
    )


def _outside(asked: str, workspace: Workspace) -> Diagnostic:
    return error(
        "profile-outside",
        f"`{asked}` is not below `{workspace.profiles}`",
        help=(f"move it there; names and `extends` are relative to `{PROFILES}/`",),
    )


def check_pin(workspace: Workspace, *, version: str) -> tuple[Diagnostic, ...]:
    """Whether this compiler is one that the tree's `poolproof.toml` allows; no file allows every one."""
    try:
        text = (workspace.root / PIN_FILE).read_text("utf-8")
        pin = tomllib.loads(text).get("requires")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        return (error("pin-invalid", f"`{PIN_FILE}` cannot be read: {fault}", _start()),)
    if pin is None:
        return ()
    return _compare(pin, text, version)


def _compare(pin: object, text: str, version: str) -> tuple[Diagnostic, ...]:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 - only a pinned tree pays for it

    place = _place(text)
    try:
        allowed = SpecifierSet(pin if isinstance(pin, str) else "!")
    except InvalidSpecifier:
        return (error("pin-invalid", "`requires` is no version range like `>=0.1,<0.2`", place),)
    if allowed.contains(version, prereleases=True):
        return ()
    return (
        error(
            "pin-mismatch",
            f"this tree wants poolproof {allowed}, this is {version}",
            place,
            notes=("another version may write other bytes, and the diff would hide a real change",),
            help=(
                f"install the version that it wants: `pip install 'poolproof{allowed}'`",
                f"or move the pin in `{PIN_FILE}`, compile, and review the diff of `{OUT}/`",
            ),
        ),
    )


def _place(text: str) -> Label:
    source = Source(PIN_FILE, text)
    start = text.find("requires")
    end = text.find("\n", start)
    return Label(source.span(start, len(text) if end < 0 else end), "the pin")


def _start() -> Label:
    return Label(Span(file=PIN_FILE, line=1, column=1, end_line=1, end_column=1))
