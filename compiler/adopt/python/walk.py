"""The syntax tree of a program goes in, from top to bottom; the commands that it would run come out, as far as they are known.

A function is read with the defaults of its parameters, or with what the one call of it in the program gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field

from compiler.adopt.launch import Command
from compiler.adopt.python.expressions import Expressions, assumed, called_name
from compiler.adopt.python.statements import Statements
from compiler.adopt.python.values import OPEN, Known, Scalar, taken


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SELF = "self"
_MOST = 2000
"""Statements of a block that are looked at for functions and classes."""


@define
class Walk(Statements):
    """Goes through a program, function by function."""

    calls: dict[str, list[ast.Call]] = field(factory=dict)

    def program(self, tree: ast.Module) -> None:
        """A whole program."""
        several = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
        for each in several:
            self.calls.setdefault(called_name(each), []).append(each)
        self.block(tree.body, {})

    def block(self, body: Sequence[ast.stmt], names: dict[str, Known]) -> None:
        """Statements in their order; functions behind what stands around them."""
        self.statements(body, names)
        for each in body[:_MOST]:
            if isinstance(each, _Function):
                self.function(each, dict(names))
            elif isinstance(each, ast.ClassDef):
                self.class_(each, dict(names))

    def class_(self, node: ast.ClassDef, names: dict[str, Known]) -> None:
        """A class: what it and its constructor say of `self` is known in its other methods."""
        inner: dict[str, Known] = {}
        self.statements(node.body, inner)
        names |= {f"{_SELF}.{name}": known for name, known in inner.items()}
        methods = [each for each in node.body if isinstance(each, _Function)]
        for each in sorted(methods, key=lambda one: one.name != "__init__"):
            local = dict(names)
            self.function(each, local, owner=node.name if each.name == "__init__" else None)
            if each.name == "__init__":
                names |= {key: one for key, one in local.items() if key.startswith(f"{_SELF}.")}
        for one in node.body:
            if isinstance(one, ast.ClassDef):
                self.class_(one, dict(names))

    def function(
        self, node: _Function, names: dict[str, Known], *, owner: str | None = None
    ) -> None:
        """A function by itself."""
        parameters = node.args
        ordered = [*parameters.posonlyargs, *parameters.args]
        defaults: list[ast.expr | None] = [None] * (len(ordered) - len(parameters.defaults))
        pairs = [
            *zip(ordered, [*defaults, *parameters.defaults], strict=True),
            *zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True),
        ]
        told = self.expressions(dict(names))
        bound = self._bound(owner or node.name, [each.arg for each in ordered], told)
        for each, default in pairs:
            known = bound.get(each.arg) or _default(each.arg, default, told)
            names.pop(each.arg, None)
            if known is not None and each.arg not in self.given:
                names[each.arg] = known
        self.block(node.body, names)

    def _bound(
        self, name: str, parameters: Sequence[str], told: Expressions
    ) -> Mapping[str, Known]:
        """What the only call of a function gives it, as far as that is known."""
        calls = self.calls.get(name, [])
        if len(calls) != 1:
            return {}
        own = [each for each in parameters if each not in {_SELF, "cls"}]
        given = dict(zip(own, calls[0].args, strict=False))
        given |= {each.arg: each.value for each in calls[0].keywords if each.arg is not None}
        several = {
            key: told.value(value)
            for key, value in given.items()
            if not isinstance(value, ast.Starred)
        }
        return {
            key: known
            for key, known in several.items()
            if not (isinstance(known, Scalar) and known.value is OPEN)
        }


def _default(name: str, default: ast.expr | None, told: Expressions) -> Known | None:
    """What a parameter is where nobody gives it; `None` says nothing."""
    if default is None:
        return None
    known = told.value(default)
    if not isinstance(known, Scalar) or known.value is None or known.value is OPEN:
        return None
    return taken(known, assumed(name, known.word.text, known.word.span))


def commands_of(walk: Walk) -> Iterator[Command]:
    """What the program runs, and the lists that start an engine and go nowhere in it."""
    yield from walk.running.commands
    for each in walk.made:
        if not each.is_spent:
            yield from walk.running.left(each)
