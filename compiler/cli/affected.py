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
from compiler.workspace import PIN_FILE, PROFILES, is_file, is_folder, is_there


_SHIPPED = "compiler/catalog/data/"


@click.command(name="affected")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", shell_complete=completing.files
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: profiles by file.")
def command(files: tuple[str, ...], *, as_json: bool) -> int:
    """List the deployable profiles that a FILE touches, one a line.

    A FILE is a profile or a fragment (a path or a name), a recorded boot, or an entry of the catalogue; of a folder, all files
    below it are meant. Any other file that is there touches none, as may be among those of a change, nor does one that a
    commit had and that nobody asks for now. Profiles that cannot be read whole may be touched too: stderr, and `unseen` of
    the object, name those.
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
        above = _place(file, path, session, known)
        if above is None:
            why = _why_none(file, path, session)
            if why is None:
                unknown.append(_unknown(file, path, known | set(_files(session))))
            else:
                reached[file] = []
                click.echo(why, err=True)
            continue
        reached[file] = sorted(name for name, parts in made.items() if _has(parts, above))
        unseen |= {
            name
            for name in made.keys() - set(reached[file])
            if above != _ELSEWHERE and not is_looked_at(name, above, session.inputs)
        }
        if above.endswith("/"):
            click.echo(_of_a_folder(file, reached[file]), err=True)
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
        sys.stdout.writelines(f"{printable(name)}\n" for name in names)
    return Exit.REFUSED if found else Exit.OK


def _path(file: str, session: Session) -> str:
    """The path below `profiles/`, from where the user is; a name is that of a profile."""
    profiles = session.workspace.profiles.resolve()
    shipped = file.removeprefix("./")
    if shipped.startswith(_SHIPPED):
        return f"catalog/{shipped.removeprefix(_SHIPPED)}"
    path = _below(Path.cwd() / file, profiles)
    if path is None:
        path = file.removeprefix("./").removeprefix(f"{PROFILES}/")
    return path if path.endswith((SUFFIX, ".json")) else f"{path}{SUFFIX}"


def _place(file: str, path: str, session: Session, known: frozenset[str]) -> str | None:
    """The file below `profiles/` that is meant, or the folder, as `_folder` has it; `None` where it is neither."""
    if path in known or is_file(session.workspace.profiles / path) or _is_shipped(path):
        return path
    return _folder(file, session, known)


def _why_none(file: str, path: str, session: Session) -> str | None:
    """Why no profile is made of it; `None` for what never was there."""
    if _stands(file, session):
        return _beside(file)
    if _is_gone(file, path, session):
        return f"`{printable(file)}` is gone, and no profile asks for it"
    return None


def _below(place: Path, profiles: Path) -> str | None:
    """A place's path below the folder of profiles; `None` for one elsewhere."""
    try:
        return place.resolve().relative_to(profiles).as_posix()
    except (OSError, RuntimeError, ValueError):
        return None


_ALL, _ELSEWHERE = "./", "../"
"""What stands for the folder of profiles and all above it, and for a folder that holds none."""


def _folder(file: str, session: Session, known: frozenset[str]) -> str | None:
    """Where a folder's files begin below `profiles/`, with a `/` at the end; `None` for what is no folder."""
    named = file.removeprefix("./").rstrip("/")
    if f"{named}/".startswith(_SHIPPED):
        shipped = f"catalog/{named.removeprefix(_SHIPPED.rstrip('/')).lstrip('/')}".rstrip("/")
        return f"{shipped}/" if any(each.startswith(f"{shipped}/") for each in known) else None
    profiles = session.workspace.profiles.resolve()
    starts = (Path.cwd(), session.workspace.root, session.workspace.profiles)
    place = next((each / file for each in starts if file and is_folder(each / file)), None)
    if place is None:
        return None
    below = _below(place, profiles)
    if below is None and profiles.is_relative_to(place.resolve()):
        return _ALL
    if below is None:  # a link to a folder elsewhere has its files by the name that it has here
        below = named.removeprefix(f"{PROFILES}/")
        return f"{below}/" if any(each.startswith(f"{below}/") for each in known) else _ELSEWHERE
    return _ALL if below == "." else f"{below}/"


def _has(parts: frozenset[str], path: str) -> bool:
    """Whether a file is among some, or for a folder one below it."""
    if path.endswith("/"):
        return path == _ALL or any(each.startswith(path) for each in parts)
    return path in parts


def _of_a_folder(file: str, reached: Sequence[str]) -> str:
    """What is listed for a folder."""
    shown = printable(file)
    if not reached:
        return f"`{shown}` is a folder, and no profile is made of a file below it"
    return f"`{shown}` is a folder: these are made of files below it"


def _stands(file: str, session: Session) -> bool:
    """Whether it is there, in the tree or where the user is, and no profile can be made of it."""
    return bool(file) and any(
        is_there(each / file) for each in (Path.cwd(), session.workspace.root)
    )


def _is_gone(file: str, path: str, session: Session) -> bool:
    """Whether a commit had it: a change may take a file away, or give it another name."""
    from compiler.diff.git import was_there  # noqa: PLC0415 - a file that is there needs no git

    root = session.workspace.root
    places = dict.fromkeys((session.workspace.profiles / path, Path.cwd() / file, root / file))
    return any(was_there(root, each) for each in places)


def _unseen(name: str) -> str:
    """That a profile may be touched, in the words of a neighbour that cannot be planned."""
    return (
        f"`{printable(name)}` cannot be read whole and may be touched too, since what it is made of was not looked at: "
        f"`poolproof check {printable(name)}` says why"
    )


def _beside(file: str) -> str:
    """Why a file that is there touches no profile."""
    if Path(file).name == PIN_FILE:
        return f"`{printable(file)}` says which compiler may compile the tree; no profile is made of it"
    return f"`{printable(file)}` is there, and no profile is made of it"


def _is_shipped(path: str) -> bool:
    return (
        path.startswith("catalog/")
        and shipped_shelf().open(path.removeprefix("catalog/"))[0] is not None
    )


def _files(session: Session) -> Iterator[str]:
    yield from (f"{name}{SUFFIX}" for name in session.names)


def _unknown(file: str, path: str, known: frozenset[str] | set[str]) -> Diagnostic:
    similar = near(path, known)
    advice = (f"a file with a similar name exists: `{PROFILES}/{similar}`",) if similar else ()
    if len(file) > 1 and file.startswith('"') and file.endswith('"'):
        advice = (_QUOTED,)
    return error(
        "file-unknown",
        f"there is no `{printable(file)}`, and no profile asks for it",
        help=advice,
    )


_QUOTED = (
    "git writes a name in quotes where it has characters beyond plain ones; as it is, "
    "`git diff --name-only -z | xargs -0 poolproof affected` gives it, "
    "or `git -c core.quotePath=false diff --name-only` where they are letters of other alphabets"
)
