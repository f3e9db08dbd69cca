"""Where things stand in a shell's syntax tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from compiler.diagnostics import Span
from compiler.source import Source


if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVING = frozenset({"exit", "return", "die"})
_COMPARED = frozenset({"=", "==", "!=", "<=", ">=", "=~"})
_NAME = re.compile(r"[A-Za-z_]\w*")
_LOCAL = frozenset({"local", "declare", "typeset"})


def raw_text(node: Node) -> str:
    """A node as it is written."""
    return (node.text or b"").decode(errors="surrogateescape")


def data_of(source: Source) -> bytes:
    """The bytes that the grammar reads of a text."""
    return source.text.encode(errors="surrogateescape")


def place_of(node: Node, source: Source, data: bytes) -> Span:
    """Where a node stands in a text; `data` are its bytes."""

    def offset(byte: int) -> int:
        # Of a text in ASCII, which most are, each byte is a character.
        is_plain = len(data) == len(source.text)
        return byte if is_plain else len(data[:byte].decode(errors="surrogateescape"))

    return source.span(offset(node.start_byte), offset(node.end_byte))


def is_cut_off(before: Node | None, node: Node) -> bool:
    """Whether the grammar has cut a word in front of a digit: it reads `$A/$1` as `$A/$`, and `1`."""
    return (
        before is not None
        and before.end_byte == node.start_byte
        and raw_text(before).endswith("$")
        and raw_text(node)[:1].isdigit()
    )


def below(node: Node, kind: str) -> Iterator[Node]:
    """The nodes of a kind at a node and below it."""
    if node.type == kind:
        yield node
    for child in node.named_children:
        yield from below(child, kind)


def split_clause(node: Node) -> tuple[list[Node], list[Node]]:
    """The conditions of an `if`, an `elif`, or an `else`, and what it then does."""
    is_body = node.type == "else_clause"
    condition: list[Node] = []
    body: list[Node] = []
    for each in node.children:
        if each.type == "then":
            is_body = True
        elif each.is_named and each.type not in {"elif_clause", "else_clause"}:
            (body if is_body else condition).append(each)
    return condition, body


def split_item(node: Node) -> tuple[list[str], list[Node]]:
    """The patterns of one item of a `case`, and what it then does."""
    at = next((at for at, each in enumerate(node.children) if each.type == ")"), 0)
    patterns = [raw_text(each).strip("\"'") for each in node.children[:at] if each.is_named]
    return patterns, [each for each in node.children[at + 1 :] if each.is_named]


def set_in(node: Node) -> list[str]:
    """The variables that are set somewhere below a node; what stands before a command is set for that alone."""
    names = [
        each.child_by_field_name("name")
        for each in below(node, "variable_assignment")
        if each.parent is None or each.parent.type != "command"
    ]
    told = [raw_text(each) for each in names if each is not None and each.type == "variable_name"]
    return [*told, *counted_in(node)]


def counted_in(node: Node) -> Iterator[str]:
    """The variables that a sum changes: `((i++))`, `((i += 2))`, `let i=i+1`."""
    for each in below(node, "postfix_expression"):
        yield raw_text(each.named_children[0])
    for each in below(node, "unary_expression"):
        if each.children[0].type in {"++", "--"}:
            yield raw_text(each.children[-1])
    for each in below(node, "binary_expression"):
        left, sign, *_ = each.children
        if sign.type.endswith("=") and sign.type not in _COMPARED:
            yield raw_text(left)
    for each in below(node, "command"):
        name = each.child_by_field_name("name")
        if name is not None and raw_text(name) == "let":
            yield from _NAME.findall(raw_text(each))


def leaves(nodes: Iterable[Node]) -> bool:
    """Whether statements end the script or the function that they stand in."""
    names = (each.child_by_field_name("name") for node in nodes for each in below(node, "command"))
    return any(raw_text(each) in _LEAVING for each in names if each is not None)


def _is_global(declaration: Node) -> bool:
    options = (raw_text(each) for each in declaration.named_children if each.type == "word")
    return any(each.startswith("-") and "g" in each for each in options)


def locals_of(body: Node) -> list[str]:
    """The variables that a function has for itself."""
    return [
        name
        for each in below(body, "declaration_command")
        if each.children[0].type in _LOCAL and not _is_global(each)
        for name in (*set_in(each), *(raw_text(one) for one in each.named_children))
    ]
