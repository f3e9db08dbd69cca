"""Two texts and what was to change between them in; what else changed out, which must be nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time

from compiler.edit.placing import Assignment, touched
from compiler.language.load import Document
from compiler.language.spans import TomlPath


def values_differ(before: object, after: object) -> bool:
    """Whether two documents differ in a value, or in the type of one; the order of keys means nothing."""
    return _canonical(before) != _canonical(after)


def _canonical(value: object) -> str:
    """A spelling that two values share just when they are of one type and equal; a number that is none equals itself."""
    return json.dumps(_tagged(value), sort_keys=True)


def _tagged(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _tagged(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_tagged(each) for each in value]
    if isinstance(value, date | datetime | time):
        return [type(value).__name__, value.isoformat()]
    return [type(value).__name__, repr(value)]


def stray_changes(
    before: Document, after: Document, assignments: tuple[Assignment, ...]
) -> tuple[str, ...]:
    """What an edit changed beside what it was to change: values by their paths, and lines of text; nothing when it is right."""
    return (*_stray_values(before, after, assignments), *_stray_lines(before, after, assignments))


def _stray_values(
    before: Document, after: Document, assignments: tuple[Assignment, ...]
) -> Iterator[str]:
    meant = touched(before, assignments) | touched(after, assignments)
    old, new = (dict(_leaves(each.values)) for each in (before, after))
    for path in sorted({*old, *new}, key=str):
        if path not in meant and old.get(path) != new.get(path):
            yield f"the value of `{'.'.join(map(str, path))}`"


def _leaves(values: Mapping[str, object], path: TomlPath = ()) -> Iterator[tuple[TomlPath, str]]:
    """Every value that is no table with something in it, in its canonical spelling."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), _canonical(value)


def _stray_lines(
    before: Document, after: Document, assignments: tuple[Assignment, ...]
) -> Iterator[str]:
    old, new = (
        _kept(each, assignments, other=other) for each, other in ((before, after), (after, before))
    )
    if old != new:
        at = next(
            (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
            min(len(old), len(new)),
        )
        yield f"the line `{((old if at < len(old) else new)[at]).strip()}`"


def _kept(document: Document, assignments: tuple[Assignment, ...], *, other: Document) -> list[str]:
    """The lines that no assignment has to do with, blank ones left out; a table's that only one of the two has are not."""
    meant = touched(document, assignments) | touched(other, assignments)
    meant |= {
        path for path in document.spans if path not in other.spans and _leads_to(path, assignments)
    }
    lines: set[int] = set()
    for path in meant & document.spans.keys():
        entry = document.spans[path]
        first = entry.value if entry.key is None else min(entry.key, entry.value)
        lines.update(range(first.line, entry.value.end_line + 1))
    text, starts = document.source.text, [*document.source.line_starts, len(document.source.text)]
    kept = [
        text[starts[number - 1] : starts[number]]
        for number in range(1, len(starts))
        if number not in lines
    ]
    return [each if each.endswith("\n") else f"{each}\n" for each in kept if each.strip()]


def _leads_to(path: TomlPath, assignments: tuple[Assignment, ...]) -> bool:
    return any(path == each.setting[: len(path)] for each in assignments)
