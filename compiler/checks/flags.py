"""Every flag against the release's own table: does it exist, does its value parse, is it given once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.engines import ENGINES
from compiler.near import near
from compiler.rules import rule


if TYPE_CHECKING:
    from collections.abc import Iterator

    from compiler.facts import Flag, Release
    from compiler.origins import Origins
    from compiler.plan import Option, Plan


CODES = frozenset({"flag-unknown", "flag-value"})
"""Findings that an engine's own rule may already have explained in better words."""

_NUMBER = {
    "int": re.compile(r"[+-]?\d+"),
    "float": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE),
}


def _release_name(release: Release) -> str:
    name = f"{release.engine} {release.read_version}"
    return f"{name} with the build `{release.build.id}`" if release.build else name


def _key(where: Origins, option: Option, text: str) -> Label:
    """The flag's own name in `[flags]`, else the typed setting's value."""
    origin = where.find(option.setting)
    if origin is not None and option.setting.startswith("flags."):
        return Label(origin.winner.key, text)
    return where.primary(option.setting, text=text)


@rule("flag-unknown")
def exists(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The release's parser stops at a flag it does not have."""
    if plan.release is None:
        return
    for option in plan.options:
        if _find(plan.release, option.flag) is not None:
            continue
        similar = near(option.flag, plan.release.flags)
        yield error(
            "flag-unknown",
            f"{_release_name(plan.release)} has no flag `{option.flag}`",
            _key(where, option, "this flag"),
            notes=("the server stops at once: its parser refuses the command line",),
            help=(f"a flag with a similar name exists: `{similar}`",) if similar else (),
            path=option.setting,
        )


@rule("flag-deprecated")
def current(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A flag the release still takes and warns about."""
    if plan.release is None:
        return
    for option in plan.options:
        flag = _find(plan.release, option.flag)
        if flag is not None and flag.deprecated:
            yield warning(
                "flag-deprecated",
                f"{_release_name(plan.release)} is about to drop `{option.flag}`",
                _key(where, option, "deprecated"),
                notes=(flag.deprecated,),
                path=option.setting,
            )


@rule("flag-value")
def parses(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The release's parser stops at a value it cannot read."""
    if plan.release is None:
        return
    for option in plan.options:
        flag = _find(plan.release, option.flag)
        fault = _fault(flag, option) if flag else None
        if flag is None or fault is None:
            continue
        similar = near(option.values[0], flag.choices) if option.values and flag.choices else None
        yield error(
            "flag-value",
            f"`{option.flag}` {fault}",
            where.primary(option.setting, text="this value"),
            notes=("the server stops at once: its parser refuses the command line",),
            help=(
                *((f"a similar value exists: `{similar}`",) if similar else ()),
                *(
                    (
                        f"{_release_name(plan.release)} takes {', '.join(f'`{each}`' for each in flag.choices)}",
                    )
                    if flag.choices
                    else ()
                ),
            ),
            path=option.setting,
        )


def _fault(flag: Flag, option: Option) -> str | None:
    if flag.takes is None:
        return f"takes no value; write `{option.flag[2:]} = true`" if option.values else None
    if not option.values:
        return None if flag.nargs in {"?", "*"} else f"needs a value of type {flag.takes}"
    if len(option.values) > 1 and flag.nargs is None:
        return f"takes one value, not {len(option.values)}"
    for value in option.values:
        number = _NUMBER.get(flag.takes)
        if number is not None and not number.fullmatch(value):
            return f"takes a value of type {flag.takes}"
        if flag.choices and value not in flag.choices:
            return "does not take this value"
    return None


@rule("flag-duplicated")
def once(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A flag in `[flags]` that a typed setting writes, or that stands there under two names: the last one would win."""
    engine = ENGINES.get(plan.profile.engine.name)
    owned = engine.owned_flags() if engine else {}
    seen: dict[str, Option] = {}
    for option in plan.options:
        if not option.setting.startswith("flags."):
            continue
        full = _full_name(plan.release, option.flag)
        setting = owned.get(full)
        if setting is not None:
            yield _owned(plan, where, option, setting)
        elif full in seen:
            yield error(
                "flag-duplicated",
                f"`{option.flag}` and `{seen[full].flag}` are one flag",
                _key(where, option, "here"),
                secondary=(_key(where, seen[full], "and here"),),
                notes=("the engine takes the last one on its command line",),
                help=(f"keep `{full[2:]}`",),
                path=option.setting,
            )
        seen[full] = option


def _owned(plan: Plan, where: Origins, option: Option, setting: str) -> Diagnostic:
    typed = next((each for each in plan.options if each.setting == setting), None)
    label = (
        where.label(setting, f"writes `{' '.join((typed.flag, *typed.values))}`") if typed else None
    )
    return error(
        "flag-duplicated",
        f"`{option.flag}` is written by `{setting}`",
        _key(where, option, f"writes `{' '.join((option.flag, *option.values))}`"),
        secondary=(label,) if label else (),
        notes=(
            "the engine takes the last one on its command line, and the plan would judge the other",
        ),
        help=(f"set `{setting}` and remove `{option.setting}`",),
        path=option.setting,
    )


def _find(release: Release, name: str) -> Flag | None:
    return release.flags.get(_full_name(release, name))


def _full_name(release: Release | None, name: str) -> str:
    """The flag's first name, when it was given by another."""
    if release is None or name in release.flags:
        return name
    return release.aliases.get(name, name)
