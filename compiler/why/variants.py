"""A value goes in; the same with one leaf of it a little different comes out, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from attrs import evolve, fields, frozen, has

from compiler.origins import SettingPath
from compiler.profile import CheckpointPath, HostPath
from compiler.quantities import Duration
from compiler.ranges import Range
from compiler.value import Value


_LEFT_OUT = frozenset({"shipped", "sources", "id", "file", "name", "flags", "removed", "aliases"})
"""Fields of a fact that only name it or say where it is from, and tables of flags, of which no figure depends."""


@frozen(eq=False, repr=False)
class Variant(Value):
    """One leaf's path, and the whole with that leaf changed in one way after another; `is_unset` of one that has no value."""

    path: SettingPath
    wholes: tuple[Any, ...]
    is_unset: bool = False


def variants(whole: Any, *, kind: object = None, facts: bool) -> Iterator[Variant]:  # noqa: ANN401 - any class of ours
    """Every leaf of a value, in the order of its fields; `facts` leaves out what only names a fact, and what has no value."""
    if isinstance(whole, Range):
        yield Variant((), (whole.scaled(1.01), whole.scaled(0.98)))
    elif has(type(whole)) and not isinstance(whole, Duration):
        for each in fields(type(whole)):
            if facts and each.name in _LEFT_OUT:
                continue
            below = variants(getattr(whole, each.name), kind=each.type, facts=facts)
            for one in below:
                wholes = tuple(evolve(whole, **{each.name: value}) for value in one.wholes)
                yield Variant((each.name, *one.path), wholes, one.is_unset)
    elif isinstance(whole, Mapping):
        for key, value in sorted(whole.items()):
            for one in variants(value, facts=facts):
                wholes = tuple({**whole, key: value} for value in one.wholes)
                yield Variant((str(key), *one.path), wholes, one.is_unset)
    else:
        is_unset = whole is None or whole == ()
        tries = _others(whole, kind) if not is_unset else () if facts else _anything(kind)
        others = tuple(tries)
        if others:
            yield Variant((), others, is_unset)


def _others(value: object, kind: object) -> Iterator[object]:
    """Other values that the leaf might have."""
    words = [word for word in _words(kind) if word != value]
    match value:
        case bool():
            yield not value
        case Enum():
            yield from (each for each in type(value) if each is not value)
        case int():
            yield from (2 * value, value + 1, *([value // 2] if value > 1 else []))
        case float():
            yield from (value * 0.99, value * 1.01)
        case Duration():
            yield Duration(2 * value.seconds)
        case str():
            yield from words or [f"{value}x"]
            # A fraction is a number, or this word.
            yield from [0.5] if value == "fit" else []
        case tuple():
            yield value[:-1]
            yield from [()] if len(value) > 1 else []
            if all(isinstance(each, int) for each in value):
                yield tuple(each + 1 for each in value)


_NUMBERS = (2, 64, 4096)
"""Whatever a number is when nobody sets it, it is not all of these."""
_LONG = Duration(7 * 60 * 60)
"""Longer than any start that a plan waits for by itself."""


def _anything(kind: object) -> Iterator[object]:
    """Some values of a type, for a setting that has none."""
    if kind is int:
        yield from _NUMBERS
    elif kind is Duration:
        yield _LONG
    elif kind in (HostPath, CheckpointPath):
        yield "/x"
    elif getattr(kind, "__supertype__", kind) is str:
        yield "x"
    elif get_origin(kind) is tuple:
        yield from ((each,) for each in _anything(get_args(kind)[0]))
    elif get_origin(kind) is Literal:
        yield from get_args(kind)
    else:
        for each in get_args(kind):
            yield from _anything(each)


def _words(kind: object) -> Iterator[str]:
    """The words of a type that is, or may be, one of a few."""
    if get_origin(kind) is Literal:
        yield from (each for each in get_args(kind) if isinstance(each, str))
    for each in get_args(kind):
        if get_origin(each) is Literal:
            yield from _words(each)
