"""Every flag against the release's own table: does it exist, does its value parse, is it given once."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.checks.table import NEGATIVE, Owner, find_flag, full_name, typed_owner, value_fault
from compiler.diagnostics import Diagnostic, Label, Severity, error, present, warning
from compiler.facts import Action, Flag, Release
from compiler.origins import Origins
from compiler.plan import Option, Plan
from compiler.rules import rule


UNKNOWN = "flag-unknown"
CODES = frozenset({UNKNOWN, "flag-value"})
"""Findings that an engine's own rule may already have explained in better words."""

_STOPS = "the server stops at once: its parser refuses the command line"


def _release_name(release: Release) -> str:
    name = f"{release.engine} {release.read_version}"
    return f"{name} with the build `{release.build.id}`" if release.build else name


def _doubt(plan: Plan, release: Release) -> str | None:
    """Why the server's own table may be another one; `None` when the table that was read is the server's."""
    build = plan.profile.engine.build
    if release.read_version != release.version:
        return f"{release.engine} {release.version} was not read, and may differ"
    if build is not None and release.build is None:
        return f"the build `{build}` is not described, and may differ"
    return None


def _key(where: Origins, option: Option, text: str) -> Label:
    """The flag's own name in `[flags]`, else the typed setting's value."""
    origin = where.find(option.setting)
    if origin is not None and option.setting.startswith("flags."):
        return Label(origin.winner.key, text)
    return where.primary(option.setting, text=text)


