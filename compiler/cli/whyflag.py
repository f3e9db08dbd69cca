"""What `why` takes a flag of the engine for: the setting that writes it."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.catalog import Catalog
from compiler.checks.table import full_name, owned_flags
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.language.merge import Resolved
from compiler.language.spans import split_key
from compiler.origins import SettingPath


def setting_of_flag(key: str, resolved: Resolved, catalog: Catalog) -> SettingPath | None:
    """The setting behind a flag; `None` where the release has no such flag.

    It is given with its dashes or without, by any of its names. Only with its dashes, as the server's own parser reads it, may
    it be cut short: a word alone is a slip rather than the one flag that begins so.
    """
    name, release = _release(resolved, catalog)
    if name is None:
        return None
    word = key.partition("=")[0].lstrip("-").replace("_", "-")
    given = f"--{word}"
    flag = full_name(release, _whole(given, release) if key.startswith("--") else given)
    setting = owned_flags(release, ENGINES[name]).get(flag)
    if setting is not None:
        return split_key(setting)
    is_known = release is None or flag in release.flags
    return ("flags", flag.removeprefix("--")) if is_known else None


def like_flags(key: str, resolved: Resolved, catalog: Catalog) -> tuple[str, ...]:
    """The flags that a key may be a slip for, written as the key is: in the table `flags`, with dashes, or without."""
    _, release = _release(resolved, catalog)
    start = next((each for each in ("flags.", "--") if key.startswith(each)), "")
    return tuple(f"{start}{each.removeprefix('--')}" for each in (release.flags if release else ()))


def _release(resolved: Resolved, catalog: Catalog) -> tuple[str | None, Release | None]:
    """The engine's name, `None` for one that nobody knows, and its release, where that is known."""
    asked = resolved.values.get("engine", {})
    engine = asked if isinstance(asked, Mapping) else {}
    name, version = engine.get("name", DEFAULT), engine.get("version")
    if not isinstance(name, str) or name not in ENGINES:
        return None, None
    return name, catalog.release(name, version)[0] if isinstance(version, str) else None


def _whole(name: str, release: Release | None) -> str:
    """The name that only one begins like, as the server's own parser completes it; else the same."""
    every = (*release.flags, *release.aliases) if release is not None else ()
    begun = [each for each in every if each.startswith(name)]
    return begun[0] if len(begun) == 1 and name not in every else name
