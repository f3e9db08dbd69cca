"""Keys of a table that are flags of the engine, such as `serve.context_length`: told by the setting that writes the flag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from compiler.catalog import Catalog
from compiler.checks.meant import words_toml
from compiler.checks.meant.names import release_of
from compiler.checks.table import find_flag, full_name, owned_flags
from compiler.diagnostics import Diagnostic
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.language.elsewhere import called_here
from compiler.language.structure import BY_FILE_HINT
from compiler.secretnames import names_a_secret


def with_meant_keys(
    found: Sequence[Diagnostic], values: Mapping[str, Any], catalog: Catalog
) -> tuple[Diagnostic, ...]:
    """The findings about a profile's plain values, with what to write for each unknown key that its release has a flag for.

    A setting that is missing since it stands under its flag's name is not said to be missing, too.
    """
    release = release_of(values, catalog)
    if release is None:
        return tuple(found)
    flags = {each.path: flag for each in found if (flag := _flag_of(each, release)) is not None}
    owned = owned_flags(release, ENGINES.get(release.engine))
    owners = {owned[flag] for flag in flags.values() if flag in owned}
    told: list[Diagnostic] = []
    for each in found:
        flag = flags.get(each.path)
        if flag is None:
            told += [] if each.code == "setting-missing" and each.path in owners else [each]
        elif flag in owned:
            told.append(evolve(each, help=(f"`{owned[flag]}` writes `{flag}`",)))
        else:
            told.append(evolve(each, help=(_under_flags(each, flag, values, release),)))
    return tuple(told)


def _flag_of(found: Diagnostic, release: Release) -> str | None:
    """The flag that an unknown key is named like, alone or with its table before it (`speculative.num_steps`)."""
    table, _, key = (found.path or "").partition(".")
    if found.code != "unknown-key" or not key or table == "secrets":
        return None
    named = called_here((table, key))
    if named is not None and named[0] == table:
        return None  # what it is called in this table says more
    for name in (key, f"{table}-{key}"):
        flag = f"--{name.replace('_', '-')}"
        if find_flag(release, flag) is not None:
            return full_name(release, flag)
    return None


def _under_flags(found: Diagnostic, flag: str, values: Mapping[str, Any], release: Release) -> str:
    table, _, key = (found.path or "").partition(".")
    value, known = values[table].get(key), find_flag(release, flag)
    if names_a_secret(flag):
        return BY_FILE_HINT
    if value is False:
        return f"leave it out: `{flag}` is on where it is set under `[flags]`"
    several = value if isinstance(value, list | tuple) else (value,)
    switched = value is True or (known is not None and known.takes is None)
    words = () if switched else [str(each) for each in several]
    return f"write `{flag[2:]} = {words_toml(words)}` under `[flags]`"
