"""A launch and what its engine reads from it go in; the settings of a profile come out, typed where they can be.

A typed setting is given up for a raw flag where it cannot hold the value, or where the compiled command would say
something else: the release's own parser judges.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from compiler.adopt.launch import Setting
from compiler.diagnostics import Span
from compiler.engines.adopting import Adopter, Carried, Difference, Reading
from compiler.engines.engine import Engine
from compiler.facts import Release
from compiler.language.typed import structure_value
from compiler.origins import SettingPath
from compiler.profile import Profile
from compiler.value import Value


_FLAG_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")  # as the language has it


@frozen(kw_only=True, eq=False, repr=False)
class Folded(Value):
    """What came of it.

    Attributes:
        settings: all of the profile, in no order.
        profile: the same, typed; `None` when it makes no profile.
        owners: the flag that a setting comes from.
        lost: what no profile can hold, with the reason.
        differences: where the compiled command still says something else.
    """

    settings: tuple[Setting, ...]
    profile: Profile | None
    owners: Mapping[SettingPath, Carried] = field(factory=dict)
    lost: tuple[tuple[Setting, str], ...] = ()
    differences: tuple[Difference, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Folder(Value):
    """Folds launches for one release.

    Attributes:
        spans: where each word of the launch stands.
        around: the settings that do not come from flags; of two for one path the first counts.
    """

    engine: Engine
    release: Release
    adopter: Adopter
    reading: Reading
    spans: Sequence[Span | None]
    around: tuple[Setting, ...]

    def fold(self) -> Folded:
        """Typed settings first; what does not fit becomes a flag, and then it is tried again."""
        raw: set[str] = set()
        lost: dict[SettingPath, tuple[Setting, str]] = {}
        while True:
            several, owners = self._settings(raw, without=lost.keys())
            profile, faults = structure_value(nested(several), Profile)
            moved = {owner for fault in faults for owner in self._owners(fault.path, owners, raw)}
            if moved:
                raw |= moved
                continue
            gone = {
                each.path: (each, fault.message)
                for fault in faults
                for each in several
                if each.path == tuple(map(str, fault.path[: len(each.path)]))
            }
            if gone:
                lost |= gone
                continue
            found = self._differences(profile, lost.keys(), owners)
            moved = {
                owners[path].flag
                for path in owners
                if path[0] != "flags" and owners[path].dest in {each.dest for each in found}
            }
            if not moved - raw:
                return Folded(
                    settings=several,
                    profile=profile,
                    owners=owners,
                    lost=tuple(lost.values()),
                    differences=found,
                )
            raw |= moved

    def _settings(
        self, raw: set[str], *, without: Collection[SettingPath]
    ) -> tuple[tuple[Setting, ...], Mapping[SettingPath, Carried]]:
        made: dict[SettingPath, Setting] = {}
        owners: dict[SettingPath, Carried] = {}
        for carried in self.reading.carried:
            told = self._typed(carried) if carried.flag not in raw else {}
            if not told or not owners.keys().isdisjoint(told):
                told = {("flags", carried.flag.removeprefix("--")): carried.argument}
            for path, value in told.items():
                made[path] = Setting(path=path, value=value, span=self._span(carried))
                owners[path] = carried
        for each in self.around:
            made.setdefault(each.path, each)
        kept = {path: each for path, each in made.items() if path not in without}
        return tuple(kept.values()), {path: owners[path] for path in owners if path in kept}

    def _typed(self, carried: Carried) -> Mapping[SettingPath, object]:
        return {tuple(name.split(".")): value for name, value in carried.settings.items()}

    def _span(self, carried: Carried) -> Span | None:
        """The value, else the flag."""
        spans = [self.spans[at] for at in carried.words]
        return spans[1] if len(spans) > 1 else (spans[0] if spans else None)

    def _owners(
        self, path: Sequence[object], owners: Mapping[SettingPath, Carried], raw: set[str]
    ) -> Iterator[str]:
        """The flags whose typed settings a fault is about; of a missing key all those of its table."""
        keys = tuple(each for each in path if isinstance(each, str))
        exact = owners.get(keys[:2])
        for own, carried in owners.items():
            if own[0] == "flags" or carried.flag in raw:
                continue
            if carried is exact or (
                exact is None and own[0] == keys[0] and keys[0] == "speculative"
            ):
                yield carried.flag

    def _differences(
        self,
        profile: Profile | None,
        lost: Collection[SettingPath],
        owners: Mapping[SettingPath, Carried],
    ) -> tuple[Difference, ...]:
        """Those that are not already explained by what no profile can hold."""
        if profile is None or self.reading.refusal is not None:
            return ()
        argv = argv_of(profile, self.engine, self.release)
        unwritable = {
            *(f"--{path[1]}" for path in lost if path[0] == "flags"),
            *(
                each.flag
                for path, each in owners.items()
                if path[0] == "flags" and flag_name_fault(path[1])
            ),
        }
        explained = {
            name
            for each in self.reading.carried
            if each.flag in unwritable
            for name in (each.flag, each.dest)
        }
        return tuple(
            each
            for each in self.adopter.differences(self.reading, argv)
            if each.dest not in explained and not (unwritable and not each.dest)
        )


def argv_of(profile: Profile, engine: Engine, release: Release) -> tuple[str, ...]:
    """The command that a profile is compiled to."""
    fraction = profile.memory.fraction
    spelled = engine.spell(
        profile, release, fraction=None if isinstance(fraction, str) else fraction
    )
    words = list(spelled.command)
    for option in spelled.options:
        words += (option.flag, *option.values)
    return tuple(words)


def nested(settings: Sequence[Setting]) -> Mapping[str, Any]:
    """The settings as the tables of a file."""
    values: dict[str, Any] = {}
    for each in settings:
        table = values
        for key in each.path[:-1]:
            table = table.setdefault(key, {})
        table[each.path[-1]] = each.value
    return values


def flag_name_fault(name: str) -> str | None:
    """Why a flag cannot stand in `[flags]`."""
    return (
        None
        if _FLAG_NAME.fullmatch(name)
        else "a flag of such a name cannot be written in `[flags]`"
    )
