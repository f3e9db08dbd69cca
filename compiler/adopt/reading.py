"""A text goes in; the one launch in it comes out, or why there is none, or which there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from attrs import evolve, field, frozen

from compiler.adopt.beside import other_commands
from compiler.adopt.command import launches_of
from compiler.adopt.files import NO_FILES, FileKind, Files, kind_of
from compiler.adopt.launch import Change, Command, Launch, Sheet, Word
from compiler.adopt.launchfaults import (
    MOST_WORDS,
    cut_short,
    entry_span,
    missing,
    several_of,
    too_long,
)
from compiler.adopt.lines import beside, on_line
from compiler.adopt.mounts import on_host
from compiler.adopt.names import told_names
from compiler.adopt.places import locate
from compiler.adopt.readers import read_sheet_of
from compiler.adopt.release import pinned_release
from compiler.adopt.templates import undecided
from compiler.adopt.written import prepared, with_written
from compiler.diagnostics import Diagnostic, Span
from compiler.engines.adopting import ChangeKind
from compiler.secrecy import secret_values
from compiler.source import Source
from compiler.value import Value


# A variable, a command, all arguments: what a shell would have replaced.
_LEFT = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_@*#?!0-9]\w*|`[^`]+`")

_NAMED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
PASTED = "command line"
"""What a pasted command is called in messages."""


@frozen(kw_only=True, eq=False, repr=False)
class Read(Value):
    """What was read; no launch when `diagnostics` say why. `findings` are about a unit itself.

    Attributes:
        written: the texts of the files that it writes beside the launch, by their names.
    """

    launch: Launch | None
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(factory=dict)
    written: Mapping[str, str] = field(factory=dict)

    @property
    def hidden(self) -> frozenset[str]:
        """The secrets that its texts hold."""
        return secret_values(*(each.text for each in self.sources.values()))


def read_file(
    source: Source, *, files: Files, given: Mapping[str, str], line: int | None = None
) -> Read:
    """The launch of a file; `line` says which, where it holds several.

    Errors: `launch-unreadable`, `launch-missing`, `launch-several`; for a unit also what `hygiene` finds.
    """
    kind = kind_of(source)
    sheet = read_sheet_of(kind, source, files=files, given=given)
    launches, found = _launches(sheet, files, given)
    if not launches and sheet.documents:
        written = _of_documents(sheet, source, files=files, given=given, of=kind)
        if written is not None:
            sheet, launches, found, kind = written
    return _chosen(sheet, launches, found, whole=source, kind=kind, line=line)


def _launches(
    sheet: Sheet, files: Files, given: Mapping[str, str]
) -> tuple[list[Launch], list[Diagnostic]]:
    """The launches of all commands, and what is wrong."""
    found = list(sheet.diagnostics)
    launches: list[Launch] = []
    for command in sheet.commands:
        several, faults = launches_of(command, sources=sheet.sources, files=files, said=given)
        launches += (told_names(on_host(each, given, here=files.here)) for each in several)
        found += faults
    return launches, found


def _of_documents(
    script: Sheet, whole: Source, *, files: Files, given: Mapping[str, str], of: FileKind
) -> tuple[Sheet, list[Launch], list[Diagnostic], FileKind] | None:
    """The launches of the files that a script writes, or a page shows, when it starts none itself."""
    files = with_written(files, script.documents)
    sheets: list[Sheet] = []
    launches: list[Launch] = []
    found: list[Diagnostic] = []
    kinds: list[FileKind] = []
    for document in script.documents:
        kind = kind_of(Source(document.name, document.text.text))
        is_script = document.name.endswith((".sh", ".bash")) or document.text.text.startswith("#!")
        if kind is FileKind.SCRIPT and not is_script:
            continue
        written = prepared(document, whole)
        sheet = written.placed(read_sheet_of(kind, written.source, files=files, given=given))
        several, faults = _launches(sheet, files, given)
        inner = None
        if not several and sheet.documents and of is FileKind.PAGE:
            inner = _of_documents(sheet, whole, files=files, given=given, of=kind)
        if inner is not None:
            sheet, several, faults, kind = inner
        if several or of is FileKind.PAGE:
            sheets.append(sheet)
            launches += (_in_part(each, document.text.span) for each in several)
            found += faults if several else ()
            kinds.append(kind)
    if not launches and of is not FileKind.PAGE:
        return None
    sources = {name: each for sheet in sheets for name, each in sheet.sources.items()}
    merged = Sheet(
        commands=tuple(each for sheet in sheets for each in sheet.commands),
        documents=tuple(each for sheet in sheets for each in sheet.documents),
        findings=tuple(each for sheet in sheets for each in sheet.findings),
        sources=sources,
    )
    return merged, launches, found, kinds[0] if of is FileKind.SCRIPT and len(kinds) == 1 else of


def read_words(
    words: Sequence[str],
    *,
    files: Files = NO_FILES,
    given: Mapping[str, str] = MappingProxyType({}),
) -> Read:
    """The launch of a pasted command, which its shell has taken apart already; what it left of `$NAME` may be `given`."""
    words = [_said(word, given) for word in words]
    source = Source(PASTED, shlex.join(words))
    spans = locate(source, words, start=0, end=len(source.text))
    told = tuple(
        Word(text=text, span=span, unknown=tuple(_LEFT.findall(text)))
        for text, span in zip(words, spans, strict=True)
    )
    sheet = Sheet(commands=(Command(words=told),), sources={source.name: source})
    launches, found = _launches(sheet, files, given)
    return _chosen(sheet, launches, found, whole=source, kind=FileKind.SCRIPT, line=None)


def _said(word: str, given: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: given.get(found[1] or found[2], found[0]), word)


def _chosen(
    sheet: Sheet,
    launches: list[Launch],
    found: list[Diagnostic],
    *,
    whole: Source,
    kind: FileKind,
    line: int | None,
) -> Read:
    found += [too_long(each) for each in launches if len(each.command.words) > MOST_WORDS]
    launches = _each_once(each for each in launches if len(each.command.words) <= MOST_WORDS)
    every = launches
    launches = _taken(every) if line is None else on_line(every, line, whole=whole, kind=kind)
    if not launches and not any(each.is_error for each in found):
        apart = None if line is None else beside(every, line, whole=whole, kind=kind)
        found.append(apart or missing(whole, kind, sheet, line=line))
    if len(launches) > 1:
        found.append(several_of(launches, kind))
    launch = launches[0] if len(launches) == 1 else None
    tag = undecided(launch, whole) if launch is not None else None
    if tag is not None:
        return Read(launch=None, diagnostics=(*found, tag), sources=sheet.sources)
    if launch is not None and whole.name != PASTED:
        bare = launch.command.image is None
        pinned = pinned_release(whole, launch.engine, of_images=bare)
        launch = evolve(launch, command=evolve(launch.command, pinned=pinned))
    if launch is not None and kind in {FileKind.SCRIPT, FileKind.PAGE}:
        found += cut_short(launch, sheet)
    if launch is not None and kind is FileKind.SCRIPT:
        launch = _beside(launch, sheet)
    findings = (*sheet.findings, *(launch.command.findings if launch is not None else ()))
    return Read(
        launch=launch,
        diagnostics=tuple(found),
        findings=findings,
        sources=sheet.sources,
        written={
            each.name: each.text.text
            for each in sheet.documents
            if each.name and not each.text.unknown
        },
    )


def _in_part(launch: Launch, span: Span | None) -> Launch:
    """The launch of a file that a script writes, with all the lines of that file, where it has no part of its own."""
    command = launch.command
    return launch if command.part else evolve(launch, command=evolve(command, part=span))


def _beside(launch: Launch, sheet: Sheet) -> Launch:
    """The launch with a word about the script's other commands."""
    start = entry_span(launch)
    change = other_commands(sheet.commands, lambda each: _holds(each, start))
    return launch if change is None else launch.noting(change)


