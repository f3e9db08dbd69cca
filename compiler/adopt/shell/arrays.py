"""One element of a list of a shell goes in, as it is written; its word comes out, where list and index are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler.adopt.launch import Word
from compiler.adopt.shell.known import Known, Listed
from compiler.adopt.shell.numbers import evaluate_number
from compiler.adopt.shell.pieces import Piece
from compiler.adopt.shell.syntax import raw_text


if TYPE_CHECKING:
    from tree_sitter import Node

_INDICES = re.compile(r"\$\{!(\w+)\[[@*]\]\}")
_LENGTH = re.compile(r"\$\{#(\w+)\[[@*]\]\}")
_PART = re.compile(r"\$\{(\w+)\[[@*]\]:(\d{1,6})(?::(\d{1,6}))?\}")
_ELEMENT = re.compile(r"\$\{(\w+)\[[^\]]*\]+\}")


def of_array(
    node: Node, raw: str, known: Known, look_up: Callable[[str], Word | None]
) -> Piece | None:
    """`${A[$i]}`, `${!A[@]}`, `${#A[@]}`, and `${A[@]:1:2}` of a list that the script says itself; `None` for all else.

    An element whose index is open has the index's own variables as what is not known.
    """
    for pattern, made in ((_INDICES, _indices), (_LENGTH, _length)):
        found = pattern.fullmatch(raw)
        if found is not None:
            words = _words(known, found[1])
            return made(words) if words is not None else None
    part = _PART.fullmatch(raw)
    if part is not None:
        words = _words(known, part[1])
        count = None if part[3] is None else int(part[3])
        # Gaps have an index, but no word.
        return None if words is None else Piece("", words=_set(words[int(part[2]) :])[:count])
    found = _ELEMENT.fullmatch(raw)
    words = _words(known, found[1]) if found is not None else None
    return _element(node, raw, words, look_up) if words is not None else None


def _words(known: Known, name: str) -> Listed | None:
    """The words of a list of which each is one."""
    words = known.arrays.get(known.named(name))
    if words is None or any(each.unknown for each in _set(words)):
        return None
    return words


def _set(words: Listed) -> tuple[Word, ...]:
    """Without the gaps."""
    return tuple(each for each in words if each is not None)


def _indices(words: Listed) -> Piece:
    several = (at for at, each in enumerate(words) if each is not None)
    return Piece("", words=tuple(Word(text=str(each)) for each in several))


def _length(words: Listed) -> Piece:
    return Piece(str(len(_set(words))))


def _element(
    node: Node, raw: str, words: Listed, look_up: Callable[[str], Word | None]
) -> Piece | None:
    subscript = next((each for each in node.named_children if each.type == "subscript"), None)
    if subscript is None:
        return None
    index = subscript.named_children[-1]
    is_last = raw_text(index).strip() == "-1"
    at, open_names = (len(words) - 1, ()) if is_last else evaluate_number(index, look_up)
    if at is None:
        return Piece(raw, (raw, *open_names))
    # An element that is not there is empty.
    word = (words[at] if 0 <= at < len(words) else None) or Word(text="")
    return Piece(word.text, changes=word.changes, names=word.names)
