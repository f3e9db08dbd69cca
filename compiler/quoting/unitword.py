"""One word of a unit's value, as systemd takes it apart: quotes and C escapes.

Written from what systemd 252 was seen to do with any input, not from `quoting`, so that each can judge the other.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from compiler.quoting.unitfile import BLANKS, is_clean
from compiler.value import Value


_ESCAPE: Final = re.compile(
    r"x(?P<byte>[0-9a-fA-F]{2})|(?P<octal>[0-7]{3})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"""|(?P<letter>[abfnrtvs\\"'])"""
)
# The run of a word that quotes, escapes, blanks, and bytes beyond ASCII have no part in.
_PLAIN: Final = re.compile(r"[!#-&(-\[\]-~]+")
_GAP: Final = re.compile(f"[{BLANKS}]*")
_LETTERS: Final = dict(zip("abfnrtvs\\\"'", "\a\b\f\n\r\t\v \\\"'", strict=True))
_BYTE_MAX: Final = 0xFF
_CODE_POINT_MAX: Final = 0x10FFFF


@frozen(kw_only=True, eq=False, repr=False)
class Word(Value):
    """One word, unquoted.

    Attributes:
        text: what it says; a byte that is no UTF-8 is a half surrogate (`surrogateescape`).
        end: where the next word begins.
        unknown: the escapes that are none and were kept as they stand.
        is_closed: whether its quotes are.
    """

    text: str
    end: int
    unknown: tuple[str, ...] = ()
    is_closed: bool = True


def read_word(text: str, *, start: int) -> Word:
    """The word that begins at `start`; quotes may open and close anywhere in it."""
    plain = _PLAIN.match(text, start)
    if plain is not None and (plain.end() == len(text) or text[plain.end()] in BLANKS):
        return Word(text=plain[0], end=skip_blanks(text, start=plain.end()))
    encoded = bytearray()
    unknown: list[str] = []
    quote = ""
    at = start
    while at < len(text) and (quote or text[at] not in BLANKS):
        character = text[at]
        at += 1
        if character == "\\":
            raw, length = _read_escape(text, at=at)
            if raw is None:
                unknown.append(text[at - 1 : at + 1])
                raw = text[at - 1 : at + 1].encode(errors="surrogateescape")
            encoded += raw
            at += length
        elif character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        else:
            encoded += character.encode(errors="surrogateescape")
    return Word(
        text=encoded.decode(errors="surrogateescape"),
        end=skip_blanks(text, start=at),
        unknown=tuple(unknown),
        is_closed=not quote,
    )


def _read_escape(text: str, *, at: int) -> tuple[bytes | None, int]:
    """The bytes of the escape after a backslash and how far it reaches; `None` when there is no such escape."""
    found = _ESCAPE.match(text, at)
    if found is None:
        return None, 1
    if found["letter"]:
        return _LETTERS[found["letter"]].encode(), 1
    number = int(found["octal"] or "0", 8) or int(
        found["byte"] or found["short"] or found["long"] or "0", 16
    )
    if number == 0:
        return None, 1
    if found["byte"] or found["octal"]:
        return (bytes([number]), found.end() - at) if number <= _BYTE_MAX else (None, 1)
    if found["long"] and (number > _CODE_POINT_MAX or not is_clean(chr(number))):
        return None, 1
    return chr(number).encode(errors="surrogatepass"), found.end() - at


def skip_blanks(text: str, *, start: int) -> int:
    """Where the next word begins, or the end of the text."""
    gap = _GAP.match(text, start)
    return start if gap is None else gap.end()
