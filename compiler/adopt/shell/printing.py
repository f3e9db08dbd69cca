"""A command in `$(...)` goes in; whether what it prints can be told comes out, and what that is.

Told are `echo`, `printf` with plain formats, a here-document of `cat`, and functions that do nothing else: each prints what
it is given, whatever the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.adopt.launch import Command, Word
from compiler.adopt.shell.syntax import below, raw_text


if TYPE_CHECKING:
    from tree_sitter import Node

PRINTING = frozenset({"echo", "printf", "cat"})
_SILENT = frozenset({"local", "return", "shift", "set", "unset", ":", "true", "false", "test", "["})
_LONGEST = 10_000
"""Characters of what is printed; the longest public launch has a tenth of that."""
_PART = re.compile(r"%(?P<kind>[sd%])|\\(?P<sign>[nt\\])|(?P<text>[^%\\]+)")
_NUMBER = re.compile(r"-?[1-9][0-9]{0,17}|0")
_SIGNS = {"n": "\n", "t": "\t", "\\": "\\"}
_APART = frozenset({"pipeline", "subshell", "process_substitution"})


def prints_only(node: Node, bodies: Mapping[str, Node]) -> bool:
    """Whether `$(...)` holds one command that prints, or a function of `bodies` that does nothing else."""
    inside = [each for each in node.named_children if each.type != "comment"]
    if len(inside) != 1:
        return False
    name = _name_of(inside[0])
    if name in PRINTING:
        return name != "cat" or inside[0].type == "redirected_statement"
    body = bodies.get(name)
    return body is not None and _is_plain(body)


def printed(commands: Sequence[Command]) -> Word | None:
    """What commands print together, without the lines that end it; `None` where that cannot be told."""
    parts: list[str] = []
    words: list[Word] = []
    for each in commands:
        first = each.words[0].text if each.words else ""
        if first in _SILENT:
            continue
        told = _line(first, each.words[1:])
        if told is None:
            return None
        parts.append(told)
        words += each.words[1:]
    if sum(map(len, parts)) > _LONGEST:
        return None
    if not words:
        return Word(text="")
    return Word(
        text="".join(parts).rstrip("\n"),
        span=words[0].span,
        unknown=tuple(dict.fromkeys(part for each in words for part in each.unknown)),
        changes=tuple(dict.fromkeys(change for each in words for change in each.changes)),
        names=tuple(dict.fromkeys(name for each in words for name in each.names)),
    )


def _line(program: str, words: Sequence[Word]) -> str | None:
    texts = [each.text for each in words]
    if program == "echo":
        is_joined = texts[:1] == ["-n"]
        if not is_joined and texts and re.fullmatch(r"-[neE]+", texts[0]):
            return None
        return " ".join(texts[is_joined:]) + ("" if is_joined else "\n")
    if program == "printf" and texts:
        return "" if texts[0] == "-v" else formatted(texts)
    # The walk tells a here-document of `cat` as one word behind it.
    return texts[0] if program == "cat" and len(texts) == 1 else None


def formatted(texts: Sequence[str]) -> str | None:
    """What `printf` makes of its words: a plain format, over and over, until all are told."""
    if not texts or texts[0].startswith("-"):
        return None
    parts = list(_PART.finditer(texts[0]))
    if "".join(each[0] for each in parts) != texts[0]:
        return None
    given = list(texts[1:])
    made: list[str] = []
    while True:
        before = len(given)
        for each in parts:
            if each["kind"] in {"s", "d"}:
                text = given.pop(0) if given else "" if each["kind"] == "s" else "0"
                if each["kind"] == "d" and _NUMBER.fullmatch(text) is None:
                    return None
                made.append(text)
            else:
                made.append("%" if each["kind"] else each["text"] or _SIGNS[each["sign"]])
        if not given or len(given) == before:
            return "".join(made)


def _is_plain(body: Node) -> bool:
    """Whether a body prints from its own level only, and runs nothing whose output is not known."""
    own = [_name_of(each) for each in body.named_children]
    every = [_name_of(each) for each in _commands(body)]
    if any(True for kind in _APART for _ in below(body, kind)):
        return False
    return all(each in PRINTING | _SILENT for each in every) and sum(
        each in PRINTING for each in own
    ) == sum(each in PRINTING for each in every)


def _commands(node: Node) -> Iterator[Node]:
    """The commands below a node but for those in a `$(...)` of their own, of which only the output counts."""
    for child in node.named_children:
        if child.type == "command":
            yield child
        if child.type != "command_substitution":
            yield from _commands(child)


def _name_of(node: Node) -> str:
    if node.type == "redirected_statement":
        inside = node.child_by_field_name("body")
        return _name_of(inside) if inside is not None else ""
    name = node.child_by_field_name("name") if node.type == "command" else None
    return raw_text(name) if name is not None else ""
