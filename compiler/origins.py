"""Where every value of a merged profile came from: the winner, the losers and why they lost."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from attrs import field, frozen

from compiler.diagnostics import Label, Span
from compiler.value import Value


SettingPath = tuple[str, ...]
"""A setting's path as a tuple of keys: `("memory", "fraction")`."""


def dotted(path: SettingPath) -> str:
    """The path as it is shown and typed: `memory.fraction`, with keys that hold a dot in quotes."""
    return ".".join(f'"{key}"' if "." in key or not key else key for key in path)


TRIED = "the release is given by `--engine`, and stands in no file"


class Level(IntEnum):
    """The three levels at which a file may set a value; the higher wins wherever it stands."""

    DEFAULTS = 0
    PLAIN = 1
    FORCE = 2


@frozen(kw_only=True, eq=False, repr=False)
class Definition(Value):
    """One place that sets (or unsets) one setting.

    Attributes:
        path: the setting.
        profile: the name of the file's profile (`base/kimi-k2.6`).
        level: the level it is set at.
        key: where the key stands.
        value_span: where the value stands (the `unset` entry, for a removal).
        value: the value as TOML gave it; `None` for a removal.
        removes: whether this is an `unset`.
    """

    path: SettingPath
    profile: str
    level: Level
    key: Span
    value_span: Span
    value: object
    removes: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class Loser(Value):
    """A definition that did not win, and why: `overridden by base/sglang`, `defaults lose to plain`."""

    definition: Definition
    reason: str


@frozen(kw_only=True, eq=False, repr=False)
class ItemOrigin(Value):
    """Where one item of a merged list came from."""

    value: object
    profile: str
    span: Span


@frozen(kw_only=True, eq=False, repr=False)
class Origin(Value):
    """The history of one merged value.

    Attributes:
        winner: the definition whose value stands.
        agreeing: other definitions, in files that do not extend each other, with the same value.
        losers: every other definition, nearest first.
        items: for a list, where each item came from.
    """

    winner: Definition
    agreeing: tuple[Definition, ...] = ()
    losers: tuple[Loser, ...] = ()
    items: tuple[ItemOrigin, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Origins(Value):
    """The origins of all values of one profile; what rules use to point at a place.

    Attributes:
        document: the beginning of the profile's own file.
        by_path: the origin of each value that is no table, and of each empty table.
        forced: those of these whose winner is set by force.
        tried: the engine, its release, or both, as whoever runs this gives them in place of what the files say.
    """

    document: Span
    by_path: Mapping[SettingPath, Origin] = field(factory=dict)
    forced: frozenset[SettingPath] = frozenset()
    tried: frozenset[str] = frozenset()

    def find(self, setting: str) -> Origin | None:
        """The origin of a setting given as `memory.fraction`, of a table that of the first in it; `None` when no file sets it."""
        if setting in self.tried:
            return None
        # Each origin is worked out when it is asked for.
        path = next((each for each in self.by_path if dotted(each) == setting), None)
        if path is None:
            below = (each for each in self.by_path if dotted(each).startswith(f"{setting}."))
            path = next(below, None)
        return None if path is None else self.by_path[path]

    def label(self, setting: str, text: str = "") -> Label | None:
        """A label at the value of a setting, or `None` when no file sets it."""
        origin = self.find(setting)
        return None if origin is None else Label(origin.winner.value_span, text)

    def primary(self, *settings: str, text: str = "") -> Label:
        """A label at the first of these settings that a file sets, else at the profile itself.

        Where the release is meant, and is one that is tried, its text ends in `TRIED`: that is no place in a file.
        """
        for setting in settings:
            found = self.label(setting, text)
            if found is not None:
                return found
        given = TRIED if self.tried.intersection(settings) else ""
        return Label(self.document, "; ".join(filter(None, (text, given))))


NOWHERE = Origins(document=Span(file="", line=1, column=1, end_line=1, end_column=1))
"""Of what no file sets, such as a raw command."""
