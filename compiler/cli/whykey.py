"""What `why` takes a key for that is none itself: several with `*` for a name, the last parts of one, or a slip."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.catalog import Catalog
from compiler.cli.whyflag import like_flags
from compiler.diagnostics import Diagnostic, error, listed
from compiler.language.merge import Resolved
from compiler.language.settings import ANY_KEY, all_settings, find_setting
from compiler.language.spans import split_key
from compiler.near import near
from compiler.origins import SettingPath, dotted


_NAME = "NAME"
"""Stands for a name where the profile has none."""
_MOST = 5
"""Settings that are offered for a slip: more are a list to read through."""
_SHORTEST = 3
"""Letters of a part of a name by which settings are looked for."""


def meant(key: str, resolved: Resolved) -> tuple[SettingPath, ...]:
    """The settings, or tables, that a key surely stands for; nothing where it may be one or another."""
    path = _parts(key)
    if ANY_KEY in path:
        same = (each[: len(path)] for each in _paths(resolved) if _fits(path, each))
        return tuple(dict.fromkeys(each for each in same if _NAME not in each))
    found = _ending(path, resolved)
    return found if len({_setting(each) for each in found}) == 1 else ()


def unknown_target(path: SettingPath, resolved: Resolved) -> Diagnostic | None:
    """`unknown-key` where a key is of a target that a deployable profile does not have."""
    names = _names("targets", resolved)
    if len(path) == 1 or path[0] != "targets" or not names or path[1] in names:
        return None
    return error(
        "unknown-key",
        f"`{resolved.name}` has no target `{path[1]}`",
        help=(f"its targets are {_quoted(names)}" if len(names) > 1 else f"it has `{names[0]}`",),
    )


def unknown_key(key: str, resolved: Resolved, catalog: Catalog) -> Diagnostic:
    """`unknown-key`, with the full keys that may be meant."""
    return error(
        "unknown-key",
        f"there is no setting `{key}`",
        help=tuple(_help(key, resolved, catalog)),
    )


def real_keys(resolved: Resolved | None) -> Iterator[str]:
    """Every key that may be asked for, with the names that the profile has; of one that cannot be merged those without names."""
    yield from (dotted(each) for each in dict.fromkeys(_paths(resolved)) if _NAME not in each)


def _help(key: str, resolved: Resolved, catalog: Catalog) -> Iterator[str]:
    path = _parts(key)
    if ANY_KEY in path:
        yield f"`{ANY_KEY}` stands for one part of a key, and no key of `{resolved.name}` fits"
        return
    several = _ending(path, resolved)
    if several:
        yield f"several end so: {_quoted(map(dotted, several))}"
        return
    similar = _similar(key, resolved, catalog)
    if len(similar) == 1:
        yield f"a setting with a similar name exists: `{similar[0]}`"
    elif similar:
        yield f"settings with similar names exist: {_quoted(similar)}"


def _similar(key: str, resolved: Resolved, catalog: Catalog) -> tuple[str, ...]:
    """The one that the whole key is a slip for; else what its last part may be, or be a part of."""
    paths = tuple(dict.fromkeys(_paths(resolved)))
    tables = dict.fromkeys(each[:1] for each in paths)
    whole = near(key, (*map(dotted, (*paths, *tables)), *like_flags(key, resolved, catalog)))
    if whole is not None or key.startswith("-"):
        return () if whole is None else (whole,)
    word = _plain(key.rpartition(".")[2])
    last = near(word, (each[-1] for each in paths))
    found = [each for each in paths if each[-1] == last]
    if not found and len(word) >= _SHORTEST:
        found = [each for each in paths if word in _plain(each[-1])]
    return tuple(map(dotted, found)) if len(found) <= _MOST else ()


def _ending(path: SettingPath, resolved: Resolved) -> tuple[SettingPath, ...]:
    """The settings, and the tables in tables, whose last parts these are."""
    last = tuple(map(_plain, path))
    every = (each[:size] for each in _paths(resolved) for size in range(len(each), 1, -1))
    return tuple(
        each
        for each in dict.fromkeys(every)
        if last and tuple(map(_plain, each[-len(last) :])) == last
    )


def _paths(resolved: Resolved | None) -> Iterator[SettingPath]:
    """The settings of a profile, set or not; those of a user's own names where they are set."""
    for setting in all_settings():
        if setting.path[-1] == ANY_KEY:
            known = () if resolved is None else resolved.origins.by_path
            yield from (each for each in known if _fits(setting.path, each))
        elif ANY_KEY in setting.path:
            table, _, *rest = setting.path
            yield from ((table, name, *rest) for name in _names(table, resolved) or (_NAME,))
        else:
            yield setting.path


def _names(table: str, resolved: Resolved | None) -> tuple[str, ...]:
    entries = None if resolved is None else resolved.values.get(table)
    return tuple(entries) if isinstance(entries, Mapping) else ()


def _fits(pattern: SettingPath, path: SettingPath) -> bool:
    """Whether a path is, or is below, what a pattern stands for."""
    return len(path) >= len(pattern) and all(
        part in (ANY_KEY, real) for part, real in zip(pattern, path, strict=False)
    )


def _setting(path: SettingPath) -> SettingPath:
    """The setting of the language that a path is one of."""
    known = find_setting(path)
    return path if known is None or known.path[-1] == ANY_KEY else known.path


def _parts(key: str) -> SettingPath:
    """The parts of a key; a star needs no quotes. Nothing of what is no key."""
    return (
        split_key(".".join(f'"{each}"' if each == ANY_KEY else each for each in key.split(".")))
        or ()
    )


def _plain(part: str) -> str:
    return part.lower().replace("-", "_")


def _quoted(names: Iterable[str]) -> str:
    return listed([f"`{each}`" for each in names])
