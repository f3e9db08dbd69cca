"""Source text with its secrets covered: a log of a build server is read by more people than the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.source import Source


if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compiler.diagnostics import Diagnostic, Label


COVER = "*"


def covered(
    sources: Mapping[str, Source], diagnostics: Iterable[Diagnostic]
) -> Mapping[str, Source]:
    """The sources with each character of a span that a finding calls secret replaced; lines keep their lengths."""
    result = dict(sources)
    labels = (label for each in diagnostics for label in (each.primary, *each.secondary))
    for label in labels:
        if label is not None and label.secret and label.span.file in result:
            result[label.span.file] = _cover(result[label.span.file], label)
    return result


def _cover(source: Source, label: Label) -> Source:
    span = label.span
    start = source.line_starts[span.line - 1] + span.column - 1
    end = source.line_starts[span.end_line - 1] + span.end_column - 1
    hidden = "".join(each if each in "\r\n" else COVER for each in source.text[start:end])
    return Source(source.name, source.text[:start] + hidden + source.text[end:])
