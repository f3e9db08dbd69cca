"""What somebody meant by a flag or a value that the release does not take: another release's name for it, or a near one.

It reads the catalogue once more, which only a mistake pays for: `flags` imports it when there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve

from compiler.catalog.moves import (
    Replacement,
    releases_with,
    replacement,
    value_replacement,
)
from compiler.checks.meant.advised import told_by
from compiler.checks.table import WORDS, Owner, find_flag, full_name, owned_flags, value_fault
from compiler.diagnostics import listed
from compiler.engines.known import ENGINES
from compiler.facts import Flag, Release
from compiler.language.elsewhere import flag_here, otherwise_here
from compiler.language.typed import structure_value
from compiler.language.written import text_toml
from compiler.near import near
from compiler.origins import SettingPath, dotted
from compiler.plan import Option
from compiler.profile import Argument, Profile


Advice = tuple[tuple[str, ...], tuple[str, ...]]
"""Notes, and help."""


_PLACES = ("-path", "-paths")
"""Ends of the names of flags that take a path, or an id in its place."""


def flag_meant(
    option: Option,
    *,
    release: Release,
    outcome: str,
    owned: Callable[[Option], Owner | None] = lambda _: None,
) -> Advice:
    """What to write for a flag that the parser does not have; `outcome` is what comes of it as it stands.

    `owned` gives the setting to write where the flag that is meant would double it: a command has none.
    """
    known = replacement(option.flag, release=release)
    if known is not None:
        return (outcome, *known.notes), tuple(_rewritten(option, known, release=release))
    longer = {
        release.aliases.get(each, each)
        for each in (*release.flags, *release.aliases)
        if each.startswith(option.flag)
    }
    if len(longer) == 1:
        full = longer.pop()
        note = f"at best the parser takes it for `{full}`, until a release adds a flag of the same beginning"
        return (note,), (_written(option, full, begun="write it in full", owned=owned),)
    others = releases_with(option.flag, engine=release.engine)
    if others:
        verb = f"{others[0]} has it" if len(others) == 1 else f"{others[0]} to {others[-1]} have it"
        return (outcome, f"of the releases read, {verb}"), ()
    return _of_elsewhere(option.flag, release, outcome) or _of_similar_name(
        option, release, outcome, owned=owned
    )


def _of_elsewhere(flag: str, release: Release, outcome: str) -> Advice | None:
    """What the flag of another engine is called here, or why there is no such flag."""
    named = flag_here(flag)
    meant = None if named is None else _written_here(named, release)
    if meant:
        whole = "" if "." in meant[0].partition(" = ")[0] else " under `[flags]`"
        said = (
            f"set {listed([f'`{each}`' for each in meant])}{whole}: that is what it is called here"
        )
        other = otherwise_here(flag)
        return (outcome,), (said if other is None else f"{said}; {other}",)
    engine = ENGINES.get(release.engine)
    reason = engine.needless(flag) if engine is not None else None
    if reason is None:
        return None
    why, _, instead = reason.partition(": ")
    return (outcome,), (f"{instead}: it has no counterpart in {release.engine}, since {why}",)


def _written_here(named: SettingPath, release: Release) -> tuple[str, ...]:
    """What to set for a setting in a release: of a flag that is on its way out what that release says to use; empty if it has neither."""
    setting, engine = dotted(named), ENGINES.get(release.engine)
    if named[0] != "flags":
        owned = engine.owned_flags() if engine is not None else {}
        names = [name for name, owner in owned.items() if owner == setting]
        has_it = not names or any(find_flag(release, name) is not None for name in names)
        return (setting,) if has_it else ()
    taken = _taken(named[1], release)
    if taken is None:
        return ()
    flag = find_flag(release, f"--{taken[1]}")
    later = told_by(flag, release) if flag is not None and flag.deprecated else ()
    told = (
        f"{name[2:]} = {words_toml(values)}" if values else dotted(("flags", name[2:]))
        for name, values in later
    )
    return tuple(told) or (dotted(taken),)


def _taken(name: str, release: Release) -> tuple[str, str] | None:
    """The flag of that name, or what took its place in a release; `None` where that has neither."""
    if find_flag(release, f"--{name}") is not None:
        return ("flags", name)
    known = replacement(f"--{name}", release=release)
    taken = None if known is None else known.name
    return None if taken is None or find_flag(release, taken) is None else ("flags", taken[2:])


def _of_similar_name(
    option: Option,
    release: Release,
    outcome: str,
    *,
    owned: Callable[[Option], Owner | None],
) -> Advice:
    similar = _similar(option, release)
    if similar is None:
        return (outcome,), ()
    begun = "a flag with a similar name exists"
    return (outcome,), (_written(option, similar, begun=begun, owned=owned),)


def _written(
    option: Option, name: str, *, begun: str, owned: Callable[[Option], Owner | None]
) -> str:
    """How to write the flag that is meant: by the setting that writes it, so that the first answer is the last."""
    owner = owned(evolve(option, flag=name))
    if owner is None:
        return f"{begun}: `{name}`"
    if owner.is_written:
        return f"remove `{option.setting}`: `{owner.setting}` is set, and writes `{name}`"
    is_secret = owner.setting.startswith("secrets.")
    told = owner.setting if is_secret else f"{owner.setting} = {words_toml(option.values)}"
    return f"{begun}: set `{told}` (`{name}`) in its place"


def _similar(option: Option, release: Release) -> str | None:
    """The flag that was probably meant: of those that are named alike, one that takes such a value comes first.

    What looks like a model's id or a path goes before all with flags that are named for one.
    """
    names = {**{each: each for each in release.flags}, **release.aliases}
    taking = [
        name
        for name, full in names.items()
        if value_fault(release.flags[full], full, option.values, engine=release.engine) is None
    ]
    if any("/" in each for each in option.values):
        placing = [each for each in taking if each.endswith(_PLACES)]
        begun = [each for each in placing if each.startswith(option.flag)]
        found = begun[0] if len(begun) == 1 else near(option.flag, placing)
        if found is not None:
            return found
    return near(option.flag, taking) or near(option.flag, names)


def successor(option: Option, *, flag: Flag, release: Release) -> Advice:
    """Why a flag is on its way out, and what to write instead."""
    known = replacement(option.flag, release=release)
    notes = known.notes if known and known.notes else (flag.deprecated or "",)
    if known is not None:
        return notes, tuple(_rewritten(option, known, release=release))
    told = told_by(flag, release)
    # Of one without a value nobody said that it does the same.
    if not told or not all(values for _, values in told) or option.values:
        return notes, ()
    is_raw = option.setting.startswith("flags.")
    lines = [
        f"`{name[2:]} = {words_toml(values)}`" if is_raw else f"`{' '.join((name, *values))}`"
        for name, values in told
    ]
    return notes, (f"write {listed(lines)} in its place",)


def value_meant(option: Option, *, flag: Flag, release: Release) -> Iterator[str]:
    """What to write for a value that is none of a flag's choices."""
    for each in option.values:
        known = value_replacement(option.flag, each, release=release)
        if known is not None:
            yield from (f"`{known.name}` took the place of `{each}`",) if known.name else ()
            yield from (f"`{each}` is gone: {note}" for note in known.notes)
            return
    similar = _alike(option, flag)
    if len(similar) > 1:
        yield f"values that begin so exist: {listed([f'`{each}`' for each in similar])}"
    elif similar:
        yield f"a similar value exists: `{similar[0]}`"


