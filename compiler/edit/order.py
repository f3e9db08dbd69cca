"""The order of tables in a profile: that of the settings themselves."""

from __future__ import annotations

from compiler.language.directives import LEVEL_TABLES
from compiler.language.settings import FILE_KEYS, all_settings
from compiler.language.spans import TomlPath


def table_rank(path: TomlPath) -> tuple[int, int]:
    """Where a table belongs: the plain ones, then weaker and stronger levels, each in the order of the settings.

    A table that no profile has stands behind those that it may have.
    """
    level = LEVEL_TABLES.index(path[0]) + 1 if path[0] in LEVEL_TABLES else 0
    inner = path[1:] if level else path
    names = list(dict.fromkeys(each.path[0] for each in all_settings()))
    name = inner[0] if inner else None
    return level, -1 if name is None else names.index(name) if name in names else len(names)


def key_rank(path: TomlPath) -> int:
    """Where a key at the top of a file belongs: what it says to the compiler first, then settings as they stand."""
    first = (*FILE_KEYS[:3], "description")
    return first.index(path[0]) if path[0] in first else len(first)
