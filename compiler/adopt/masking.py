"""A text with parts that are not known goes in; a text comes out that can be read as another language, and how to read it back.

Each such part is one character for private use, which is a part of a word in every language that is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, fields, has

from compiler.adopt.launch import Word
from compiler.diagnostics import Span


_FIRST_SIGN = 0xE100
"""The first of these characters; `unitsheet` has others."""


def masked(word: Word) -> tuple[str, Mapping[int, str]]:
    """The text, and the part that each of its signs stands for."""
    unknown = sorted(set(word.unknown), key=len, reverse=True)
    signs = {_FIRST_SIGN + at: part for at, part in enumerate(unknown) if part in word.text}
    text = word.text
    for sign, part in signs.items():
        text = text.replace(part, chr(sign))
    return text, signs


def unmasked(value: Any, signs: Mapping[int, str], place: Callable[[Span], Span]) -> Any:  # noqa: ANN401 - whatever was read
    """What was read of such a text, with its parts as they are written, and known as not known; `place` moves places."""
    if isinstance(value, Span):
        return place(value)
    if type(value) is str:
        return value.translate(signs)
    if isinstance(value, tuple | list):
        return type(value)(unmasked(each, signs, place) for each in value)
    if isinstance(value, Mapping):
        return {key: unmasked(each, signs, place) for key, each in value.items()}
    if not has(type(value)):
        return value
    names = [each.name for each in fields(type(value))]
    told = {name: unmasked(getattr(value, name), signs, place) for name in names}
    if isinstance(value, Word):
        parts = (signs.get(ord(each)) for each in value.text)
        told["unknown"] = (*told["unknown"], *(each for each in parts if each is not None))
    return evolve(value, **told)