def _alike(option: Option, flag: Flag) -> tuple[str, ...]:
    """The choices that begin like a value that is none, else the one that is near it."""
    if not option.values or option.values[0] in flag.choices:
        return ()
    given = option.values[0]
    longer = [each for each in flag.choices if given and each.startswith(f"{given}_")]
    similar = None if longer else near(given, flag.choices)
    return tuple(longer) if similar is None else (similar,)


_SOME: Mapping[str, tuple[str, ...]] = {"int": ("1",), "int-with-suffix": ("1",), "float": ("0.5",)}
"""A value of each kind of flag that takes a number."""


def typed_value(
    option: Option, *, flag: Flag, release: Release, owned: Callable[[Option], Owner | None]
) -> str | None:
    """What to set in place of a raw flag whose value is none; `None` where no setting writes what is likely meant.

    Else whoever mends the value is told of the setting only then.
    """
    known = [value_replacement(option.flag, each, release=release) for each in option.values]
    meant = tuple(each.name for each in known if each and each.name) or _alike(option, flag)
    some = meant or flag.choices or _SOME.get(flag.takes or "", ())
    owners = {each: owned(evolve(option, values=(each,))) for each in some}
    fitting = [each for each, owner in owners.items() if owner is not None]
    owner = next(filter(None, owners.values()), None)
    if owner is None:
        return None
    said = f"in place of `{option.setting}`: it writes `{option.flag}`"
    if meant and len(fitting) == 1:
        # What the command line has in capitals a setting may have in small letters.
        words = (fitting, [fitting[0].lower()])
        told = next((each for each in words if takes(owner.setting, each[0])), fitting)
        return f"set `{owner.setting} = {words_toml(told)}` {said}"
    others = [f"`{each}`" for each in some if each not in fitting]
    if meant:
        said += f"; values that begin so exist: {listed([f'`{each}`' for each in fitting])}"
    elif others:
        said += f", with all of these values but {listed(others)}"
    return f"set `{owner.setting}` {said}"


def takes(setting: str, value: Argument) -> bool:
    """Whether a setting can hold a value."""
    table, _, key = setting.partition(".")
    _, faults = structure_value({table: {key: value}}, Profile)
    return not any(each.path[:2] == (table, key) for each in faults)


def _rewritten(option: Option, known: Replacement, *, release: Release) -> Iterator[str]:
    """How to write the flag's successor, as far as its value is known: in a setting, in `[flags]`, or on the command line."""
    flag = find_flag(release, known.name) if known.name else None
    if flag is None or known.name is None:
        return
    values = tuple(_carried(option, known, flag=flag))
    engine = ENGINES.get(release.engine)
    if value_fault(flag, known.name, values, engine=release.engine) is not None:
        kind = WORDS.get(flag.takes or "", "a value of its own")
        choices = ", ".join(f"`{each}`" for each in flag.choices)
        yield f"`{known.name}` took its place, and takes {choices or kind}"
    elif not option.setting.startswith("flags."):
        yield f"`{' '.join((known.name, *values))}` took its place"
    elif engine is not None and engine.is_typed(known.name, values, release=release):
        setting = owned_flags(release, engine)[full_name(release, known.name)]
        yield f"set `{setting} = {words_toml(values)}` in its place"
    else:
        yield f"write `{known.name[2:]} = {words_toml(values)}` in its place"


def _carried(option: Option, known: Replacement, *, flag: Flag) -> Iterator[str]:
    """The words of the old flag as the new one has them; none that would mean something else there."""
    if flag.takes is None:
        return
    words = option.values or (("",) if "" in known.values else ())
    for each in words:
        if each in known.values or known.exact:
            yield known.values.get(each, each)


def words_toml(values: Sequence[str]) -> str:
    """The words of a flag as a value under `[flags]`."""
    if not values:
        return "true"
    words = [each if re.fullmatch(r"-?\d+(\.\d+)?", each) else text_toml(each) for each in values]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"
