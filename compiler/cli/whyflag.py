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
    """The setting behind a flag, with its dashes or without, by any of its names; `None` where the release has no such flag."""
    asked = resolved.values.get("engine", {})
    engine = asked if isinstance(asked, Mapping) else {}
    name = engine.get("name", DEFAULT)
    if not isinstance(name, str) or name not in ENGINES:
        return None
    version = engine.get("version")
    release = catalog.release(name, version)[0] if isinstance(version, str) else None
    word = key.partition("=")[0].lstrip("-").replace("_", "-")
    flag = full_name(release, _whole(f"--{word}", release))
    setting = owned_flags(release, ENGINES[name]).get(flag)
    if setting is not None:
        return split_key(setting)
    is_known = release is None or flag in release.flags
    return ("flags", flag.removeprefix("--")) if is_known else None


def _whole(name: str, release: Release | None) -> str:
    """The name that only one begins like, as the server's own parser completes it; else the same."""
    every = (*release.flags, *release.aliases) if release is not None else ()
    begun = [each for each in every if each.startswith(name)]
    return begun[0] if len(begun) == 1 and name not in every else name
