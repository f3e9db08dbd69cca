"""What an expression of a program comes to, as far as it is known without running it. No behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import define, evolve, field, frozen

from compiler.adopt.launch import Change, Word
from compiler.diagnostics import Span
from compiler.value import Value


class NotKnown:
    """What stands for a value that is known at the start only."""


OPEN: Final = NotKnown()


@frozen(kw_only=True, eq=False, repr=False)
class Scalar(Value):
    """A text, a number, a switch, or nothing.

    Attributes:
        word: how it reads in a command.
        value: as the program has it; `OPEN` where it is not known.
    """

    word: Word
    value: object = OPEN


@define(eq=False)
class Listing:
    """A list of words, which a program may go on with.

    Attributes:
        words: so far; one that may stand for several, or for none, is not known.
        span: where it is made.
        is_spent: whether another list, or a call, has what it says.
        doubts: the conditions that it was made under, of which nobody knows whether they hold.
    """

    words: list[Word] = field(factory=list)
    span: Span | None = None
    is_spent: bool = False
    doubts: int = 0


@define(eq=False)
class Table:
    """A table of names.

    Attributes:
        entries: by their names.
        is_whole: whether there are no others.
    """

    entries: dict[str, Known] = field(factory=dict)
    is_whole: bool = True


Known = Scalar | Listing | Table


def text_of(known: Known | None) -> Word | None:
    """The word of a scalar."""
    return known.word if isinstance(known, Scalar) else None


def taken(known: Known, change: Change) -> Known:
    """A value with what was taken for granted to come to it."""
    if not isinstance(known, Scalar):
        return known
    word = evolve(known.word, changes=(*known.word.changes, change))
    return evolve(known, word=word)


def together(parts: Sequence[Word], *, span: Span | None, between: str = "") -> Scalar:
    """Words as one."""
    text = between.join(each.text for each in parts)
    unknown = tuple(part for each in parts for part in each.unknown)
    word = Word(
        text=text,
        span=span,
        unknown=unknown,
        changes=tuple(change for each in parts for change in each.changes),
        names=tuple(name for each in parts for name in each.names),
    )
    return Scalar(word=word, value=OPEN if unknown else text)
