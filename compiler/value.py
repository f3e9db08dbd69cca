"""Equality, hash, and repr of our values, written once.

attrs writes and compiles these for each class when it is made. A cold `check` makes a hundred classes, and half of the
time they take would go into methods that few of them ever need.

A class with a `cached_property` has `slots=False`: for one with slots attrs writes a `__getattr__`, which takes longer to make,
and to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from attrs import fields


class Value:
    """The base of frozen attrs classes with `eq=False, repr=False`; compares as attrs would, field by field."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Whether the other is of the same class and all its compared fields are equal."""
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        """The hash of the compared fields."""
        return hash((self.__class__, self._compared()))

    def __repr__(self) -> str:
        """The class with its shown fields, as attrs prints it."""
        shown = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self.__class__)  # type: ignore[arg-type]
            if each.repr
        )
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    def _compared(self) -> object:
        cls: Any = self.__class__
        return _compared_by(cls)(self)


@cache
def _compared_by(cls: Any) -> Callable[[Value], object]:  # noqa: ANN401 - a class of ours
    """What takes all compared fields of one of this class at once."""
    names = [each.name for each in fields(cls) if each.eq]
    return attrgetter(*names) if names else lambda _: ()
