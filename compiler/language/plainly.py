"""A value of another type than its setting's goes in; what was plainly meant by it comes out, as TOML writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.language import shapes
from compiler.language.written import number_toml, text_toml
from compiler.profile import Argument, Name, Text, UnitName, Version
from compiler.quantities import Duration


_WHOLE = re.compile(r"\d{1,3}(?:[_,' ]\d{3})+")
_SUFFIXED = re.compile(r"(?P<number>\d{1,6})\s*(?P<suffix>[kKmM])i?")
_DECIMAL = re.compile(r"(?P<whole>\d*)[.,](?P<rest>\d+)")
_SHARE = re.compile(r"\d{1,2}(?:\.\d+)?\s*%")
_SUFFIXES = {"k": (1000, 1024), "m": (1000**2, 1024**2)}
_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False}
_TEXTS = (str, Text, Name, UnitName, Version)
_LONGEST = 40
_QUOTES = " \t`'\""
"""What stands around a number that was copied out of a sentence."""
_MOST = 2.0**53  # a larger one may be another number than was written


def plainly_meant(value: object, kind: object) -> tuple[str, ...]:
    """The values that may have been meant, the likeliest first; none where nothing is plain."""
    if kind == Argument or (isinstance(value, str) and len(value) > _LONGEST):
        return ()
    return tuple(
        dict.fromkeys(each for option in shapes.alternatives(kind) for each in _as(value, option))
    )


def whole_numbers(text: str) -> tuple[str, ...]:
    """A text that is a whole number to people: `40k`, `32,768`, `32768`; both numbers that a suffix may stand for."""
    if text.isascii() and text.isdigit():
        return (str(int(text)),)
    if _WHOLE.fullmatch(text):
        return (number_toml(int(re.sub(r"\D", "", text))),)
    suffixed = _SUFFIXED.fullmatch(text)
    if suffixed is None:
        return ()
    times = _SUFFIXES[suffixed["suffix"].lower()]
    return tuple(number_toml(int(suffixed["number"]) * each) for each in times)


def decimal(text: str) -> tuple[str, ...]:
    """A text that is a number with a fraction: `0,76`, `.76`, `76%`."""
    if _SHARE.fullmatch(text):
        return (f"{float(text.rstrip('% ')) / 100:g}",)
    found = _DECIMAL.fullmatch(text)
    return () if found is None else (f"{found['whole'] or 0}.{found['rest']}",)


def _as(value: object, kind: object) -> Iterator[str]:
    text = value.strip(_QUOTES) if isinstance(value, str) else ""
    if kind is bool:
        word = _WORDS.get(text.lower() if text else str(value))
        yield from () if word is None else (str(word).lower(),)
    elif kind is int and isinstance(value, float) and value.is_integer() and abs(value) < _MOST:
        yield number_toml(int(value))
    elif kind is int:
        yield from whole_numbers(text)
    elif kind is float:
        yield from decimal(text)
    elif kind is Duration and type(value) is int and value > 0:
        yield text_toml(str(Duration(value)))
    elif kind is Duration and text.isascii() and text.isdigit() and int(text) > 0:
        yield text_toml(str(Duration(int(text))))
    elif shapes.is_list(kind):
        yield from _as_list(value, shapes.item_of(kind))
    elif words := shapes.choices_of(kind):
        yield from (
            text_toml(each) for each in words if text and each.startswith(f"{text.lower()}_")
        )
    elif kind in _TEXTS and type(value) is int:
        yield text_toml(str(value))


def _as_list(value: object, kind: object) -> Iterator[str]:
    if kind is not int:
        return
    items = re.split(r"\s*,\s*", value.strip(" []")) if isinstance(value, str) else [str(value)]
    if all(each.isascii() and each.isdigit() for each in items):
        yield f"[{', '.join(items)}]"
