"""Parts of a shell's word go in; what they make of it comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from compiler.adopt.launch import Change, Word
from compiler.value import Value


@frozen(eq=False, repr=False)
class Piece(Value):
    """A part of a word: `splits` when blanks in it separate words; `words` when it stands for several; `names` as of a word."""

    text: str
    unknown: tuple[str, ...] = ()
    splits: bool = False
    words: tuple[Word, ...] | None = None
    changes: tuple[Change, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def joined(self) -> str:
        """Its text where nothing is split."""
        if self.words is None:
            return self.text
        return " ".join(word.text for word in self.words)

    def as_text(self) -> Piece:
        """The same as one text."""
        if self.words is None:
            return self
        unknown = tuple(each for word in self.words for each in word.unknown)
        changes = tuple(each for word in self.words for each in word.changes)
        names = tuple(each for word in self.words for each in word.names)
        return Piece(self.joined, unknown, changes=changes, names=names)


def split_piece(piece: Piece) -> Sequence[str]:
    """What blanks separate; what is not known may hold blanks of its own, which separate nothing yet."""
    if not piece.splits:
        return (piece.text,)
    kept = "|".join(re.escape(each) for each in sorted(piece.unknown, key=len, reverse=True))
    if not kept:
        return re.split(r"[ \t\n]+", piece.text)
    return list(_protected(piece.text, re.compile(f"({kept})|([ \t\n]+)")))


def _protected(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    at, part = 0, ""
    for found in pattern.finditer(text):
        part += text[at : found.start()]
        if found[2] is None:
            part += found[1]
        else:
            yield part
            part = ""
        at = found.end()
    yield part + text[at:]


def lengthened(word: Word, piece: Piece, *, text: str) -> Word:
    """A word with one part more."""
    unknown = piece.unknown
    if piece.splits and text != piece.text:
        # Of a text that is split, each word has what stands in it.
        unknown = tuple(each for each in unknown if each in text)
    return evolve(
        word,
        text=word.text + text,
        unknown=(*word.unknown, *unknown),
        changes=(*word.changes, *piece.changes),
        names=(*word.names, *piece.names) if piece.names else word.names,
    )
