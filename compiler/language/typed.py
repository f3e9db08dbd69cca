"""Plain TOML or JSON values to our own frozen classes, strictly: no coercion, and all faults of a document at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from attrs import AttrsInstance, frozen

from compiler.language import scalars, shapes
from compiler.language.scalars import (
    Fault,
    FaultKind,
    Hook,
    RefusedError,
    refusal,
    structure_items,
    wrong_type,
)
from compiler.language.shapes import Member, say_type
from compiler.near import near
from compiler.profile import Argument, CheckpointPath, HostPath, Name, Text, UnitName, Version
from compiler.quantities import Duration
from compiler.ranges import Range
from compiler.value import Value


__all__ = ["Fault", "FaultKind", "structure_value"]

T = TypeVar("T", bound=AttrsInstance)

_VARIANT = "kind"
"""The key that says which of several classes a table is; each has such a field, a literal of its own word."""


def structure_value(
    values: Mapping[str, object], cls: type[T], *, given: Mapping[str, object] | None = None
) -> tuple[T | None, tuple[Fault, ...]]:
    """Build a `cls` from plain values, or say everything that is wrong with them.

    `given` are fields the caller fills in (`shipped`); for the document they are unknown keys.
    """
    try:
        return _structure_members(values, cls, given=given or {}), ()
    except RefusedError as refused:
        return None, refused.faults


@cache
def _hook(kind: object) -> Hook:
    """What builds a value of this type; the type of a field says it alone."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if shapes.choices_of(kind):
        return scalars.choice_hook(kind, wanted=say_type(kind))
    for applies, hook_for in _COMPOUND:
        if applies(kind):
            return hook_for(kind)
    raise TypeError(f"no profile or catalogue entry can hold {kind!r}")


def _structure_members(
    values: Mapping[str, object], cls: type[T], *, given: Mapping[str, object]
) -> T:
    members = [each for each in shapes.members_of(cls) if each.name not in given]
    names = [each.name for each in members]
    faults = [
        Fault((key,), FaultKind.UNKNOWN_KEY, "unknown key", near(key, names))
        for key in values
        if key not in names
    ]
    made = dict(given)
    for member in members:
        if member.name in values:
            try:
                hook = _hook_of(cls, member.name)
                made[member.name] = _structure_member(values[member.name], member, hook=hook)
            except RefusedError as refused:
                faults.extend(refused.below(member.name))
        elif member.required:
            message = f"expected {say_type(member.type)}, found nothing"
            faults.append(Fault((member.name,), FaultKind.MISSING, message))
    if faults:
        raise RefusedError(faults)
    return cls(**made)


@cache  # by name, as a union's hash is worked out each time it is asked for
def _hook_of(cls: type, name: str) -> Hook:
    return next(_hook(each.type) for each in shapes.members_of(cls) if each.name == name)


def _structure_member(value: object, member: Member, *, hook: Hook) -> object:
    made = hook(value, member.type)
    if made == "" and set(shapes.alternatives(member.type)) <= {str, Text}:
        raise refusal("expected text, found an empty string")
    least, most = member.metadata.get("at_least"), member.metadata.get("at_most")
    if isinstance(made, str) or (least is None and most is None):
        return made

    def bounded(item: Any, _: object) -> Any:  # noqa: ANN401 - a hook
        return _bounded(item, least=least, most=most)

    if isinstance(made, tuple):
        return tuple(structure_items(enumerate(made), bounded).values())
    return bounded(made, None)


def _bounded(value: Any, *, least: Any, most: Any) -> Any:  # noqa: ANN401 - anything that is ordered
    if (least is None or value >= least) and (most is None or value <= most):
        return value
    if most is None:
        raise refusal(f"expected at least {least}", passes=f"{least}")
    if least is None:
        raise refusal(f"expected at most {most}", passes=f"{most}")
    nearest = least if value < least else most
    raise refusal(f"expected a value from {least} to {most}", passes=f"{nearest}")


def _table_hook(cls: Any) -> Hook:  # noqa: ANN401 - an attrs class
    def structure(value: object, _: object) -> object:
        if not isinstance(value, Mapping):
            raise wrong_type(value, wanted="a table")
        return _structure_members(value, cls, given={})

    return structure


def _list_hook(kind: Any) -> Hook:  # noqa: ANN401 - a type form
    item = shapes.item_of(kind)

    def structure(value: object, _: object) -> object:
        if not isinstance(value, list | tuple):
            raise wrong_type(value, wanted=say_type(kind))
        return tuple(structure_items(enumerate(value), _hook(item)).values())

    return structure


