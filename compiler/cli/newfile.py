"""A file that a verb writes where it is told to: beside what is there, over it only when told."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from compiler.cli.exits import Exit
from compiler.cli.wholefile import write_whole
from compiler.diagnostics import reason_of
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Unwritten(Value):
    """Why a file was not written: the end of a sentence about it, and what the run then ends with."""

    why: str
    exit: Exit

    @property
    def is_there(self) -> bool:
        """Whether it is because there is one already."""
        return self.exit is Exit.REFUSED


def write_new(path: Path, text: str, *, overwrite: bool = False) -> Unwritten | None:
    """Write a file whole, and the folders that it needs; or why that could not be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(text, path, is_new=not overwrite)
    except FileExistsError:
        return Unwritten(why="is there already", exit=Exit.REFUSED)
    except (OSError, RuntimeError) as fault:  # the latter for links that lead in a circle
        return Unwritten(why=f"cannot be written: {reason_of(fault)}", exit=Exit.MACHINE)
    return None
