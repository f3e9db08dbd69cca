"""The text around a place where TOML's parser stopped goes in; what to write there comes out, where the slip is plain."""

from __future__ import annotations

import re

from attrs import frozen

from compiler.language.plainly import decimal, whole_numbers
from compiler.language.written import text_toml
from compiler.secretnames import names_a_secret
from compiler.source import Source
from compiler.value import Value


_PAIR = re.compile(r"\s*(?:[{,]\s*)?(?P<key>[\w.-]+)\s*=\s*")
_ITEM = re.compile(r"[^\s,=\[\]{}#\"']+")
_WORDS = {
    "true": "true",
    "yes": "true",
    "on": "true",
    "false": "false",
    "no": "false",
    "off": "false",
}
_LONGEST = 100
"""Characters of a value that is repeated."""
_NOTHING = frozenset({"none", "null", "nil"})
_CURLY = frozenset("\u201c\u201d\u201e\u2018\u2019")
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*)?\.?\d*")


@frozen(kw_only=True, eq=False, repr=False)
class _Place(Value):
    """A value that the parser could not read: with its key where it stands alone behind one, else one of several."""

    key: str
    value: str


def slip(source: Source, offset: int, *, within: bool) -> str | None:
    """What to write, as help; `None` where it is not plain. `within`: a list or an inline table is open there."""
    place = _place(source, offset, within=within)
    if place is None or not place.value or place.value[0] in "[{\"'":
        return None
    value = place.value
    if value.lower() in _WORDS:
        return f"write `{_WORDS[value.lower()]}`: TOML knows `true` and `false` in small letters"
    if value.lower() in _NOTHING:
        return "TOML has no word for nothing: leave the setting out"
    if not _CURLY.isdisjoint(value):
        return 'use straight quotes, `"`'
    is_short = len(value) <= _LONGEST
    numbers = _numbers(value) if is_short else ()
    if numbers:
        return f"write {' or '.join(f'`{each}`' for each in numbers)}"
    if "=" in value or _NUMBER.fullmatch(value) or not re.match(r"[\w/.~+-]", value):
        return None
    if names_a_secret(place.key) or not is_short:
        return "text stands in quotes"
    return f"text stands in quotes: `{text_toml(value)}`"


def _numbers(value: str) -> tuple[str, ...]:
    """What is a number to people: both readings of a comma before three digits."""
    if _GROUPS.fullmatch(value):
        one = decimal(value) if value.count(",") == 1 else ()
        return (*whole_numbers(value), *one)
    if value.startswith("0") and value.isdigit():
        return whole_numbers(value)
    if value.endswith("."):
        return (f"{value}0",) if value[:-1].isdigit() else ()
    return decimal(value) or whole_numbers(value)


def _place(source: Source, offset: int, *, within: bool) -> _Place | None:
    number, column = source.position(offset)
    line = source.line(number)
    pair = _PAIR.match(line)
    key = pair["key"].rpartition(".")[2] if pair else ""
    if pair is not None and not within and column > pair.end():
        return _Place(key=key, value=line[pair.end() :].partition("#")[0].strip())
    if not within:
        return None
    item = next(
        (each for each in _ITEM.finditer(line) if each.end() >= column > each.start()), None
    )
    return None if item is None else _Place(key=key, value=item[0])
