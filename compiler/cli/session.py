"""What the verbs share: finding the tree, opening its inputs, printing findings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import click
from attrs import frozen

from compiler import __version__
from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.profile import Name, Version
from compiler.source import Source
from compiler.value import Value
from compiler.versions import is_release
from compiler.workspace import PIN_FILE, PROFILES, FoundTree, Workspace, check_pin, find


if TYPE_CHECKING:
    # The verbs of the host show findings as well, and compile nothing.
    from compiler.catalog import Catalog
    from compiler.inputs import Inputs


class Format(StrEnum):
    """How findings are shown."""

    TEXT = "text"
    GITHUB = "github"
    JSON = "json"


@frozen(kw_only=True, eq=False, repr=False)
class Session(Value):
    """One run over one tree; `names` are the profiles that were asked for, or all of them."""

    workspace: Workspace
    inputs: Inputs
    names: tuple[str, ...]
    named: bool


def open_session(
    asked: Sequence[str], *, engine: tuple[Name, Version] | None = None
) -> tuple[Session | None, tuple[Diagnostic, ...]]:
    """Find the tree and open its inputs, or say why not; `engine` is tried in place of the profiles' own."""
    found = find_tree(asked)
    if found.workspace is None:
        return None, found.diagnostics
    faults = (*check_pin(found.workspace, version=__version__), *found.diagnostics)
    if faults:
        return None, faults
    from compiler.catalog import FolderReader, open_catalog  # noqa: PLC0415 - what compiles needs it
    from compiler.inputs import Inputs  # noqa: PLC0415 - as above
    from compiler.language.load import DiskReader  # noqa: PLC0415 - as above

    folder = found.workspace.profiles_folder
    reader = DiskReader(folder)
    names = found.names
    if not asked:
        try:
            names = reader.names()
        except OSError as fault:
            return None, (_unlistable(fault),)
    inputs = Inputs(reader=reader, catalog=open_catalog(FolderReader(folder)), engine=engine)
    session = Session(workspace=found.workspace, inputs=inputs, names=names, named=bool(asked))
    return session, ()


def find_tree(asked: Sequence[str]) -> FoundTree:
    """Find the tree from the working directory; see `workspace.find`."""
    try:
        here = os.getcwd()
    except OSError:
        gone = error("tree-missing", "the working directory is not there any more")
        return FoundTree(workspace=None, names=(), diagnostics=(gone,))
    return find(asked, here=here)


def _unlistable(fault: OSError) -> Diagnostic:
    return error("profile-unreadable", f"`{PROFILES}/` cannot be listed: {reason_of(fault)}")


def engine_release(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[Name, Version] | None:
    """An option's engine with its release, `sglang@0.5.11`; a release by itself is one of the default engine."""
    if value is None:
        return None
    from compiler.engines import DEFAULT  # noqa: PLC0415 - only where it is asked for

    given = value if "@" in value or not value[:1].isdigit() else f"{DEFAULT}@{value}"
    name, _, version = given.partition("@")
    if not (name.isalnum() and is_release(version)):
        said = "expected a release, `0.5.11`, or an engine with its release, `sglang@0.5.11`"
        raise click.BadParameter(said, ctx=context, param=option)
    return Name(name), Version(version)


def catalogue_here() -> Catalog:
    """The catalogue of the tree we stand in; the shipped one where there is none."""
    from compiler.catalog import FolderReader, open_catalog  # noqa: PLC0415 - as in `open_session`

    found = find_tree(())
    return open_catalog(
        None if found.workspace is None else FolderReader(found.workspace.profiles_folder)
    )


def show(
    found: Sequence[Diagnostic], session: Session | None = None, *, form: Format = Format.TEXT
) -> None:
    """Print findings for people on stderr, or as annotations on stdout. Nothing to say prints nothing."""
    if not found:
        return
    if form is Format.GITHUB:
        from compiler.report.github import render_github  # noqa: PLC0415 - what only some runs need

        sys.stdout.write(render_github(found, below=_below(session)))
        return
    from compiler.report.counting import summary_line  # noqa: PLC0415 - a run without findings does without it
    from compiler.report.text import render_text  # noqa: PLC0415 - as above

    text = render_text(
        found,
        sources=sources(found, session),
        colour=wants_colour(sys.stderr),
        width=width(),
        terminal=sys.stderr.isatty(),
    )
    sys.stderr.write(f"{text}\n{summary_line(found)}\n")


def sources(found: Sequence[Diagnostic], session: Session | None) -> Mapping[str, Source]:
    """The texts of all files that findings point into."""
    if session is None:
        return {}
    labels = (label for each in found for label in (each.primary, *each.secondary) if label)
    names = dict.fromkeys(label.span.file for label in labels)
    texts = {name: _source(name, session) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def _source(name: str, session: Session) -> Source | None:
    from compiler.language.load import load_source, name_of  # noqa: PLC0415 - what compiled has it already

    profile = name_of(name)
    loaded = session.inputs.documents.get(profile)
    if loaded is not None and loaded[0] is not None:
        return loaded[0].source
    if name == PIN_FILE:
        return None
    return session.inputs.catalog.source(name) or load_source(session.inputs.reader, profile)


def wants_colour(stream: object) -> bool:
    """Whether a stream is a terminal that shows colour; `NO_COLOR` and `FORCE_COLOR` are honoured."""
    from os import environ  # noqa: PLC0415 - the one look at the environment

    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", lambda: False)()) and environ.get("TERM") != "dumb"


_NARROWEST, _COLUMNS = 40, 100
"""A narrower terminal wraps by itself: words and places have to stay whole."""


def width() -> int:
    """The width that lines keep to: the terminal's, unless it is very narrow."""
    return max(_NARROWEST, columns())


def print_json(value: object) -> None:
    """Print one JSON object on stdout, in ASCII: JSON in whatever encoding a terminal has."""
    import json  # noqa: PLC0415 - what only some runs need

    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def findings_json(found: Iterable[Diagnostic]) -> dict[str, object]:
    """The findings, as every object that a verb prints has them."""
    from compiler.report.contract import diagnostic_json  # noqa: PLC0415 - what only some runs need

    return {"diagnostics": [diagnostic_json(each) for each in found]}


def write_lines(lines: Iterable[str], *, beside: bool = False) -> None:
    """Print lines, broken where a terminal is too narrow for them; who pipes them has them whole.

    They go to stdout, or, where they stand `beside` the result, to stderr.
    """
    stream = sys.stderr if beside else sys.stdout
    if stream.isatty():
        from compiler.report.prose import narrowed  # noqa: PLC0415 - only for a terminal

        wide = width()
        lines = (row for line in lines for row in narrowed(line, width=wide))
    stream.writelines(f"{line}\n" for line in lines)


def _below(session: Session | None) -> str:
    """Where the tree stands in the repository that a workflow of GitHub runs in, which counts paths from its root."""
    top = os.environ.get("GITHUB_WORKSPACE", "")
    if session is None or not top:
        return ""
    inside = os.path.relpath(os.path.realpath(session.workspace.folder), os.path.realpath(top))
    return "" if inside == "." or inside.split("/")[0] == ".." else f"{inside}/"


def columns() -> int:
    """The terminal's width; 100 where there is none.

    As `shutil` asks for it, which loads three kinds of archives: a fiftieth of a `check` that has findings.
    """
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _COLUMNS
    except (OSError, ValueError):  # no terminal, or no file at all
        return _COLUMNS
