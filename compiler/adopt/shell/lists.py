"""A statement about a list of words goes in; the list comes out, with a gap where an index holds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.launch import Word
from compiler.adopt.shell.known import Known, Listed, more_word
from compiler.adopt.shell.syntax import raw_text
from compiler.adopt.shell.words import Evaluator


if TYPE_CHECKING:
    from tree_sitter import Node

MOST_WORDS = 10_000
"""Of a list; what doubles itself is no launch."""
_PLACED = re.compile(r"\[(?P<at>[^]]*)\](?P<adds>\+?)=(?P<text>.*)", re.DOTALL)
_ELEMENT = re.compile(r"(?P<name>\w+)\[(?P<at>.*)\]", re.DOTALL)
_NUMBER = re.compile(r"0|[1-9][0-9]*")


def list_of(value: Node, evaluator: Evaluator, *, name: str, before: Listed) -> Listed:
    """The list behind `NAME=(...)`, or behind `NAME+=(...)` where there is one `before`."""
    inside = [each for each in value.named_children if each.type != "comment"]
    if not any(_PLACED.match(raw_text(each)) for each in inside):
        made: Listed = (*before, *evaluator.listed(inside))
        return made if len(made) <= MOST_WORDS else (more_word(name),)
    made = before
    for each in inside:
        if _PLACED.match(raw_text(each)):
            word = evaluator.text(each)
            found = _PLACED.fullmatch(word.text)
            at = found["at"] if found is not None and not found["adds"] else ""
            made = with_element(
                made, at, evolve(word, text=found["text"] if found else ""), name=name
            )
        else:
            made = (*made, *evaluator.words(each))
    return made


def with_element(words: Listed, at: str, word: Word | None, *, name: str) -> Listed:
    """A list with one element set, or taken out; what may have any length has no element of a known index."""
    if at == f"${{#{name}[@]}}" and None not in words:
        return (*words, *([word] if word is not None else []))
    is_sure = not any(each is not None and each.unknown for each in words)
    if not is_sure or _NUMBER.fullmatch(at) is None or len(at) > len(str(MOST_WORDS)):
        return (more_word(name),)
    index = int(at)
    gaps = (None,) * (index + 1 - len(words)) if word is not None else ()
    several = [*words, *gaps]
    if index < len(several):
        several[index] = word
    while several and several[-1] is None:
        del several[-1]
    return tuple(several)


def element_of(node: Node, evaluator: Evaluator) -> tuple[str, str]:
    """The list that `NAME[INDEX]=` is about, and the index."""
    name, *index = node.named_children
    raw = raw_text(index[0]) if index else ""
    if not index or raw.startswith("${#"):
        return raw_text(name), raw
    return raw_text(name), evaluator.text(index[0]).text


def without_element(known: Known, raw: str, evaluator: Evaluator) -> Known | None:
    """Behind `unset NAME[INDEX]`; `None` where that is no element."""
    found = _ELEMENT.fullmatch(raw)
    if found is None:
        return None
    name, at = known.named(found["name"]), found["at"]
    if at.startswith("$"):
        value = evaluator.value(at.strip("${}"))
        at = value.text if value is not None else at
    words = known.arrays.get(name)
    if at in {"@", "*"} or words is None:
        kept = {each: known.arrays[each] for each in known.arrays if each != name or words is None}
        return evolve(known, arrays=kept)
    return known.with_list(name, with_element(words, at, None, name=name))


def spoken(nodes: Sequence[Node]) -> Iterable[str]:
    """The words of nodes as they are written, without quotes; the grammar cuts `NAME[1]` in two."""
    made: list[str] = []
    end = -1
    for each in nodes:
        raw = raw_text(each)
        if each.type in {"string", "raw_string"}:
            raw = raw[1:-1]
        if each.start_byte == end and made:
            made[-1] += raw
        else:
            made.append(raw)
        end = each.end_byte
    return made
