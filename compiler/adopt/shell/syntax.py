"""Where things stand in a shell's syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tree_sitter import Node

_LOCAL = frozenset({"local", "declare", "typeset"})


def raw_text(node: Node) -> str:
    """A node as it is written."""
    return (node.text or b"").decode(errors="surrogateescape")


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
    """The variables that are set somewhere below a node."""
    names = (each.child_by_field_name("name") for each in below(node, "variable_assignment"))
    return [raw_text(each) for each in names if each is not None and each.type == "variable_name"]


def locals_of(body: Node) -> list[str]:
    """The variables that a function has for itself."""
    return [
        name
        for each in below(body, "declaration_command")
        if each.children[0].type in _LOCAL
        for name in (*set_in(each), *(raw_text(one) for one in each.named_children))
    ]
