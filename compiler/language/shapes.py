"""The fields of our classes with their types, and how a type or a value is said to a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from compiler.profile import Argument, CheckpointPath, HostPath, Name, Text, UnitName, Version
from compiler.quantities import Duration
from compiler.ranges import Range
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Member(Value):
    """One field of an attrs class.

    Attributes:
        type: the resolved type, a class or one of `typing`'s forms.
        required: whether it has no default.
        default: the default value, made by its factory where there is one; `None` when required.
        metadata: what `profile.setting` stored (`help`, `unit`, `at_least`, `at_most`).
    """

    name: str
    type: object
    required: bool
    default: object
    metadata: Mapping[str, object]


# Line and paragraph separators, zero-width characters, marks and overrides of direction, and the byte order mark.
_UNSEEN = frozenset(
    [*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0x061C, 0xFEFF]
)


@cache
def members_of(cls: type) -> tuple[Member, ...]:
    """The fields of an attrs class in their order."""
    fields = attrs.fields(cls)
    # Resolving annotations kept as text takes milliseconds; the modules that are read at every start do not keep them so.
    as_text = any(isinstance(each.type, str) for each in fields)
    hints = get_type_hints(cls) if as_text else {each.name: each.type for each in fields}
    return tuple(
        Member(
            name=each.name,
            type=hints[each.name],
            required=each.default is attrs.NOTHING,
            default=_default(each.default),
            metadata=each.metadata,
        )
        for each in fields
    )


def _default(default: object) -> object:
    if default is attrs.NOTHING:
        return None
    factory = getattr(default, "factory", None)
    return default if factory is None else factory()


def alternatives(kind: object) -> tuple[object, ...]:
    """What a value of this type may be, `None` left out; one entry for a type that is no union."""
    if get_origin(kind) in (Union, UnionType):
        return tuple(each for each in get_args(kind) if each is not NoneType)
    return (kind,)


def is_union(kind: object) -> bool:
    """Whether a value of this type is of one type or another, or may be absent."""
    return alternatives(kind) != (kind,)


def is_table(kind: object) -> bool:
    """Whether a value of this type is written as a table with known keys."""
    return isinstance(kind, type) and kind not in (Duration, Range) and attrs.has(kind)


def is_list(kind: object) -> bool:
    """Whether a value of this type is always written as a list."""
    return get_origin(kind) is tuple


def is_open_table(kind: object) -> bool:
    """Whether a value of this type is a table with keys of the user's choice."""
    return get_origin(kind) is Mapping


def item_of(kind: object) -> object:
    """The type of the items of a list, or of the values of an open table."""
    return get_args(kind)[-1 if is_open_table(kind) else 0]


def choices_of(kind: object) -> tuple[str, ...]:
    """The words a literal or an enum may be; empty for every other type."""
    if get_origin(kind) is Literal:
        return tuple(str(each) for each in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(each.value) for each in kind)
    return ()


_SAID: dict[object, tuple[str, str]] = {
    bool: ("`true` or `false`", "`true` or `false`"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
    Text: ("text", "texts"),
    HostPath: ("an absolute path", "absolute paths"),
    CheckpointPath: ("an absolute path", "absolute paths"),
    Name: ("a name", "names"),
    UnitName: ("a name", "names"),
    Version: ("a release in full such as `0.5.11`", "releases"),
    Duration: ("a duration such as `30min`", "durations"),
    Range: ("a number, or a table of `low`, `best`, and `high`", "ranges"),
}


def say_type(kind: object) -> str:
    """What a value of this type is: `a whole number`, `` `auto`, `bf16`, or `fp8_e4m3` ``."""
    if kind == Argument:
        return "`true` or `false`, a number, text, or a list of words"
    if kind in _SAID:
        return _SAID[kind][0]
    if choices := choices_of(kind):
        return any_of(f"`{each}`" for each in choices)
    if is_list(kind):
        item = item_of(kind)
        return f"a list of {_SAID[item][1] if item in _SAID else 'tables'}"
    options = alternatives(kind)
    if is_union(kind) and not all(is_table(each) for each in options):
        return any_of(word for each in options for word in _said(each))
    return "a table"


def _said(kind: object) -> tuple[str, ...]:
    """A type as one or several alternatives of a sentence."""
    return tuple(f"`{each}`" for each in choices_of(kind)) or (say_type(kind),)


_FOUND: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (int, "a whole number"),
    (float, "a number with a fraction"),
    (str, "text"),
    (Mapping, "a table"),
    ((list, tuple), "a list"),
    (object, "a date or a time"),
)


def say_value(value: object) -> str:
    """What kind of value TOML gave, for the other half of `expected ..., found ...`."""
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    return next(said for kind, said in _FOUND if isinstance(value, kind))


def any_of(words: Iterable[str]) -> str:
    """The words as a choice: `a`, `a or b`, `a, b, or c`."""
    several = tuple(words)
    if len(several) <= 2:  # noqa: PLR2004 - two words need no comma
        return " or ".join(several)
    return ", ".join(several[:-1]) + f", or {several[-1]}"


def is_control(character: str) -> bool:
    """Whether a character controls, ends a line, or cannot be seen; none may stand in a value that people review."""
    code = ord(character)
    return code < 0x20 or 0x7F <= code <= 0x9F or code in _UNSEEN  # noqa: PLR2004 - Unicode's C0, DEL, C1
