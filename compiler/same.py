"""What follows from a frozen value alone is worked out once for it."""

from __future__ import annotations

from typing import Generic, TypeVar


T = TypeVar("T")


class Same(Generic[T]):
    """Stands for one object as the key of a cache: equal to itself alone, so that nothing is compared field by field."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        """The object; the key keeps it alive, so that no other one takes its place."""
        self.value = value

    def __hash__(self) -> int:
        """By identity."""
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        """Whether both stand for the same object."""
        return isinstance(other, Same) and self.value is other.value
