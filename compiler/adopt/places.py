"""Where words stand in a text, when only their order in it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.diagnostics import Span
from compiler.source import Source


_AROUND = " \t\r\n'\"=;()[],"


def locate(source: Source, texts: Iterable[str], *, start: int, end: int) -> Iterator[Span]:
    """The place of each text between two offsets, one after the other.

    A text that is written in another way there (with quotes inside, or escapes) gets the place where the search stands.
    """
    at = start
    for text in texts:
        found = _next(source.text, text, start=at, end=end) if text else -1
        if found < 0:
            found = _skip(source.text, start=at, end=end)
            yield source.span(found, min(found + 1, max(end, found)))
        else:
            at = found + len(text)
            yield source.span(found, at)


def part_between(source: Source, start: int, end: int) -> Span:
    """The lines between two offsets, without the blank ones and the comments at their end, which are about what follows."""
    text = source.text[start:end]
    while text:
        before, _, last = text.rstrip().rpartition("\n")
        if not before or not last.lstrip().startswith(("#", ";")):
            break
        text = before
    return source.span(start, start + max(len(text.rstrip()), 1))


def _next(whole: str, text: str, *, start: int, end: int) -> int:
    """The next place where a text stands as a word of its own, or as the value of one."""
    at = whole.find(text, start, end)
    while at >= 0:
        after = at + len(text)
        before_ok = at == 0 or whole[at - 1] in _AROUND
        after_ok = after >= len(whole) or whole[after] in _AROUND + "\\"
        if before_ok and after_ok:
            return at
        at = whole.find(text, at + 1, end)
    return -1


def _skip(whole: str, *, start: int, end: int) -> int:
    while start < end and whole[start] in " \t\r\n\\":
        start += 1
    return min(start, max(0, len(whole) - 1))
