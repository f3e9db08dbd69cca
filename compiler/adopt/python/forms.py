"""A kind of expression goes in, with the names that are known there; what it comes to comes out, or nothing where that is open."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import cast

from compiler.adopt.launch import Word
from compiler.adopt.python.expressions import (
    Expressions,
    called_name,
    is_environment,
    option_of,
)
from compiler.adopt.python.values import OPEN, Known, Listing, Scalar, Table, together


_PYTHON = "python3"
_SAME = frozenset({"str", "int", "float", "Path", "quote", "expanduser", "PurePosixPath", "strip"})
"""Calls whose value reads as the argument does."""
_READ = frozenset({"get", "getenv"})
_JOINING = frozenset({"join", "list2cmdline"})
_SPLITTING = frozenset({"split"})
_COPYING = frozenset({"copy", "list"})


def _constant(told: Expressions, node: ast.expr) -> Known:
    value = cast("ast.Constant", node).value
    return Scalar(word=Word(text=str(value), span=told.place(node)), value=value)


def _name(told: Expressions, node: ast.expr) -> Known | None:
    return told.names.get(cast("ast.Name", node).id)


def _attribute(told: Expressions, node: ast.expr) -> Known | None:
    each = cast("ast.Attribute", node)
    if each.attr == "executable":
        return Scalar(word=Word(text=_PYTHON, span=told.place(node)), value=_PYTHON)
    if isinstance(each.value, ast.Name) and each.value.id in {"self", "cls"}:
        return told.names.get(f"self.{each.attr}")
    option = option_of(each)
    # What is said of one comes before its default.
    return None if option is None or option in told.given else told.options.get(option)


def _joined(told: Expressions, node: ast.expr) -> Known:
    """An f-string."""
    parts = [
        told.word(part.value if isinstance(part, ast.FormattedValue) else part)
        for part in cast("ast.JoinedStr", node).values
    ]
    return together(parts, span=told.place(node))


def _list(told: Expressions, node: ast.expr) -> Known:
    several = cast("ast.List | ast.Tuple", node).elts
    return told.listing(told.words(several), node)


def _dict(told: Expressions, node: ast.expr) -> Known:
    table = Table()
    each = cast("ast.Dict", node)
    for key, value in zip(each.keys, each.values, strict=True):
        if key is None:
            inner = told.value(value)
            if isinstance(inner, Table):
                table.entries |= inner.entries
            table.is_whole = isinstance(inner, Table) and inner.is_whole and table.is_whole
        elif isinstance(key, ast.Constant):
            table.entries[str(key.value)] = told.value(value)
        else:
            table.is_whole = False
    return table


def _subscript(told: Expressions, node: ast.expr) -> Known | None:
    each = cast("ast.Subscript", node)
    if is_environment(each.value):
        return told.variable(each)
    table, key = told.value(each.value), told.value(each.slice)
    if isinstance(table, Table) and isinstance(key, Scalar) and key.value is not OPEN:
        return table.entries.get(str(key.value))
    return None


def _operation(told: Expressions, node: ast.expr) -> Known | None:
    each = cast("ast.BinOp", node)
    left, right = told.value(each.left), told.value(each.right)
    if isinstance(each.op, ast.Add) and Listing in {type(left), type(right)}:
        words = (*told.spread(each.left, left), *told.spread(each.right, right))
        return told.listing(words, node)
    if not (isinstance(left, Scalar) and isinstance(right, Scalar)):
        return None
    if isinstance(each.op, ast.Add) and not _is_number(left) and not _is_number(right):
        return together((left.word, right.word), span=told.place(node))
    if isinstance(each.op, ast.Div) and not _is_number(left):
        return together((left.word, right.word), span=told.place(node), between="/")
    if _is_number(left) and _is_number(right):
        counted = _counted(each.op, cast("float", left.value), cast("float", right.value))
        if counted is not None:
            return Scalar(word=Word(text=str(counted), span=told.place(node)), value=counted)
    return None


def _is_number(known: Scalar) -> bool:
    return isinstance(known.value, int | float) and not isinstance(known.value, bool)


def _counted(operator: ast.operator, left: float, right: float) -> float | None:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    return left * right if isinstance(operator, ast.Mult) else None


def _either(told: Expressions, node: ast.expr) -> Known | None:
    """`a if b else c`."""
    each = cast("ast.IfExp", node)
    held = told.truth(each.test)
    if held is None:
        return None
    return told.value(each.body if held else each.orelse)


def _first(told: Expressions, node: ast.expr) -> Known | None:
    """`a or b`."""
    each = cast("ast.BoolOp", node)
    if not isinstance(each.op, ast.Or):
        return None
    for one in each.values:
        held = told.truth(one)
        if held is None:
            known = told.value(one)
            return known if isinstance(known, Listing | Table) else None
        if held:
            return told.value(one)
    return told.value(each.values[-1])


def _call(told: Expressions, node: ast.expr) -> Known | None:
    each = cast("ast.Call", node)
    name = called_name(each)
    of = each.func.value if isinstance(each.func, ast.Attribute) else None
    first = each.args[0] if each.args else None
    if name in _READ and (is_environment(of) or name == "getenv"):
        return told.variable(each)
    if name == "dict":
        return _made_table(told, each)
    if name in _JOINING and first is not None:
        return _strung(told, each, of)
    inner = of if name == "copy" else first or of
    if name in _COPYING and inner is not None:
        return (
            Table(is_whole=False)
            if is_environment(inner)
            else _copied(told, told.value(inner), node)
        )
    if name in _SAME | _SPLITTING and inner is not None:
        known = told.value(inner)
        return known if name in _SAME or isinstance(known, Scalar) else None
    return None


def _copied(told: Expressions, known: Known, node: ast.AST) -> Known:
    if isinstance(known, Listing):
        known.is_spent = True
        return told.listing(known.words, node)
    if isinstance(known, Table):
        return Table(entries=dict(known.entries), is_whole=known.is_whole)
    return known


def _made_table(told: Expressions, node: ast.Call) -> Known:
    inner = told.value(node.args[0]) if node.args else Table()
    if node.args and is_environment(node.args[0]):
        inner = Table(is_whole=False)
    table = _copied(told, inner, node) if isinstance(inner, Table) else Table(is_whole=False)
    for each in node.keywords:
        if each.arg is not None and isinstance(table, Table):
            table.entries[each.arg] = told.value(each.value)
    return table


def _strung(told: Expressions, node: ast.Call, of: ast.expr | None) -> Known | None:
    """`" ".join(words)`, and a path of parts."""
    known = told.value(node.args[0])
    if isinstance(known, Listing):
        between = told.word(of).text if isinstance(of, ast.Constant) else " "
        known.is_spent = True
        return together(known.words, span=told.place(node), between=between)
    if isinstance(of, ast.Attribute) and of.attr == "path":
        parts = [told.word(each) for each in node.args]
        return together(parts, span=told.place(node), between="/")
    return None


READERS: Mapping[type[ast.expr], Callable[[Expressions, ast.expr], Known | None]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.JoinedStr: _joined,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.BinOp: _operation,
    ast.IfExp: _either,
    ast.BoolOp: _first,
    ast.Call: _call,
}
"""What reads each kind of expression."""
