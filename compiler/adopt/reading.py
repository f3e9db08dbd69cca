"""A text goes in; the one launch in it comes out, or why there is none, or which there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from attrs import field, frozen

from compiler.adopt.command import launches_of
from compiler.adopt.compose import read_compose
from compiler.adopt.files import FileKind, Files, kind_of
from compiler.adopt.launch import Command, Launch, Sheet, Word
from compiler.adopt.places import locate
from compiler.adopt.quadlet import read_quadlet
from compiler.adopt.shell import read_shell
from compiler.adopt.unit import read_unit_file
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.source import Source
from compiler.value import Value


# A variable, a command, all arguments: what a shell would have replaced.
_LEFT = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_@*#?!0-9]\w*|`[^`]+`")

PASTED = "command line"
"""What a pasted command is called in messages."""


@frozen(kw_only=True, eq=False, repr=False)
class Read(Value):
    """What was read; no launch when `diagnostics` say why. `findings` are about a unit itself."""

    launch: Launch | None
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(factory=dict)


def read_file(
    source: Source, *, files: Files, given: Mapping[str, str], line: int | None = None
) -> Read:
    """The launch of a file; `line` says which, where it holds several.

    Errors: `launch-unreadable`, `launch-missing`, `launch-several`; for a unit also what `hygiene` finds.
    """
    kind = kind_of(source)
    if kind is FileKind.UNIT:
        sheet = read_unit_file(source, files=files)
    elif kind is FileKind.QUADLET:
        sheet = read_quadlet(source, files=files)
    elif kind is FileKind.COMPOSE:
        sheet = read_compose(source, files=files, given=given)
    else:
        sheet = read_shell(source, given=given)
    return _chosen(sheet, whole=source, kind=kind, line=line)


def read_words(words: Sequence[str]) -> Read:
    """The launch of a pasted command, which its shell has taken apart already; what it left of `$NAME` is not known."""
    source = Source(PASTED, shlex.join(words))
    spans = locate(source, words, start=0, end=len(source.text))
    told = tuple(
        Word(text=text, span=span, unknown=tuple(_LEFT.findall(text)))
        for text, span in zip(words, spans, strict=True)
    )
    sheet = Sheet(commands=(Command(words=told),), sources={source.name: source})
    return _chosen(sheet, whole=source, kind=FileKind.SCRIPT, line=None)


def _chosen(sheet: Sheet, *, whole: Source, kind: FileKind, line: int | None) -> Read:
    found = list(sheet.diagnostics)
    launches: list[Launch] = []
    for command in sheet.commands:
        several, faults = launches_of(command, sources=sheet.sources)
        launches += several
        found += faults
    if line is not None:
        launches = [each for each in launches if _covers(each, line, file=whole.name)]
    if not launches and not any(each.is_error for each in found):
        found.append(_missing(whole, kind, sheet, line=line))
    if len(launches) > 1:
        found.append(_several(launches, kind))
    launch = launches[0] if len(launches) == 1 else None
    return Read(
        launch=launch, diagnostics=tuple(found), findings=sheet.findings, sources=sheet.sources
    )


def entry_span(launch: Launch) -> Span | None:
    """Where the engine is started."""
    return launch.command.words[launch.found.entry].span


def _covers(launch: Launch, line: int, *, file: str) -> bool:
    """Whether a launch stands on a line; words that came from elsewhere do not count."""
    spans = [each.span for each in launch.command.words[: launch.found.arguments]]
    lines = [span for span in spans if span is not None and span.file == file]
    own = [
        each.span.end_line
        for each in launch.command.words
        if each.span is not None
        and each.span.file == file
        and lines
        and each.span.line >= lines[0].line
    ]
    return bool(lines) and lines[0].line <= line <= max(own)


def _missing(whole: Source, kind: FileKind, sheet: Sheet, *, line: int | None) -> Diagnostic:
    first = next((each for each in sheet.commands if each.words), None)
    programs = dict.fromkeys(
        PurePosixPath(each.words[0].text).name for each in sheet.commands if each.words
    )
    most = 8
    names = [f"`{each}`" for each in programs if each.isprintable()][:most]
    runs = f"it runs {', '.join(names)}{' and more' if len(programs) > most else ''}"
    span = first.words[0].span if first is not None else None
    top = Span(file=whole.name, line=1, column=1, end_line=1, end_column=1)
    where = f"on line {line} of this {kind}" if line is not None else f"in this {kind}"
    return error(
        "launch-missing",
        f"no command {where} starts an engine that is known",
        Label(
            span
            if span is not None and span.file == whole.name and kind is not FileKind.SCRIPT
            else top
        ),
        notes=(runs if names else "it runs nothing",),
        help=(
            "known are `python -m sglang.launch_server ...` and `sglang serve ...`; where another script holds the launch, adopt that one",
        ),
    )


def _several(launches: Sequence[Launch], kind: FileKind) -> Diagnostic:
    spans = [span for each in launches if (span := entry_span(each)) is not None]
    first, *others = (Label(span, f"launch {number}") for number, span in enumerate(spans, start=1))
    return error(
        "launch-several",
        f"there are {len(launches)} launches in this {kind}; a profile is one",
        first,
        secondary=tuple(others),
        help=(f"say which by its line: `--line {spans[0].line}`",),
    )
