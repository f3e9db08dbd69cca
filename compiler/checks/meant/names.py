"""Names under `[flags]` that no flag can have, such as `enable_metrics`: looked up as they should be spelt, so that the first answer is the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from compiler.catalog import Catalog
from compiler.checks.meant import Advice, flag_meant, words_toml
from compiler.checks.table import Owner, find_flag, full_name, owned_flags
from compiler.diagnostics import Diagnostic
from compiler.engines.known import ENGINES
from compiler.facts import Release
from compiler.language.freenames import flag_name
from compiler.origins import dotted
from compiler.plan import Option


def with_meant_flags(
    found: Sequence[Diagnostic], values: Mapping[str, Any], catalog: Catalog
) -> tuple[Diagnostic, ...]:
    """The findings about a profile's plain values, with what to write for each misspelt flag of its engine's release."""
    flags, release = values.get("flags"), release_of(values, catalog)
    if release is None or not isinstance(flags, Mapping):
        return tuple(found)
    misspelt = {
        dotted(("flags", key)): (key, name)
        for key in flags
        if (name := flag_name(key)) not in {None, key}
    }
    told: list[Diagnostic] = []
    for each in found:
        key, name = misspelt.get(each.path or "", ("", None))
        if each.code != "bad-value" or name is None:
            told.append(each)
            continue
        notes, advice = _meant(key, name, values, release)
        told.append(evolve(each, notes=(*each.notes, *notes), help=advice or each.help))
    return tuple(told)


def release_of(values: Mapping[str, Any], catalog: Catalog) -> Release | None:
    """The release that plain values name; `None` where they do not, or nobody read it."""
    engine = values.get("engine")
    said = [engine.get(key) if isinstance(engine, Mapping) else None for key in ("name", "version")]
    if not all(isinstance(each, str) for each in said):
        return None
    build = engine.get("build") if isinstance(engine, Mapping) else None
    name, version = map(str, said)
    return catalog.release(name, version, build if isinstance(build, str) else None)[0]


def _meant(key: str, name: str, values: Mapping[str, Any], release: Release) -> Advice:
    flag, setting = f"--{name}", f"flags.{key}"
    option = Option(flag=flag, values=tuple(_words(values["flags"][key])), setting=setting)
    engine = ENGINES.get(release.engine)
    owned = owned_flags(release, engine)
    if find_flag(release, flag) is None:
        notes, advice = flag_meant(
            option,
            release=release,
            outcome="",
            owned=lambda other: _owner(other, release, owned, values),
        )
        said = f"{release.engine} {release.read_version} has no `{flag}`"
        whole = " ".join(advice)
        typed = (
            f"`{setting}` writes `{each}`"
            for each, setting in owned.items()
            if f"`{each}`" in whole and f"`{setting}" not in whole
        )
        return (said, *filter(None, notes)), (*advice, *typed) or (f"remove `{setting}`",)
    owner = owned.get(full_name(release, flag))
    if name in values["flags"]:
        return (), (f"remove `{setting}`: `flags.{name}` is set, too",)
    if owner is None:
        return (), (f"write `{name}`",)
    if _is_set(owner, values):
        return (), (f"remove `{setting}`: `{owner}` is set, and writes `{flag}`",)
    holds = engine is not None and engine.is_typed(flag, option.values, release=release)
    if holds and not owner.startswith("secrets."):
        owner += f" = {words_toml(option.values)}"
    return (), (f"set `{owner}` and remove `{setting}`",)


def _owner(
    option: Option, release: Release, owned: Mapping[str, str], values: Mapping[str, Any]
) -> Owner | None:
    """The setting to write for a flag that is meant: it is set already, or can hold such a value."""
    setting, engine = owned.get(full_name(release, option.flag)), ENGINES.get(release.engine)
    if setting is None or engine is None:
        return None
    is_written = _is_set(setting, values)
    if not is_written and not engine.is_typed(option.flag, option.values, release=release):
        return None
    return Owner(setting=setting, is_written=is_written)


def _is_set(setting: str, values: Mapping[str, Any]) -> bool:
    table, _, key = setting.partition(".")
    held = values.get(table)
    return isinstance(held, Mapping) and key in held


def _words(value: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield from map(str, value if isinstance(value, list | tuple) else (value,))