def _open_table_hook(kind: Any) -> Hook:  # noqa: ANN401 - a type form
    item = shapes.item_of(kind)

    def structure(value: object, _: object) -> object:
        if not isinstance(value, Mapping):
            raise wrong_type(value, wanted="a table")
        return structure_items(value.items(), _hook(item))

    return structure


@frozen(eq=False, repr=False)
class _Bounds(Value):
    """A range as it is written, its order not yet looked at."""

    low: float
    best: float
    high: float


def _structure_range(value: object, _: object) -> Range:
    if isinstance(value, Mapping):
        made = _structure_members(value, _Bounds, given={})
        if not made.low <= made.best <= made.high:
            raise refusal("expected `low` <= `best` <= `high`")
        return Range(made.low, made.best, made.high)
    if type(value) not in (int, float):
        raise wrong_type(value, wanted=say_type(Range))
    return Range.exactly(scalars.structure_float(value, float))


# Values of one type or another: what the raw value is decides which, and only that one reports.


def _union_hook(kind: Any) -> Hook:  # noqa: ANN401 - a type form
    if kind == Argument:
        return scalars.structure_argument
    options = shapes.alternatives(kind)
    if len(options) == 1:
        return _hook(options[0])
    tables = [each for each in options if isinstance(each, type) and shapes.is_table(each)]
    if len(tables) == len(options):
        return _variant_hook({_variant_name(each): each for each in tables})
    wanted = say_type(kind)
    # A float takes a whole number too, so it is asked last.
    hooks = {
        each: scalars.choice_hook(each, wanted=wanted) if shapes.choices_of(each) else _hook(each)
        for each in sorted(options, key=lambda option: option is float)
    }

    def structure(value: object, _: object) -> object:
        for option, hook in hooks.items():
            if _may_be(value, option):
                return hook(value, option)
        raise wrong_type(value, wanted=wanted)

    return structure


def _may_be(value: object, kind: object) -> bool:
    """Whether a value has the raw type that this alternative is written in."""
    if kind in (bool, int):
        return type(value) is kind
    if kind is float:
        return type(value) in (int, float)
    if shapes.is_list(kind):
        return isinstance(value, list | tuple)
    if shapes.is_table(kind) or shapes.is_open_table(kind):
        return isinstance(value, Mapping)
    return isinstance(value, str)


def _variant_hook(variants: Mapping[str, type]) -> Hook:
    wanted = shapes.any_of(f"`{each}`" for each in variants)

    def structure(value: object, _: object) -> object:
        if not isinstance(value, Mapping):
            raise wrong_type(value, wanted=f"a table with the key `{_VARIANT}`")
        cls = variants[_variant_of(value, variants, wanted=wanted)]
        return _hook(cls)(value, cls)

    return structure


def _variant_name(cls: type) -> str:
    return next(
        shapes.choices_of(each.type)[0] for each in shapes.members_of(cls) if each.name == _VARIANT
    )


def _variant_of(value: Mapping[str, object], variants: Mapping[str, type], *, wanted: str) -> str:
    if _VARIANT not in value:
        message = f"expected {wanted}, found nothing"
        raise RefusedError([Fault((_VARIANT,), FaultKind.MISSING, message)])
    name = value[_VARIANT]
    try:
        if not isinstance(name, str):
            raise wrong_type(name, wanted=wanted)
        if name not in variants:
            raise scalars.wrong_word(name, variants, wanted=wanted)
    except RefusedError as refused:
        raise RefusedError(refused.below(_VARIANT)) from None
    return name


_SIMPLE: Mapping[object, Hook] = {
    bool: scalars.structure_bool,
    int: scalars.structure_int,
    float: scalars.structure_float,
    str: scalars.structure_text,
    Text: scalars.structure_text,
    Name: scalars.structure_name,
    UnitName: scalars.structure_unit,
    Version: scalars.structure_version,
    HostPath: scalars.structure_path,
    CheckpointPath: scalars.structure_checkpoint_path,
    Duration: scalars.quantity_hook(Duration.parse, wanted=say_type(Duration)),
    Range: _structure_range,
}
_COMPOUND: tuple[tuple[Callable[[Any], bool], Callable[[Any], Hook]], ...] = (
    (shapes.is_table, _table_hook),
    (shapes.is_list, _list_hook),
    (shapes.is_open_table, _open_table_hook),
    (shapes.is_union, _union_hook),
)
