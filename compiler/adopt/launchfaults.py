"""What is wrong with how many launches a text holds: none, several, or one that is cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from compiler.adopt.files import NOTEBOOK, FileKind
from compiler.adopt.launch import Command, Launch, Sheet
from compiler.adopt.nested import EVAL
from compiler.adopt.programming import not_run
from compiler.adopt.strange import strange_finding
from compiler.diagnostics import Diagnostic, Label, Span, error, listed, warning
from compiler.engines.known import ENGINES
from compiler.source import Source


_OPEN = re.compile(r"\$\{?([A-Za-z_]\w*)")
_HERE = re.compile(r"<<-?\s*[\"'\\]?\w")

_MOST_NAMED = 8
"""Programs that a text runs instead."""
MOST_WORDS = 2000
"""Words of a launch; the longest of the public ones has a hundred."""


def entry_span(launch: Launch) -> Span | None:
    """Where the engine is started."""
    return launch.command.words[launch.found.entry].span


def cut_short(launch: Launch, sheet: Sheet) -> Iterator[Diagnostic]:
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


def missing(whole: Source, kind: FileKind, sheet: Sheet, *, line: int | None) -> Diagnostic:
    """`launch-missing`: what a text runs instead; `launch-unreadable` for a program."""
    if kind is FileKind.PROGRAM and line is None:
        return not_run(whole)
    first = next((each for each in sheet.commands if each.words), None)
    programs = dict.fromkeys(
        PurePosixPath(each.words[0].text).name for each in sheet.commands if each.words
    )
    names = [f"`{each}`" for each in programs if each.isprintable() and kind is not FileKind.PAGE]
    names = names[:_MOST_NAMED]
    runs = f"it runs {', '.join(names)}{' and more' if len(programs) > _MOST_NAMED else ''}"
    span = first.words[0].span if first is not None else None
    top = Span(file=whole.name, line=1, column=1, end_line=1, end_column=1)
    for each in sheet.commands:
        other = _other(each)
        if other is not None:
            return _relative(other, each, where_else=top)
    strange = strange_finding(whole, sheet, top=top)
    if strange is not None:
        return strange
    what = called(whole, kind)
    where = f"on line {line} of this {what}" if line is not None else f"in this {what}"
    return error(
        "launch-missing",
        f"no command {where} starts an engine that is known",
        Label(
            span
            if span is not None
            and span.file == whole.name
            and kind not in {FileKind.SCRIPT, FileKind.PAGE}
            else top
        ),
        notes=(runs if names else _holds(whole, kind),),
        help=(_instead(whole, kind, sheet),),
    )


def _instead(whole: Source, kind: FileKind, sheet: Sheet) -> str:
    """What to adopt, or to say, where no command of a text starts an engine."""
    if any(
        [PurePosixPath(word.text).name for word in each.words[:2]] == ["docker", "compose"]
        for each in sheet.commands
    ):
        return "adopt the compose file that it names"
    open_ = _what_is_open(sheet)
    if open_:
        return open_
    if kind is FileKind.SCRIPT and _HERE.search(whole.text) and _in_text(whole.text):
        return "a here-document is text for another program, and is not read: adopt the file that it becomes"
    known = listed([f"`{each}`" for engine in ENGINES.values() for each in engine.launches])
    return f"known are {known}; where another script holds the launch, adopt that one"


_NOTEBOOK = "notebook"


def called(whole: Source, kind: FileKind) -> str:
    """What a file is called; a notebook is read as a page of cells."""
    return _NOTEBOOK if PurePosixPath(whole.name).suffix == NOTEBOOK else kind.value


IS_RELATIVE = "starts no server whose launch is read here"
"""What is said of a program of an engine's family that is no server of it."""


def _other(command: Command) -> tuple[str, str] | None:
    """A relative of an engine that a command starts, maybe in a script in one word of it."""
    texts = [word.text for word in command.words]
    several = (texts, *(each.split() for each in texts if " " in each))
    told = (engine.other_program(each) for each in several for engine in ENGINES.values())
    return next((each for each in told if each is not None), None)


def _relative(other: tuple[str, str], command: Command, *, where_else: Span) -> Diagnostic:
    """`launch-missing`, for a program of an engine's family that is no server of it."""
    words, is_ = other
    last = words.split()[-1]
    span = next((word.span for word in command.words if last in word.text.split()), None)
    what, _, advice = is_.partition(": ")
    return error(
        "launch-missing",
        f"`{words}` {IS_RELATIVE}",
        Label(span or where_else, "a relative of it"),
        notes=(f"it is {what}",),
        help=(advice,) if advice else (),
    )


def _holds(whole: Source, kind: FileKind) -> str:
    """What is said of a file in which no command is found: one that speaks of an engine may start it all the same."""
    entries = [engine.entry[-1] for engine in ENGINES.values()]
    lines = whole.text.split("\n")
    at = next((at for at, line in enumerate(lines, start=1) if any(e in line for e in entries)), 0)
    if at:
        return f"line {at} speaks of an engine, in a part that is not read"
    others = {
        FileKind.MAKEFILE: "none of its recipes does",
        FileKind.JUSTFILE: "none of its recipes does",
        FileKind.PAGE: f"none of its {'cells' if called(whole, kind) == _NOTEBOOK else 'blocks'} does",
    }
    return others.get(kind, "it runs nothing")


def _what_is_open(sheet: Sheet) -> str:
    """The first command that is known at start only, and how to say it."""
    for each in sheet.commands:
        starting = each.words if each.words and each.words[0].text == EVAL else each.words[:1]
        for word in starting:
            spelled = _OPEN.match(word.unknown[0]) if word.unknown else None
            name = word.names[-1] if word.names else spelled[1] if spelled else ""
            if word.unknown and name and word.span is not None:
                return f"what line {word.span.line} runs, `{word.text}`, is known at start only: say it, `--var {name}=...`"
    return ""


def too_long(launch: Launch) -> Diagnostic:
    """`launch-unreadable`, for a launch of more words than there are flags."""
    span = entry_span(launch)
    return error(
        "launch-unreadable",
        f"the launch has {len(launch.command.words):,} words; none has more than {MOST_WORDS:,}",
        Label(span, "started here") if span is not None else None,
    )


def _in_text(text: str) -> bool:
    """Whether a text speaks of starting an engine."""
    return any(engine.entry[-1] in text for engine in ENGINES.values())


def several_of(launches: Sequence[Launch], kind: FileKind) -> Diagnostic:
    """`launch-several`: where each of them stands."""
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
