"""A second opinion on an edit: tomlkit makes the same change in its own way, and both results must mean the same.

Our own cuts stand in the file, since they leave every other byte alone; tomlkit 0.15 puts a new key behind the comment of the
table that follows. What a cut means is judged by somebody who does not know how it was made.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import tomlkit

from compiler.edit.placing import UNSET, Assignment
from compiler.edit.proof import values_differ
from compiler.language.load import Document


_LEVELS: tuple[tuple[str, ...], ...] = (("force",), (), ("defaults",))


def witnessed(before: Document, after: Document, assignments: Sequence[Assignment]) -> bool:
    """Whether tomlkit comes to the same values; what is taken out of `unset`, or put there, is not its business."""
    document = tomlkit.parse(before.source.text)
    for each in assignments:
        _assign(document, each)
    expected, found = document.unwrap(), dict(after.values)
    for values in (expected, found):
        values.pop(UNSET, None)
    return not values_differ(expected, found)


def _assign(document: tomlkit.TOMLDocument, each: Assignment) -> None:
    if each.written is None:
        for level in _LEVELS:
            table = _table(document, (*level, *each.setting[:-1]))
            if table is not None:
                table.pop(each.setting[-1], None)
        return
    value = tomlkit.parse(f"value = {each.written}")["value"]
    for level in _LEVELS:
        table = _table(document, (*level, *each.setting[:-1]))
        if table is not None and each.setting[-1] in table:
            table[each.setting[-1]] = value
            return
    table = document
    for key in each.setting[:-1]:
        table = table.setdefault(key, tomlkit.table())
    table[each.setting[-1]] = value


def _table(document: tomlkit.TOMLDocument, path: Sequence[str]) -> MutableMapping[str, Any] | None:
    table: MutableMapping[str, Any] = document
    for key in path:
        below = table.get(key)
        if not isinstance(below, MutableMapping):
            return None
        table = below
    return table