@rule(UNKNOWN)
def exists(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The release's parser stops at a flag it does not have; a warning when the server's own table was not read."""
    release = plan.release
    if release is None:
        return
    doubt = _doubt(plan, release)
    for option in plan.options:
        flag = find_flag(release, option.flag)
        if flag is not None and flag.effect is not Action.REFUSE:
            continue
        verb = "has no flag" if flag is None else "refuses the flag"
        from compiler.checks.meant import flag_meant  # noqa: PLC0415 - only a mistake pays for it

        notes, advice = flag_meant(
            option,
            release=release,
            outcome=doubt or _STOPS,
            owned=lambda meant: typed_owner(plan, meant),
        )
        yield Diagnostic(
            code=UNKNOWN,
            severity=Severity.WARNING if doubt else Severity.ERROR,
            summary=f"{_release_name(release)} {verb} `{option.flag}`",
            primary=_key(where, option, "this flag"),
            notes=notes,
            help=advice or tuple(_without(option)),
            path=option.setting,
        )


def _without(option: Option) -> Iterator[str]:
    """What a raw flag can always do: go; its setting stands for itself where it is a typed one's."""
    if option.setting.startswith("flags."):
        yield f"remove `{option.setting}`"


@rule("flag-deprecated")
def current(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A flag the release still takes and warns about."""
    if plan.release is None:
        return
    for option in plan.options:
        flag = find_flag(plan.release, option.flag)
        if flag is None or not flag.deprecated or flag.effect is Action.REFUSE:
            continue
        from compiler.checks.meant import successor  # noqa: PLC0415 - only a mistake pays for it

        notes, advice = successor(option, flag=flag, release=plan.release)
        yield warning(
            "flag-deprecated",
            f"{_release_name(plan.release)} is about to drop `{option.flag}`",
            _key(where, option, "deprecated"),
            notes=notes,
            help=advice,
            path=option.setting,
        )


@rule("flag-value")
def parses(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The release's parser stops at a value it cannot read; a warning when the server's own table was not read."""
    release = plan.release
    if release is None:
        return
    doubt = _doubt(plan, release)
    for option in plan.options:
        flag = find_flag(release, option.flag)
        fault = (
            value_fault(flag, option.flag, option.values, engine=release.engine) if flag else None
        )
        if flag is None or fault is None or _is_doubled(plan, option):
            continue
        yield Diagnostic(
            code="flag-value",
            severity=Severity.WARNING if doubt else Severity.ERROR,
            summary=f"`{option.flag}` {fault}",
            primary=where.primary(option.setting, text="this value"),
            notes=(doubt or _STOPS,),
            help=tuple(_values(plan, where, flag, option)),
            path=option.setting,
        )


def _is_doubled(plan: Plan, option: Option) -> bool:
    """Whether a raw flag goes as a whole, since a setting that is there writes it."""
    owner = typed_owner(plan, option) if option.setting.startswith("flags.") else None
    return owner is not None and owner.is_written


def _values(plan: Plan, where: Origins, flag: Flag, option: Option) -> Iterator[str]:
    """What to write: the setting that a file has for it, what was probably meant, and what it takes, when that is a few only."""
    release = plan.release
    if release is None:
        return
    from compiler.checks.meant import typed_value, value_meant  # noqa: PLC0415 - only a mistake pays for it

    typed = None
    if option.setting.startswith("flags.") and where.find(option.setting) is not None:
        others = [each for each in plan.options if each is not option]
        typed = typed_value(
            option,
            flag=flag,
            release=release,
            owned=lambda meant: typed_owner(evolve(plan, options=(*others, meant)), meant),
        )
    if typed is not None:
        yield typed
    elif flag.choices:
        yield from value_meant(option, flag=flag, release=release)
    else:
        wanted = "a value that it takes" if flag.takes else "no value"
        yield from (f"{each}, or give it {wanted}" for each in _without(option))
    if flag.choices:
        yield f"{_release_name(release)} takes {', '.join(f'`{each}`' for each in flag.choices)}"


@rule("flag-smuggled")
def values_are_values(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A word that begins like a flag is read as one, whatever it was meant for."""
    for option in plan.options:
        for word in option.values:
            if word.startswith("-") and word != "-" and not NEGATIVE.fullmatch(word):
                yield error(
                    "flag-smuggled",
                    f"`{option.flag}` gets the word `{word}`, which the parser reads as a flag",
                    where.primary(option.setting, text="this value"),
                    notes=(
                        "the server would run with a flag that this plan did not judge, or stop at once",
                    ),
                    help=("a flag of its own goes under `[flags]`; no value may begin with `-`",),
                    path=option.setting,
                )


@rule("value-empty")
def says_something(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """An empty word is a value, not a flag that is left out; scripts give one where a variable was not set."""
    for name, value in plan.profile.flags.items():
        flag = find_flag(plan.release, f"--{name}") if plan.release is not None else None
        # Its parser refuses an empty word among choices or numbers, which is said elsewhere.
        if value != "" or (flag is not None and (flag.choices or flag.takes != "str")):
            continue
        yield warning(
            "value-empty",
            f"`--{name}` is given an empty word",
            where.primary(f"flags.{name}", text="empty"),
            notes=("the server takes it for a value: it is not the same as leaving the flag out",),
            help=(f"remove `flags.{name}`, or set it to a value",),
            path=f"flags.{name}",
        )


@rule("flag-duplicated")
def once(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A flag in `[flags]` that a typed setting writes, or that stands there under two names: the last one would win."""
    raw = [option for option in plan.options if option.setting.startswith("flags.")]
    if not raw:
        return
    seen: dict[str, Option] = {}
    for option in raw:
        full = full_name(plan.release, option.flag)
        owner = typed_owner(plan, option)
        if owner is not None:
            yield _owned(plan, where, option, owner)
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


def _owned(plan: Plan, where: Origins, option: Option, owner: Owner) -> Diagnostic:
    setting, raw = owner.setting, option.setting
    typed = next((each for each in plan.options if each.setting == setting), None)
    key = _key(where, option, f"writes `{' '.join((option.flag, *option.values))}`")
    if not owner.is_written or typed is None:
        return error(
            "flag-duplicated",
            f"`{option.flag}` has a setting of its own, `{setting}`",
            key,
            notes=(
                "what has one is written there, where every rule and every change looks for it",
            ),
            help=(f"set `{_said_there(plan, option, setting)}` in place of `{raw}`",),
            path=raw,
        )
    return error(
        "flag-duplicated",
        f"`{option.flag}` is written by `{setting}`",
        key,
        secondary=present(
            where.label(setting, f"writes `{' '.join((typed.flag, *typed.values))}`")
        ),
        notes=(
            "the engine takes the last one on its command line, and the plan would judge the other",
        ),
        help=(f"set `{setting}` and remove `{raw}`",),
        path=raw,
    )


def _said_there(plan: Plan, option: Option, setting: str) -> str:
    """The setting with the value of a raw flag, where it may hold that as it is."""
    from compiler.checks.meant import takes  # noqa: PLC0415 - only a mistake pays for it
    from compiler.language.written import written  # noqa: PLC0415 - as above

    value = plan.profile.flags.get(option.setting.removeprefix("flags."))
    if value is None or not takes(setting, value):
        return setting
    return f"{setting} = {written(value, key=setting.rpartition('.')[2])}"
