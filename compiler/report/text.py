"""Diagnostics as text for people, in the form of rustc's: what, where, why, and what mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.diagnostics import Diagnostic, Label
from compiler.report.cells import shown
from compiler.report.counting import distinct
from compiler.report.ink import Ink, Pieces, printed
from compiler.report.marks import Mark, mark
from compiler.report.prose import broken, narrowed
from compiler.report.secrets import covered
from compiler.report.snippet import snippet
from compiler.source import Source


def render_text(
    diagnostics: Iterable[Diagnostic],
    *,
    sources: Mapping[str, Source],
    colour: bool,
    width: int,
    terminal: bool = False,
) -> str:
    """The diagnostics in the order given, equal ones once, an empty line between them.

    Lines that are quoted come from `sources`, by file name, with secrets covered; of a file that is not there only
    positions are shown.
    Prose and quoted lines keep to `width` cells; tables and commands do not break, and headlines and formulas only on a
    `terminal`: a file is searched for them. Each line ends in a newline; no diagnostics give no text.
    """
    several = tuple(distinct(diagnostics))
    shareable = covered(sources, several)
    return "\n".join(
        "".join(
            printed(line, colour=colour) + "\n"
            for line in _message(each, sources=shareable, width=width, terminal=terminal)
        )
        for each in several
    )


def _message(
    diagnostic: Diagnostic, *, sources: Mapping[str, Source], width: int, terminal: bool
) -> Iterator[Pieces]:
    """The lines of one diagnostic."""
    yield from _headline(diagnostic, width=width if terminal else None)
    if diagnostic.accepted is not None:
        return  # who accepted it has read the rest, and it is said at every run
    places = _places(diagnostic)
    marks = {
        name: _marks(labels, diagnostic=diagnostic, source=sources[name])
        for name, labels in places.items()
        if name in sources
    }
    lasts = (each.last for several in marks.values() for each in several)
    gutter = len(str(max(lasts, default=1)))
    arrow = "-->"
    rule: Pieces = ((" " * gutter + " |", Ink.FRAME),)
    quoted = False
    for name, labels in places.items():
        if quoted:
            yield rule
        quoted = name in marks
        pointed = labels[:1] if quoted else labels
        for label in pointed:
            yield _position(label, arrow=arrow, gutter=gutter, with_text=not quoted)
            arrow = ":::"
        if quoted:
            yield rule
            yield from snippet(marks[name], source=sources[name], gutter=gutter, width=width)
    if quoted and (diagnostic.notes or diagnostic.help):
        yield rule
    for note in diagnostic.notes:
        yield from _note(note, gutter=gutter, width=width, formulas=terminal)
    yield from _help(diagnostic.help, width=width, formulas=terminal)


def _headline(diagnostic: Diagnostic, *, width: int | None) -> Iterator[Pieces]:
    kind = f"{diagnostic.severity}[{diagnostic.code}]"
    whole = f"{kind}: {shown(diagnostic.told)}"
    first, *more = (whole,) if width is None else narrowed(whole, width=width)
    yield ((kind, Ink.of(diagnostic.severity)), (first.removeprefix(kind), Ink.STRONG))
    yield from (((line, Ink.STRONG),) for line in more)


def _places(diagnostic: Diagnostic) -> Mapping[str, tuple[Label, ...]]:
    """The labels by file: the primary label's file first, then in the order they were given."""
    first = () if diagnostic.primary is None else (diagnostic.primary,)
    result: dict[str, tuple[Label, ...]] = {}
    for label in dict.fromkeys((*first, *diagnostic.secondary)):
        result[label.span.file] = (*result.get(label.span.file, ()), label)
    return result


def _marks(labels: Iterable[Label], *, diagnostic: Diagnostic, source: Source) -> tuple[Mark, ...]:
    """A file's labels made ready to draw, the primary one in the diagnostic's own ink."""
    own = Ink.of(diagnostic.severity)
    return tuple(
        mark(each, source=source, caret="^", ink=own)
        if each == diagnostic.primary
        else mark(each, source=source, caret="-", ink=Ink.FRAME)
        for each in labels
    )


def _position(label: Label, *, arrow: str, gutter: int, with_text: bool) -> Pieces:
    """Where a label stands; what it says too, when its line cannot be quoted."""
    span = label.span
    position = f" {shown(span.file)}:{span.line}:{span.column}"
    said = f": {shown(label.text)}" if with_text and label.text else ""
    return ((" " * gutter + arrow, Ink.FRAME), (position, Ink.PLAIN), (said, Ink.PLAIN))


def _note(note: str, *, gutter: int, width: int, formulas: bool) -> Iterator[Pieces]:
    """A note, its further lines aligned with its first."""
    indent = gutter + len(" = note: ")
    first, *further = broken(note, room=width - indent, formulas=formulas)
    yield ((" " * gutter + " = ", Ink.FRAME), ("note", Ink.STRONG), (f": {first}", Ink.PLAIN))
    for line in further:
        yield ((" " * indent + line, Ink.PLAIN),)


def _help(entries: Iterable[str], *, width: int, formulas: bool) -> Iterator[Pieces]:
    """All help under one word, aligned with its first line."""
    indent = len("help: ")
    lines = [
        line for each in entries for line in broken(each, room=width - indent, formulas=formulas)
    ]
    for number, line in enumerate(lines):
        if number:
            yield ((" " * indent + line, Ink.PLAIN),)
        else:
            yield (("help", Ink.HELP), (f": {line}", Ink.PLAIN))
