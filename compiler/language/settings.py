"""Every setting of the profile language as data, read from the fields of `profile`.

Near names, list edits, the generated reference and the JSON schema come from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attrs import frozen

from compiler.language import shapes
from compiler.language.shapes import Member
from compiler.origins import SettingPath
from compiler.profile import Argument, Profile
from compiler.value import Value


ANY_KEY = "*"
"""Stands in a path for a key of the user's choice: `("env", "*")`."""

FILE_KEYS = ("schema", "extends", "unset", "defaults", "force")
"""What the file of a profile may hold at its top besides settings."""


@frozen(kw_only=True, eq=False, repr=False)
class Setting(Value):
    """One setting.

    Attributes:
        path: where it is written.
        type: what it may be, in words.
        kind: its type: a class, or one of `typing`'s forms.
        unit: what it counts.
        required: whether it has to be set, in a deployable profile or, see `within`, by whoever opens that table.
        default: its value when nobody sets it; `None` also for a required one.
        within: the innermost table around it that may be left out (`("targets", "*")`), if there is one.
        at_least, at_most: the bounds of what makes sense at all, if there are any.
    """

    path: SettingPath
    type: str
    kind: object
    help: str
    unit: str | None
    required: bool
    default: object
    within: SettingPath | None
    at_least: object
    at_most: object


@cache
def all_settings() -> tuple[Setting, ...]:
    """Every setting, in the order of the profile's tables."""
    return tuple(_settings_of(Profile, (), within=None))


@cache
def list_settings() -> frozenset[SettingPath]:
    """The settings whose value may be a list, so that `append` and the like edit it."""
    return frozenset(
        each.path for each in all_settings() if shapes.is_list(each.kind) or each.kind == Argument
    )


def find_setting(path: SettingPath) -> Setting | None:
    """The setting at a path of real keys; `None` when the language has none there."""
    for setting in all_settings():
        if len(setting.path) == len(path) and _lies_below(setting, path):
            return setting
    return None


def known_keys(path: SettingPath) -> tuple[str, ...]:
    """The keys that may stand in the table at `path`: `("*",)` where any may, nothing when it is no table."""
    depth = len(path)
    below = [each for each in all_settings() if len(each.path) > depth and _lies_below(each, path)]
    return tuple(dict.fromkeys(each.path[depth] for each in below))


def required_below(path: SettingPath) -> tuple[Setting, ...]:
    """What has to be set at `path` or in the table there, once that table is open."""
    return tuple(
        each
        for each in all_settings()
        if each.required
        and _lies_below(each, path)
        and (each.within is None or len(each.within) <= len(path))
    )


def _lies_below(setting: Setting, path: SettingPath) -> bool:
    return len(setting.path) >= len(path) and all(
        part in (key, ANY_KEY) for part, key in zip(setting.path, path, strict=False)
    )


def _settings_of(cls: type, above: SettingPath, *, within: SettingPath | None) -> Iterator[Setting]:
    for member in shapes.members_of(cls):
        path = (*above, member.name)
        kind = _table_in(member.type)
        if shapes.is_open_table(kind):
            path, kind = (*path, ANY_KEY), shapes.item_of(kind)
        if not isinstance(kind, type) or not shapes.is_table(kind):
            yield _setting(member, kind, path=path, within=within)
            continue
        yield from _settings_of(kind, path, within=within if member.required else path)


def _table_in(kind: object) -> object:
    """The table or open table that a member's type is or may be; else the type itself."""
    options = shapes.alternatives(kind)
    return options[0] if len(options) == 1 else kind


def _setting(
    member: Member, kind: object, *, path: SettingPath, within: SettingPath | None
) -> Setting:
    unit = member.metadata.get("unit")
    return Setting(
        path=path,
        type=shapes.say_type(kind),
        kind=kind,
        help=str(member.metadata["help"]),
        unit=None if unit is None else str(unit),
        required=member.required,
        default=None if path[-1] == ANY_KEY else member.default,
        within=within,
        at_least=member.metadata.get("at_least"),
        at_most=member.metadata.get("at_most"),
    )
