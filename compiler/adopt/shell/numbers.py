"""The `$((...))` of a shell's syntax tree goes in; its number comes out, where its variables are known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from compiler.adopt.launch import Word


if TYPE_CHECKING:
    from tree_sitter import Node

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}
_DIVIDING = frozenset({"/", "%"})
_AROUND = frozenset({"arithmetic_expansion", "parenthesized_expression"})
_LARGEST = 2**63  # what a shell counts with


def evaluate_number(
    node: Node, look_up: Callable[[str], Word | None]
) -> tuple[int | None, tuple[str, ...]]:
    """The number of a sum, and those of its variables that are open, each with its `$`; `look_up` says variables.

    No number where it is more than sums, products, and quotients of known numbers.
    """
    open_names: list[str] = []

    def known(name: str) -> str | None:
        word = look_up(name)
        if word is None or word.unknown:
            open_names.append(f"${name}")
            return None
        return word.text

    number = _number(node, known)
    is_small = number is not None and abs(number) < _LARGEST
    return number if is_small else None, tuple(open_names)


def _number(node: Node, look_up: Callable[[str], str | None]) -> int | None:
    raw = (node.text or b"").decode(errors="surrogateescape")
    inside = node.named_children
    if node.type in _AROUND and len(inside) == 1:
        return _number(inside[0], look_up)
    if node.type in {"number", "variable_name", "word"}:
        return _whole(raw if node.type == "number" else look_up(raw))
    if node.type in {"simple_expansion", "expansion"}:
        return _whole(look_up(raw.strip("${}")))
    if node.type == "binary_expression" and len(node.children) == len(("left", "sign", "right")):
        left, sign, right = node.children
        both = _number(left, look_up), _number(right, look_up)
        spelled = (sign.text or b"").decode()
        made = _OPERATORS.get(spelled)
        # A shell divides towards zero, and by nothing not at all.
        if spelled in _DIVIDING and ((both[0] or 0) < 0 or (both[1] or 0) <= 0):
            return None
        if made is not None and both[0] is not None and both[1] is not None:
            return made(both[0], both[1])
    return None


def _whole(text: str | None) -> int | None:
    """Of no more digits than a shell counts with: Python reads no number of thousands of them."""
    if text is None or len(text) > len(str(_LARGEST)):
        return None
    return int(text) if text.isascii() and text.isdecimal() else None
