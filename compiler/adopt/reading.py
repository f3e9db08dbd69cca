"""A text goes in; the one launch in it comes out, or why there is none, or which there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType

from attrs import evolve, field, frozen

from compiler.adopt.command import launches_of
from compiler.adopt.compose import read_compose
from compiler.adopt.files import FileKind, Files, kind_of
from compiler.adopt.launch import Change, Command, Launch, Sheet, Word
from compiler.adopt.places import locate
from compiler.adopt.quadlet import read_quadlet
from compiler.adopt.shell import read_shell
from compiler.adopt.unit import read_unit_file
from compiler.diagnostics import Diagnostic, Label, Span, error, warning
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.secrecy import secret_values
from compiler.source import Source
from compiler.value import Value


# A variable, a command, all arguments: what a shell would have replaced.
_LEFT = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_@*#?!0-9]\w*|`[^`]+`")

_HERE = re.compile(r"<<-?\s*[\"'\\]?\w")
_NAMED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NO_LOSS = frozenset(
    {"set", "echo", "printf", "export", "true", "wait", "sleep", "exit", "[", "[[", ":", "read"}
)
"""Commands that leave nothing behind which a launch could need."""

MOST_WORDS = 2000
"""Words of a launch; the longest of the public ones has a hundred."""
PASTED = "command line"
"""What a pasted command is called in messages."""


@frozen(kw_only=True, eq=False, repr=False)
class Read(Value):
    """What was read; no launch when `diagnostics` say why. `findings` are about a unit itself."""

    launch: Launch | None
    diagnostics: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(factory=dict)

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
    if kind is FileKind.UNIT:
        sheet = read_unit_file(source, files=files, given=given)
    elif kind is FileKind.QUADLET:
        sheet = read_quadlet(source, files=files, given=given)
    elif kind is FileKind.COMPOSE:
        sheet = read_compose(source, files=files, given=given)
    else:
        sheet = read_shell(source, given=given)
    return _chosen(sheet, whole=source, kind=kind, line=line)


def read_words(words: Sequence[str], *, given: Mapping[str, str] = MappingProxyType({})) -> Read:
    """The launch of a pasted command, which its shell has taken apart already; what it left of `$NAME` may be `given`."""
    words = [_said(word, given) for word in words]
    source = Source(PASTED, shlex.join(words))
    spans = locate(source, words, start=0, end=len(source.text))
    told = tuple(
        Word(text=text, span=span, unknown=tuple(_LEFT.findall(text)))
        for text, span in zip(words, spans, strict=True)
    )
    sheet = Sheet(commands=(Command(words=told),), sources={source.name: source})
    return _chosen(sheet, whole=source, kind=FileKind.SCRIPT, line=None)


def _said(word: str, given: Mapping[str, str]) -> str:
    return _NAMED.sub(lambda found: given.get(found[1] or found[2], found[0]), word)


def _chosen(sheet: Sheet, *, whole: Source, kind: FileKind, line: int | None) -> Read:
    found = list(sheet.diagnostics)
    launches: list[Launch] = []
    for command in sheet.commands:
        several, faults = launches_of(command, sources=sheet.sources)
        launches += several
        found += faults
    found += [_long(each) for each in launches if len(each.command.words) > MOST_WORDS]
    launches = [each for each in launches if len(each.command.words) <= MOST_WORDS]
    if line is not None:
        launches = [each for each in launches if _covers(each, line, file=whole.name)]
    if not launches and not any(each.is_error for each in found):
        found.append(_missing(whole, kind, sheet, line=line))
    if len(launches) > 1:
        found.append(_several(launches, kind))
    launch = launches[0] if len(launches) == 1 else None
    if launch is not None and kind is FileKind.SCRIPT:
        found += _cut(launch, sheet)
        launch = _beside(launch, sheet)
    findings = (*sheet.findings, *(launch.command.findings if launch is not None else ()))
    return Read(launch=launch, diagnostics=tuple(found), findings=findings, sources=sheet.sources)


def _cut(launch: Launch, sheet: Sheet) -> Iterator[Diagnostic]:
    """Flags that stand where a command should: what is between them and the launch ended it."""
    start = entry_span(launch)
    for command in sheet.commands:
        first = command.words[0] if command.words else None
        if start is None or first is None or first.span is None or not first.text.startswith("--"):
            continue
        if first.span.file == start.file and first.span.line > start.line:
            yield warning(
                "launch-cut",
                f"`{first.text}` is a command of its own, not a part of the launch",
                Label(first.span, "the shell looks for a program of this name"),
                secondary=(Label(start, "the launch, which ended before"),),
                notes=("a comment or an empty line between joined lines ends the command",),
                help=(
                    "move the comment above the launch, so that every line but the last ends in a backslash",
                ),
            )


def _beside(launch: Launch, sheet: Sheet) -> Launch:
    """The launch with a word about the script's other commands."""
    start = entry_span(launch)
    others = [
        each.words[0]
        for each in sheet.commands
        if each.words
        and each.words[0].text not in _NO_LOSS
        and not each.words[0].text.startswith("--")
        and not _holds(each, start)
    ]
    if not others:
        return launch
    names = dict.fromkeys(f"`{word.text}`" for word in others)
    text = f"the script's other commands are not carried: {', '.join(names)}"
    change = Change(kind=ChangeKind.DROPPED, text=text, span=others[0].span)
    command = evolve(launch.command, changes=(*launch.command.changes, change))
    return evolve(launch, command=command)


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


def entry_span(launch: Launch) -> Span | None:
    """Where the engine is started."""
    return launch.command.words[launch.found.entry].span


def _covers(launch: Launch, line: int, *, file: str) -> bool:
    """Whether a launch, or its name, stands on a line; words that came from elsewhere do not count."""
    called = launch.command.called
    if called is not None and called.file == file and called.line == line:
        return True
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
    composed = any(
        [PurePosixPath(word.text).name for word in each.words[:2]] == ["docker", "compose"]
        for each in sheet.commands
    )
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
            "adopt the compose file that it names"
            if composed
            else "a here-document is text for another program, and is not read: adopt the file that it becomes"
            if kind is FileKind.SCRIPT and _HERE.search(whole.text) and _in_text(whole.text)
            else "known are `python -m sglang.launch_server ...` and `sglang serve ...`; where another script holds the launch, adopt that one",
        ),
    )


def _long(launch: Launch) -> Diagnostic:
    span = entry_span(launch)
    return error(
        "launch-unreadable",
        f"the launch has {len(launch.command.words):,} words; none has more than {MOST_WORDS:,}",
        Label(span, "started here") if span is not None else None,
    )


def _in_text(text: str) -> bool:
    """Whether a text speaks of starting an engine."""
    return any(engine.entry[-1] in text for engine in ENGINES.values())


def _several(launches: Sequence[Launch], kind: FileKind) -> Diagnostic:
    places = (each.command.called or entry_span(each) for each in launches)
    spans = [span for span in places if span is not None]
    first, *others = (Label(span, f"launch {number}") for number, span in enumerate(spans, start=1))
    return error(
        "launch-several",
        f"there are {len(launches)} launches in this {kind}; a profile is one",
        first,
        secondary=tuple(others),
        help=(f"say which by its line: `--line {spans[0].line}`",),
    )
