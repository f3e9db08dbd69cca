"""`poolproof affected`: the deployable profiles that are made of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from compiler.catalog.shelves import shipped_shelf
from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import Session, findings_json, open_session, print_json, show
from compiler.diagnostics import Diagnostic, error, printable
from compiler.diff.ingredients import ingredients_of, is_looked_at
from compiler.language.load import SUFFIX
from compiler.near import near
from compiler.workspace import PIN_FILE, PROFILES, is_file


_SHIPPED = "compiler/catalog/data/"


@click.command(name="affected")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", shell_complete=completing.files
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: profiles by file.")
def command(files: tuple[str, ...], *, as_json: bool) -> int:
    """List the deployable profiles that a FILE touches, one a line.

    A FILE is a profile or a fragment (a path or a name), a recorded boot, or an entry of the catalogue. Any other file that is
    there touches none, as may be among those of a change, nor does one that a commit had and that nobody asks for now. Profiles that cannot be read whole may be touched too: stderr, and
    `unseen` of the object, name those.
    """
    session, faults = open_session(())
    if session is None:
        return _finish({}, faults, None, (), as_json=as_json)
    made = ingredients_of(session.names, session.inputs)
    known = frozenset(path for parts in made.values() for path in parts)
    reached: dict[str, list[str]] = {}
    unknown: list[Diagnostic] = []
    unseen: set[str] = set()
    for file in files:
        path = _path(file, session)
        if path in known or is_file(session.workspace.profiles / path) or _is_shipped(path):
            reached[file] = sorted(name for name, parts in made.items() if path in parts)
            unseen |= {
                name
                for name in made.keys() - set(reached[file])
                if not is_looked_at(name, path, session.inputs)
            }
        elif _stands(file, session):
            reached[file] = []
            click.echo(_beside(file), err=True)
        elif _is_gone(path, session):
            reached[file] = []
            click.echo(f"`{printable(file)}` is gone, and no profile asks for it", err=True)
        else:
            unknown.append(_unknown(file, path, known | set(_files(session))))
    return _finish(reached, unknown, session, sorted(unseen), as_json=as_json)


def _finish(
    reached: Mapping[str, Sequence[str]],
    found: Sequence[Diagnostic],
    session: Session | None,
    unseen: Sequence[str],
    *,
    as_json: bool,
) -> Exit:
    """Print what was found, with what was not, and with what could not be looked at."""
    if as_json:
        print_json({"schema": 1, "files": reached, "unseen": unseen, **findings_json(found)})
    else:
        show(found, session)
        names = sorted({name for several in reached.values() for name in several})
        for name in unseen:
            if name not in names:
                click.echo(_unseen(name), err=True)
        sys.stdout.writelines(f"{name}\n" for name in names)
    return Exit.REFUSED if found else Exit.OK


def _path(file: str, session: Session) -> str:
    """The path below `profiles/`, from where the user is; a name is that of a profile."""
    profiles = session.workspace.profiles.resolve()
    shipped = file.removeprefix("./")
    if shipped.startswith(_SHIPPED):
        return f"catalog/{shipped.removeprefix(_SHIPPED)}"
    try:
        return (Path.cwd() / file).resolve().relative_to(profiles).as_posix()
    except (OSError, RuntimeError, ValueError):
        pass
    named = file.removeprefix("./").removeprefix(f"{PROFILES}/")
    return named if named.endswith((SUFFIX, ".json")) else f"{named}{SUFFIX}"


def _stands(file: str, session: Session) -> bool:
    """Whether it is a file of the tree, or of where the user is, that no profile can be made of."""
    return bool(file) and any(is_file(each / file) for each in (Path.cwd(), session.workspace.root))


def _is_gone(path: str, session: Session) -> bool:
    """Whether a commit had it: a change may take a file away, or give it another name."""
    from compiler.diff.git import was_there  # noqa: PLC0415 - a file that is there needs no git

    return was_there(session.workspace.root, session.workspace.profiles / path)


def _unseen(name: str) -> str:
    """That a profile may be touched, in the words of a neighbour that cannot be planned."""
    return (
        f"`{printable(name)}` cannot be read whole and may be touched too, since what it is made of was not looked at: "
        f"`poolproof check {printable(name)}` says why"
    )


def _beside(file: str) -> str:
    """Why a file that is there touches no profile."""
    if Path(file).name == PIN_FILE:
        return f"`{file}` says which compiler may compile the tree; no profile is made of it"
    return f"`{file}` is there, and no profile is made of it"


def _is_shipped(path: str) -> bool:
    return shipped_shelf().open(path.removeprefix("catalog/"))[0] is not None


def _files(session: Session) -> Iterator[str]:
    yield from (f"{name}{SUFFIX}" for name in session.names)


def _unknown(file: str, path: str, known: frozenset[str] | set[str]) -> Diagnostic:
    similar = near(path, known)
    return error(
        "file-unknown",
        f"there is no `{file}`, and no profile asks for it",
        help=(f"a file with a similar name exists: `{PROFILES}/{similar}`",) if similar else (),
    )
