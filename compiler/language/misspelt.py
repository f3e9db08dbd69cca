"""Keys of a profile's file that stand under a name, or in a place, where they are none."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.language.settings import FILE_KEYS, known_keys
from compiler.near import near


def means_file_key(key: str, values: Mapping[str, object]) -> bool:
    """Whether an unknown key at the top of a file is this one, misspelt."""
    known = {*FILE_KEYS, "description", *known_keys(())}
    return any(near(each, known) == key for each in values.keys() - known)


def extends_elsewhere(values: Mapping[str, object]) -> bool:
    """Whether `extends` is misspelt, or stands in a table, so that nothing is extended by it."""
    return _in_tables("extends", values) or means_file_key("extends", values)


def _in_tables(key: str, values: Mapping[str, object]) -> bool:
    below = (each for each in values.values() if isinstance(each, Mapping))
    return any(key in each or _in_tables(key, each) for each in below)