def _holds(command: Command, span: Span | None) -> bool:
    """Whether a place is inside of one of a command's words: a launch may stand in a script in one word."""
    if span is None:
        return False
    at = (span.line, span.column)
    return any(
        (word.span.line, word.span.column) <= at < (word.span.end_line, word.span.end_column)
        for word in command.words
        if word.span is not None and word.span.file == span.file
    )


def _each_once(launches: Iterable[Launch]) -> list[Launch]:
    """Of launches that say the same one, rather of a branch that is taken: a script may come to it in several ways."""
    kept: dict[object, Launch] = {}
    for each in launches:
        command = each.command
        said = (
            tuple(word.text for word in command.words),
            tuple(sorted((name, word.text) for name, word in command.environment.items())),
            command.image.text if command.image is not None else None,
            tuple(str(setting.value) for setting in command.settings),
        )
        if said not in kept or kept[said].command.is_untaken:
            kept[said] = each
    return list(kept.values())


def _taken(launches: list[Launch]) -> list[Launch]:
    """The launches of branches that are taken, and a word about the others; all of them where none is."""
    taken = [each for each in launches if not each.command.is_untaken]
    if not taken or len(taken) == len(launches):
        return launches
    lines = ", ".join(
        str(span.line)
        for each in launches
        if each.command.is_untaken and (span := entry_span(each)) is not None
    )
    text = (
        f"the launches of branches that are not taken then are left out; they are on lines: {lines}"
    )
    change = Change(kind=ChangeKind.ASSUMED, text=text, span=entry_span(taken[0]))
    return [each.noting(change) for each in taken]
