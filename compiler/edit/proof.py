"""Two texts and what was to change between them in; what else changed out, which must be nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from itertools import pairwise

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
    meant |= _opened(before, after, assignments)
    old, new = (dict(_leaves(each.values)) for each in (before, after))
    for path in sorted({*old, *new}, key=str):
        if path not in meant and old.get(path) != new.get(path):
            yield f"the value of `{'.'.join(map(str, path))}`"


def _opened(
    before: Document, after: Document, assignments: tuple[Assignment, ...]
) -> frozenset[TomlPath]:
    """The tables that were opened for a new setting."""
    above = {each.setting[:length] for each in assignments for length in range(len(each.setting))}
    return frozenset((above & after.spans.keys()) - before.spans.keys())


def _leaves(values: Mapping[str, object], path: TomlPath = ()) -> Iterator[tuple[TomlPath, str]]:
    """Every value in its canonical spelling; of a table, that it is one."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield (*path, key), "a table"
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), _canonical(value)


def _stray_lines(
    before: Document, after: Document, assignments: tuple[Assignment, ...]
) -> Iterator[str]:
    opened = _opened(before, after, assignments)
    meant = touched(before, assignments) | touched(after, assignments) | opened
    meant |= _inline(before, assignments)
    old, new = (_kept(each, meant) for each in (before, after))
    if opened or any(each.written is None for each in assignments):
        # Where a table comes or goes, so do the blank lines around it.
        old, new = ([each for each in lines if each.strip()] for lines in (old, new))
    if old != new:
        at = next(
            (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
            min(len(old), len(new)),
        )
        yield f"the line `{((old if at < len(old) else new)[at]).strip()}`"


def _inline(document: Document, assignments: tuple[Assignment, ...]) -> frozenset[TomlPath]:
    """The tables on one line that get a new setting; what else is in them is compared by its values."""
    tables = {each.setting[:-1] for each in assignments} & document.spans.keys()
    keys = {path: document.spans[path] for path in tables}
    return frozenset(path for path, each in keys.items() if each.key and each.key < each.value)


def _kept(document: Document, meant: frozenset[TomlPath]) -> list[str]:
    """The lines that have nothing to do with some paths."""
    lines: set[int] = set()
    for path in meant & document.spans.keys():
        entry = document.spans[path]
        first = entry.value if entry.key is None else min(entry.key, entry.value)
        lines.update(range(first.line, entry.value.end_line + 1))
    source = document.source
    rows = [*source.line_starts, len(source.text)]
    kept = [
        source.text[start:end]
        for number, (start, end) in enumerate(pairwise(rows), 1)
        if number not in lines and start < end
    ]
    # The last line gets an end when something comes behind it.
    return [each if each.endswith("\n") else f"{each}\n" for each in kept]
