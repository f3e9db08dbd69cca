"""Source text with its secrets covered: a log of a build server is read by more people than the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.diagnostics import Diagnostic
from compiler.secrecy import secret_stretches
from compiler.source import Source


COVER = "*"


def covered(
    sources: Mapping[str, Source], diagnostics: Iterable[Diagnostic]
) -> Mapping[str, Source]:
    """The sources with each character of a secret replaced; lines keep their lengths.

    Covered is what a finding calls secret, and all that looks like a secret: another finding may quote its line.
    """
    result = {name: _cover_all(source) for name, source in sources.items()}
    labels = (label for each in diagnostics for label in (each.primary, *each.secondary))
    for label in labels:
        if label is not None and label.secret and label.span.file in result:
            source = result[label.span.file]
            result[label.span.file] = covered_stretch(source, *source.extent(label.span))
    return result


def _cover_all(source: Source) -> Source:
    for start, end in secret_stretches(source.text):
        source = covered_stretch(source, start, end)
    return source


def covered_stretch(source: Source, start: int, end: int) -> Source:
    """The source with the characters between two offsets replaced, but for line ends."""
    hidden = "".join(each if each in "\r\n" else COVER for each in source.text[start:end])
    return Source(source.name, source.text[:start] + hidden + source.text[end:])
