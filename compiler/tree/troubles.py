"""Why `out/` was not read or not written, as diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compiler.diagnostics import Diagnostic, error, place_of, reason_of
from compiler.tree.states import Difference


def busy(root: Path) -> Diagnostic:
    """Another compile holds the lock."""
    return error(
        "out-busy",
        f"another compile is writing `{root.name}`",
        help=("wait for it to end, then run this again",),
    )


def unreadable(root: Path, failure: OSError) -> Diagnostic:
    """A folder could not be opened or listed."""
    return error(
        "out-unreadable",
        f"`{root.name}` cannot be read: {reason_of(failure)}",
        notes=place_of(failure),
    )


def unwritable(root: Path, failure: OSError, *, begun: bool) -> Diagnostic:
    """The machine would not; `begun` says whether files may have been renamed into place already."""
    after = (
        "a part of it may be new; the next compile finishes it" if begun else "nothing was changed"
    )
    return error(
        "out-unwritable",
        f"`{root.name}` cannot be written: {reason_of(failure)}",
        notes=(*place_of(failure), after),
    )


def edited(root: Path, differences: Sequence[Difference]) -> Diagnostic:
    """Files that somebody edited would be written over."""
    return error(
        "out-edited",
        f"{_were(differences, 'file')} edited by hand in `{root.name}`",
        notes=_listed(differences),
        help=(
            "put what is worth keeping into a profile, then run `poolproof compile --overwrite`",
        ),
    )


def foreign(root: Path, differences: Sequence[Difference]) -> Diagnostic:
    """Something that no compile wrote stands in the way."""
    return error(
        "out-foreign",
        f"{_were(differences, 'path')} taken in `{root.name}` by something that no compile wrote",
        notes=_listed(differences),
        help=("move it away, or write over it with `poolproof compile --overwrite`",),
    )


def immovable(root: Path, differences: Sequence[Difference]) -> Diagnostic:
    """Directories with something in them stand where files must go."""
    return error(
        "out-foreign",
        f"{_were(differences, 'path')} taken in `{root.name}` by a directory that is not empty",
        notes=_listed(differences),
        help=("move it away; `--overwrite` empties no directory",),
    )


def _were(differences: Sequence[Difference], noun: str) -> str:
    number = len(differences)
    return f"1 {noun} was" if number == 1 else f"{number} {noun}s were"


def _listed(differences: Sequence[Difference]) -> tuple[str, ...]:
    return tuple(
        f"`{each.path}`" + "".join(f"; {note}" for note in each.notes) for each in differences
    )
