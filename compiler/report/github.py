"""Diagnostics as GitHub workflow commands, which the runner turns into annotations on the changed files."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.diagnostics import Diagnostic, Label, Span, unpadded
from compiler.report.cells import shown
from compiler.report.counting import distinct


def render_github(diagnostics: Iterable[Diagnostic], *, below: str = "") -> str:
    """One `::error` or `::warning` command a diagnostic, in the order given, equal ones once.

    A command is one line and ends in a newline. It stands at the primary place; its message has the summary, what
    the labels say, the notes and the help. `below` is the folder of the tree in its repository, with a slash at its end.
    """
    return "".join(f"{_command(each, below)}\n" for each in distinct(diagnostics))


def _command(diagnostic: Diagnostic, below: str) -> str:
    """The command of one diagnostic."""
    place = {} if diagnostic.primary is None else _place(diagnostic.primary.span, below)
    properties = {**place, "title": diagnostic.code}
    given = ",".join(f"{name}={_escaped_property(value)}" for name, value in properties.items())
    return f"::{diagnostic.severity} {given}::{_escaped(_message(diagnostic))}"


def _place(span: Span, below: str) -> dict[str, str]:
    """Where the annotation stands. GitHub takes columns only of a span within one line."""
    lines = {"file": f"{below}{span.file}", "line": str(span.line), "endLine": str(span.end_line)}
    if span.line != span.end_line:
        return lines
    return {**lines, "col": str(span.column), "endColumn": str(span.end_column)}


def _message(diagnostic: Diagnostic) -> str:
    """All that the diagnostic says, a thing a line; an annotation's letters are of several widths, so no columns."""
    if diagnostic.accepted is not None:
        return diagnostic.told
    said = [diagnostic.summary]
    if diagnostic.primary is not None and diagnostic.primary.text:
        said.append(diagnostic.primary.text)
    said += [_elsewhere(each) for each in diagnostic.secondary]
    said += [f"note: {each}" for each in diagnostic.notes]
    said += [
        f"help: {each}" if number == 0 else each for number, each in enumerate(diagnostic.help)
    ]
    return "\n".join(map(unpadded, said))


def _elsewhere(label: Label) -> str:
    """A secondary label with its position."""
    return f"{label.span.place}: {label.text}" if label.text else label.span.place


def _escaped(text: str) -> str:
    """The text as a command's message: line ends as the runner reads them, other control characters harmless."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return shown(text)


def _escaped_property(text: str) -> str:
    """The text as a property, which also ends at `:` and `,`."""
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
