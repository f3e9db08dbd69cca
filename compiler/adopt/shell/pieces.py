"""Parts of a shell's word go in; what they make of it comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from compiler.adopt.launch import Change, Word
from compiler.value import Value


_BLANKS = " \t\n"


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

    def as_text(self, between: str = " ") -> Piece:
        """The same as one text, with this between its words."""
        if self.words is None:
            return self
        text = between.join(word.text for word in self.words)
        unknown = tuple(each for word in self.words for each in word.unknown)
        changes = tuple(each for word in self.words for each in word.changes)
        names = tuple(each for word in self.words for each in word.names)
        return Piece(text, unknown, changes=changes, names=names)


def split_piece(piece: Piece, separators: str | None) -> Sequence[str] | None:
    """What blanks separate; what is not known may hold blanks of its own, which separate nothing yet.

    Other `separators` may leave words that hold nothing: those are not told, and neither are the others.
    """
    if not piece.splits:
        return (piece.text,)
    if separators != _BLANKS:
        return None if piece.unknown or separators is None else _separated(piece.text, separators)
    kept = "|".join(re.escape(each) for each in sorted(piece.unknown, key=len, reverse=True))
    if not kept:
        return re.split(r"[ \t\n]+", piece.text)
    return list(_protected(piece.text, re.compile(f"({kept})|([ \t\n]+)")))


def fields(text: str, separators: str) -> list[str]:
    """The fields of a line as `read` has them: blanks that separate count once, whatever their number, and others each."""
    blanks = "".join(each for each in separators if each in _BLANKS)
    text = text.strip(blanks) if blanks else text
    parts = re.split(_pattern(separators), text) if separators else [text]
    return parts[:-1] if parts[-1] == "" else parts


def _separated(text: str, separators: str) -> Sequence[str] | None:
    if not separators:
        return (text,)
    parts = re.split(_pattern(separators), text)
    is_blank = text[:1] in _BLANKS
    return None if "" in parts[1 if is_blank else 0 : -1] else parts


def _pattern(separators: str) -> str:
    blanks = "".join(each for each in separators if each in _BLANKS)
    others = "".join(each for each in separators if each not in _BLANKS)
    around = f"[{re.escape(blanks)}]*" if blanks else ""
    several = [f"{around}[{re.escape(others)}]{around}"] if others else []
    return "|".join([*several, f"[{re.escape(blanks)}]+"] if blanks else several)


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
