"""A line of a file goes in; the launch that it is about comes out, or which lines are about one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.adopt.files import FileKind
from compiler.adopt.launch import Launch
from compiler.adopt.launchfaults import called
from compiler.diagnostics import Diagnostic, Label, error, listed
from compiler.source import Source


_OF_ONE = frozenset({FileKind.UNIT, FileKind.QUADLET, FileKind.DOCKERFILE})
"""Files that are about one server, whichever of their lines is meant."""

_MOST_NAMED = 8
"""Launches of a file whose lines are named."""


def on_line(
    launches: Sequence[Launch], line: int, *, whole: Source, kind: FileKind
) -> list[Launch]:
    """The launches that a line is about: the one whose name or words stand on it, else those of the smallest part around it."""
    named = [each for each in launches if _is_called(each, line, file=whole.name)]
    if named:
        return named
    parts = [(lines, each) for each in launches if line in (lines := _of_part(each, whole.name))]
    least = min((len(lines) for lines, _ in parts), default=0)
    held = [each for lines, each in parts if len(lines) == least]
    # Several that stand in one part, or have none, are told apart by their words.
    if len(held) != 1:
        held = [each for each in held or launches if line in _of_words(each, whole.name)] or held
    if held:
        return held
    return list(launches) if kind in _OF_ONE and line <= _last_line(whole) else []


def beside(
    launches: Sequence[Launch], line: int, *, whole: Source, kind: FileKind
) -> Diagnostic | None:
    """`launch-missing`, for a line that is about none of a file's launches; `None` where no line of the file is."""
    places = list(dict.fromkeys(_shown(launches, file=whole.name)))
    if not places:
        return None
    last = _last_line(whole)
    which = "the launch is" if len(places) == 1 else "the launches are"
    lines = "line" if len(places) == 1 and places[0].isdigit() else "lines"
    advice = (f"{which} on {lines} {listed(places, most=_MOST_NAMED)}",)
    if line > last:
        summary = f"this {called(whole, kind)} has {last} line{'s'[: last - 1]}, and no line {line}"
        return error("launch-missing", summary, help=advice)
    start = whole.line_starts[line - 1]
    text = whole.line(line)
    first = start + len(text) - len(text.lstrip())
    span = whole.span(first, max(first + 1, start + len(text.rstrip())))
    summary = f"line {line} of this {called(whole, kind)} is about no command that starts an engine"
    return error("launch-missing", summary, Label(span), help=advice)


def _shown(launches: Sequence[Launch], *, file: str) -> Iterator[str]:
    for each in launches:
        lines = _of_part(each, file) or _of_words(each, file)
        if lines:
            first, last = lines[0], lines[-1]
            yield f"{first}" if first == last else f"{first} to {last}"


def _last_line(whole: Source) -> int:
    return len(whole.text.rstrip("\n").split("\n"))


def _is_called(launch: Launch, line: int, *, file: str) -> bool:
    """Whether the name of a launch stands on a line, or the call that makes it."""
    named = launch.command.called
    return named is not None and named.file == file and named.line <= line <= named.end_line


def _of_part(launch: Launch, file: str) -> range:
    """The lines of the part of a file that is about a launch."""
    part = launch.command.part
    return range(0) if part is None or part.file != file else range(part.line, part.end_line + 1)


def _of_words(launch: Launch, file: str) -> range:
    """The lines that a launch stands on; words that came from elsewhere do not count."""
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
    return range(lines[0].line, max(own) + 1) if lines else range(0)
