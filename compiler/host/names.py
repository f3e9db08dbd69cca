"""The boundary to what is not ours: who holds the unit's name, and what may not be started or is changed by others."""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error, warning
from compiler.host.places import CURRENT, GENERATION, SHADOWED, Places, below
from compiler.host.record import read_record
from compiler.host.units import Scope, UnitState
from compiler.quantities import counted
from compiler.value import Value


_DEV_NULL = "/dev/null"


class Holder(Enum):
    """Who holds the unit's name."""

    NOBODY = auto()
    OURS = auto()
    MASK = auto()
    FOREIGN = auto()


@frozen(kw_only=True, eq=False, repr=False)
class Holding(Value):
    """What stands where the manager looks for the unit.

    Attributes:
        what: the same in words, where it is somebody else's.
        kept_in: the folder of its generations, where a switch put it there with another `state_dir`.
        content: the text of somebody else's unit, where it can be read.
    """

    holder: Holder
    what: str = ""
    kept_in: str | None = None
    content: bytes | None = None


def look_at_name(places: Places) -> Holding:
    """Who holds the unit's name: in our folder, or in one that ours would hide."""
    for path in (places.unit_path, *_hidden(places)):
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if places.is_ours(path):
            return Holding(holder=Holder.OURS)
        return _holding(places, path, mode=mode)
    return Holding(holder=Holder.NOBODY)


def _hidden(places: Places) -> Iterator[Path]:
    for folder in SHADOWED[places.scope]:
        yield below(places.root, f"{folder}/{places.unit}")


def _holding(places: Places, path: Path, *, mode: int) -> Holding:
    link = str(path.readlink()) if stat.S_ISLNK(mode) else None
    at = f"at `{places.on_host(path)}`"
    if link == _DEV_NULL or (stat.S_ISREG(mode) and path.stat().st_size == 0):
        return Holding(holder=Holder.MASK, what=at)
    kept_in = None if link is None else _kept_in(places, path, link)
    kind = "a file" if stat.S_ISREG(mode) else "something that is no file"
    return Holding(
        holder=Holder.FOREIGN,
        what=f"{kind if link is None else f'a link to `{link}`'} {at}",
        kept_in=kept_in,
        content=_content(path),
    )


def _kept_in(places: Places, path: Path, link: str) -> str | None:
    """The folder of generations of the same unit that a link leads into; `None` where it leads to anything else."""
    meant = posixpath.normpath(posixpath.join(places.on_host(path.parent), link))
    folder, name = posixpath.split(meant)
    state_dir, generation = posixpath.split(folder)
    if name != places.unit or not (generation == CURRENT or generation.startswith(GENERATION)):
        return None
    record = read_record(below(places.root, state_dir))
    return state_dir if record is not None and record.unit == places.unit else None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def check_name(
    places: Places, holding: Holding, *, replace: bool, state: UnitState | None
) -> tuple[Diagnostic, ...]:
    """Why the unit's name cannot be taken, and what is to be known about it; `state` is what the manager says.

    Errors: `unit-masked`, `unit-foreign`. Warnings: `unit-drop-in`.
    """
    found: list[Diagnostic] = []
    is_folder = places.unit_path.is_dir() and not places.unit_path.is_symlink()
    is_masked = state is not None and state.is_masked
    if is_masked or holding.holder is Holder.MASK:
        found.append(_masked(places))
    elif holding.holder is Holder.FOREIGN and (is_folder or not replace):
        found.append(
            _foreign(places, holding.what, movable=not is_folder)
            if holding.kept_in is None
            else _kept_elsewhere(places, holding.kept_in)
        )
    drop_ins = drop_ins_of(places, state)
    if drop_ins:
        found.append(dropped_in(places.unit, drop_ins))
    return tuple(found)


def _masked(places: Places) -> Diagnostic:
    option = " --user" if places.scope is Scope.USER else ""
    return error(
        "unit-masked",
        f"`{places.unit}` is masked: somebody forbade to start it",
        notes=("nothing was changed",),
        help=(f"when that is over, run `systemctl{option} unmask {places.unit}`",),
    )


def dropped_in(unit: str, files: tuple[str, ...]) -> Diagnostic:
    """An operator's files change what was reviewed."""
    several = "a file changes it" if len(files) == 1 else f"{counted(len(files), 'file')} change it"
    return warning(
        "unit-drop-in",
        f"`{unit}` does not run as it was reviewed: {several}",
        notes=tuple(f"`{each}`" for each in files),
        help=(
            "move what should stay into a profile, then remove the file; one that only orders starts (`After=`) may stay",
        ),
    )


def _foreign(places: Places, what: str, *, movable: bool) -> Diagnostic:
    ways: tuple[str, ...] = ("give the target another `unit`, and compile",)
    if movable:
        ways = (*ways, "or take its place with `--replace-unit`; a file of yours is kept aside")
    return error(
        "unit-foreign",
        f"`{places.unit}` is there already, and no switch put it there: {what}",
        notes=("nothing was changed",),
        help=ways,
    )


def _kept_elsewhere(places: Places, state_dir: str) -> Diagnostic:
    """A switch put it there, and its folder is not the one that the target has now."""
    return error(
        "unit-foreign",
        f"`{places.unit}` is a generation of the same unit under another `state_dir`, `{state_dir}`",
        notes=(
            f"a switch put it there; this target keeps its generations in `{places.state_dir}`",
            "nothing was changed",
        ),
        help=(
            f'keep the folder: `state_dir = "{state_dir}"` in the target, and compile',
            f"or end it there first, which stops it: `poolproof retire {state_dir}`",
        ),
    )


def drop_ins_of(places: Places, state: UnitState | None) -> tuple[str, ...]:
    """The files that change this unit, as paths of the host: those the manager has read, and those it will read."""
    folders = [places.units, *(below(places.root, each) for each in SHADOWED[places.scope])]
    standing = (
        places.on_host(path)
        for folder in folders
        for path in sorted((folder / f"{places.unit}.d").glob("*.conf"))
    )
    return tuple(dict.fromkeys((*(() if state is None else state.drop_ins), *standing)))
