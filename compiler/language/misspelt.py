"""Keys of a profile's file that stand under a name, or in a place, where they are none, and paths in the place of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from compiler.language.load import SUFFIX, Reader
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


def plain_name(path: str, reader: Reader) -> tuple[str, ...]:
    """What to write for a path to a profile in the place of its name, where it is known which is meant."""
    parts = (each for each in re.split(r"[/\\]+", path) if each not in ("", ".", ".."))
    plain = "/".join(parts).removesuffix(SUFFIX)
    try:
        names = reader.names()
    except OSError:
        return ()
    meant = plain if plain in names else near(plain, names)
    return () if meant is None else (f"write `{meant}`",)


def suggestions(name: str, reader: Reader) -> Iterator[str]:
    """What may have been meant by the name of a profile that is not there."""
    try:
        names = reader.names()
    except OSError:
        return
    if name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in names:
        yield f"names are written without `{SUFFIX}`: `{name.removesuffix(SUFFIX)}`"
        return
    meant = near(name, (each for each in names if each != name))  # a symlink to nowhere has a name
    if meant is not None:
        yield f"a profile with a similar name exists: `{meant}`"
