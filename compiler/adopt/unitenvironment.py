"""The variables that systemd gives a service: `Environment=`, then `EnvironmentFile=`, then `UnsetEnvironment=`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import field, frozen

from compiler.adopt.expansion import shown
from compiler.adopt.files import Files, as_source
from compiler.adopt.launch import Change, Kept, Word
from compiler.adopt.places import locate
from compiler.adopt.unitsheet import OPEN, Assigned, UnitSheet
from compiler.adopt.unreadfiles import optional_file
from compiler.diagnostics import Diagnostic, Label, error
from compiler.engines.adopting import ChangeKind
from compiler.quoting.shellfile import read_env_file
from compiler.quoting.unitvalue import read_environment, read_environment_file
from compiler.source import Source
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class UnitEnvironment(Value):
    """What a service gets.

    Attributes:
        is_complete: whether all files could be read.
    """

    variables: Mapping[str, Word]
    is_complete: bool = True
    changes: tuple[Change, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(factory=dict)


def unit_environment(
    sheet: UnitSheet, *, files: Files, section: str = "Service"
) -> UnitEnvironment:
    """The variables of one section. Errors: `launch-unreadable` for a file that is not there."""
    variables: dict[str, Word] = {}
    changes: list[Change] = []
    for each in sheet.of(section, "Environment"):
        told, noted = _items(each)
        variables |= told
        changes += noted
    found: list[Diagnostic] = []
    sources: dict[str, Source] = {}
    complete = True
    for each in sheet.of(section, "EnvironmentFile"):
        read, source, faults = _file(each, files=files)
        complete = complete and read is not None
        if read is None and not faults:
            changes.append(_maybe_there(each))
        variables |= read or {}
        sources |= {source.name: source} if source is not None else {}
        found += faults
    for each in sheet.of(section, "UnsetEnvironment"):
        for word in each.value.split():
            variables.pop(word.partition("=")[0], None)
    for each in sheet.of(section, "PassEnvironment"):
        text = f"`PassEnvironment={each.raw}`: the manager's own variables are not known"
        changes.append(Change(kind=ChangeKind.UNKNOWN, text=text, span=each.span))
    return UnitEnvironment(
        variables=variables,
        is_complete=complete and not sheet.of(section, "PassEnvironment"),
        changes=tuple(changes),
        diagnostics=tuple(found),
        sources=sources,
    )


def _items(each: Assigned) -> tuple[Mapping[str, Word], Iterator[Change]]:
    read = read_environment(each.value)
    spans = locate(
        each.source, [value for _, value in read.pairs], start=each.start, end=_end(each)
    )
    variables = {
        name: shown(Word(text=value, span=span))
        for (name, value), span in zip(read.pairs, spans, strict=True)
    }
    noted = (
        Change(kind=ChangeKind.DROPPED, text=f"`Environment=`: {remark}", span=each.span)
        for remark in read.remarks
        if OPEN not in remark
    )
    return variables, noted


def _end(each: Assigned) -> int:
    """Where the next assignment begins, or near enough."""
    at = each.start
    text = each.source.text
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if not text[at:end].rstrip("\r").endswith("\\") and not text[at:end].lstrip().startswith(
            ("#", ";")
        ):
            return end
        at = end + 1


def _file(
    each: Assigned, *, files: Files
) -> tuple[Mapping[str, Word] | None, Source | None, tuple[Diagnostic, ...]]:
    told = read_environment_file(each.value)
    if OPEN in told.path or told.is_pattern:
        summary = f"`EnvironmentFile={each.raw}` stands for files that are known on the host only"
        help_ = ("say which instance: `--var i=NAME`",) if "%i" in each.raw.lower() else ()
        return None, None, (error("launch-unreadable", summary, Label(each.span), help=help_),)
    path = next(
        (path for path in (told.path, _beside(each, told.path)) if files.read(path) is not None),
        None,
    )
    data = files.read(path) if path is not None else None
    if path is None or data is None:
        if told.optional:
            return None, None, ()
        return None, None, (_missing(each, told.path),)
    if not data.strip():
        return {}, None, ()
    source, faults = as_source(path, data)
    if source is None:
        return None, None, faults
    read = read_env_file(source.text)
    spans = locate(source, list(read.values.values()), start=0, end=len(source.text))
    # A copy beside the unit may be read by more than the file that it is a copy of.
    is_private = files.is_private(path)
    kept = Kept(path=told.path, is_private=is_private if is_private or path == told.path else None)
    variables = {
        name: Word(text=value, span=span, kept=kept)
        for (name, value), span in zip(read.values.items(), spans, strict=True)
    }
    return variables, source, ()


def _beside(each: Assigned, path: str) -> str:
    """Where a copy of a file is looked for."""
    return str(PurePosixPath(each.source.name).parent / PurePosixPath(path).name)


def _maybe_there(each: Assigned) -> Change:
    path = read_environment_file(each.value).path
    return optional_file(path, copy=_beside(each, path), span=each.span)


def _missing(each: Assigned, path: str) -> Diagnostic:
    return error(
        "launch-unreadable",
        f"the environment file `{path}` is not here",
        Label(each.span, "names it"),
        notes=(
            "what it sets may be part of the launch; systemd itself does not start the unit without it",
        ),
        help=(
            f"put a copy beside the unit, under the name `{PurePosixPath(path).name}`",
            "or run this on the host",
        ),
    )
