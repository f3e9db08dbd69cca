"""Words of a file that is a template goes in: of Jinja, of Helm, of just; what stands in `{{ }}` comes out as known at start only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from compiler.adopt.files import is_template
from compiler.adopt.launch import Command, Launch, Word
from compiler.diagnostics import Diagnostic, Label, error
from compiler.source import Source


_PART = re.compile(r"\{\{(?P<inside>[^{}]*)\}\}")
_TAG = re.compile(r"\{%.{0,500}?%\}|\{\{-?\s*(?:if|range|with|else|end)\b[^}]{0,500}\}\}")
"""What decides of Jinja and Helm which text there is; none is longer than a line."""
_STARTS = ("{%", "{%-", "{%+")
_NAMED = re.compile(r"[.$]?(?:\w+\.)*(?P<name>\w+)")


def templated(command: Command, given: Mapping[str, str]) -> Command:
    """A command whose words may hold such parts; `given` are the values of plain names (`{{ port }}`, `{{ .Values.port }}`)."""
    words = command.words
    if any("{{" in each.text for each in words):
        words = tuple(_filled(each, given) for each in _joined(words))
    environment = {
        name: _filled(each, given) if "{{" in each.text else each
        for name, each in command.environment.items()
    }
    return evolve(command, words=words, environment=environment)


def undecided(launch: Launch, source: Source) -> Diagnostic | None:
    """`launch-unreadable` for a launch that a tag of its template may change."""
    words = launch.command.words
    spans = [each.span for each in words if each.span and each.span.file == source.name]
    entry = words[launch.found.entry].span
    # In quotes it may be the template of a chat.
    is_told = is_template(source.name) or any(each.text in _STARTS for each in words)
    if entry is None or entry.file != source.name or not is_told:
        return None
    # What is behind a tag on a line of its own belongs to the launch, too.
    last = max(each.end_line for each in spans if each.line >= entry.line) + 1
    for found in _TAG.finditer(source.text):
        span = source.span(*found.span())
        if entry.line <= span.line <= last:
            return error(
                "launch-unreadable",
                f"`{source.name}` is a template: `{found[0]}` decides what the launch is",
                Label(span, "is decided when it is rendered"),
                help=("render it first, and adopt what it becomes",),
            )
    return None


def _joined(words: Sequence[Word]) -> Iterator[Word]:
    """A part that was split at its blanks is one word again."""
    parts: list[Word] = []
    for each in words:
        parts.append(each)
        opened, closed = each.text.rfind("{{"), each.text.rfind("}}")
        is_open = opened > closed or (len(parts) > 1 and closed < 0)
        if not is_open:
            yield _one(parts)
            parts = []
    if parts:
        yield _one(parts)


def _one(parts: Sequence[Word]) -> Word:
    if len(parts) == 1:
        return parts[0]
    unknown = tuple(part for each in parts for part in each.unknown)
    return evolve(parts[0], text=" ".join(each.text for each in parts), unknown=unknown)


def _filled(word: Word, given: Mapping[str, str]) -> Word:
    unknown = list(word.unknown)

    def replace(found: re.Match[str]) -> str:
        named = _NAMED.fullmatch(found["inside"].strip(" -\n"))
        if named is not None and named["name"] in given:
            return given[named["name"]]
        unknown.append(found[0])
        return found[0]

    return evolve(word, text=_PART.sub(replace, word.text), unknown=tuple(unknown))
