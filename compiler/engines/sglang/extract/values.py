"""An expression of the engine's source goes in; the value it has without running anything comes out."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from compiler.engines.sglang.extract.modules import Module, collect_names, members
from compiler.value import Value


class UnresolvedError(Exception):
    """The value is only known when the engine runs."""


@frozen(eq=False)
class ClassValue:
    """A class of the package."""

    module: Module
    node: ast.ClassDef


@frozen(eq=False)
class MemberValue:
    """A member of an enum: its name and what it is given."""

    name: str
    value: object


@frozen(kw_only=True, eq=False, repr=False)
class Scope(Value):
    """Where a name is looked up: what is bound to a value, then a function's own expressions, then the module.

    Attributes:
        depth: how many evaluations led here; code that goes round in circles ends at a limit.
    """

    module: Module
    bound: Mapping[str, object] = field(factory=dict)
    local: Mapping[str, ast.expr] = field(factory=dict)
    depth: int = 0


_LARGEST_INDEX = 2**63 - 1  # sys.maxsize of every machine that runs the engine
_DEEPEST = 60
_UNKNOWN = object()
"""Stands for a value of a dictionary that cannot be told; its key can."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COPIES: Mapping[str, Callable[[Any], object]] = {
    "list": list,
    "tuple": tuple,
    # A set has no order of its own; the parser's messages are the only place where it shows.
    "set": lambda items: sorted(items, key=str),
    "frozenset": lambda items: sorted(items, key=str),
    "sorted": sorted,
}
_TEXT_METHODS = frozenset({"lower", "upper", "strip"})
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def evaluate(node: ast.expr, scope: Scope) -> Any:  # noqa: ANN401 - whatever the source says
    """The value of an expression; raises `UnresolvedError` where only a run would tell."""
    if scope.depth > _DEEPEST:
        raise UnresolvedError
    inner = evolve(scope, depth=scope.depth + 1)
    read = _READERS.get(type(node))
    if read is None:
        raise UnresolvedError
    try:
        return read(node, inner)
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        raise UnresolvedError from None
    except (ArithmeticError, RecursionError):
        raise UnresolvedError from None


def _items(nodes: list[ast.expr], scope: Scope) -> Iterator[object]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from evaluate(node.value, scope)
        else:
            yield evaluate(node, scope)


def _set(node: ast.Set, scope: Scope) -> list[object]:
    return sorted(_items(node.elts, scope), key=str)


def _dictionary(node: ast.Dict, scope: Scope) -> dict[object, object]:
    made: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            made |= evaluate(value, scope)
            continue
        try:
            made[evaluate(key, scope)] = evaluate(value, scope)
        except UnresolvedError:
            made[evaluate(key, scope)] = _UNKNOWN
    return made


def _formatted(node: ast.FormattedValue, scope: Scope) -> object:
    if node.format_spec is not None:
        raise UnresolvedError
    return evaluate(node.value, scope)


def _unary(node: ast.UnaryOp, scope: Scope) -> object:
    return _UNARY[type(node.op)](evaluate(node.operand, scope))


def _binary(node: ast.BinOp, scope: Scope) -> object:
    return _BINARY[type(node.op)](evaluate(node.left, scope), evaluate(node.right, scope))


def _comprehension(node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> list[object]:
    if len(node.generators) != 1:
        raise UnresolvedError
    return [evaluate(node.elt, each) for each in _rounds(node.generators[0], scope)]


def _rounds(loop: ast.comprehension, scope: Scope) -> Iterator[Scope]:
    """The scopes of a comprehension without conditions, one a round."""
    if loop.ifs or not isinstance(loop.target, ast.Name):
        raise UnresolvedError
    for item in _iterate(evaluate(loop.iter, scope)):
        yield evolve(scope, bound={**scope.bound, loop.target.id: item})


def _iterate(value: object) -> list[object]:
    if isinstance(value, ClassValue):
        return _enum_members(value)
    if isinstance(value, list | tuple | dict):
        return list(value)
    raise UnresolvedError


def _enum_members(value: ClassValue) -> list[object]:
    bases = {ast.unparse(base).rpartition(".")[2] for base in value.node.bases}
    if bases.isdisjoint(_ENUMS):
        raise UnresolvedError
    scope = Scope(module=value.module)
    return [MemberValue(name, evaluate(each, scope)) for name, each in members(value.node).items()]


def _look_up(name: str, scope: Scope) -> object:
    if name in scope.bound:
        return scope.bound[name]
    if name in scope.local:
        return evaluate(scope.local[name], scope)
    return global_value(name, scope.module, depth=scope.depth)


def global_value(name: str, module: Module, *, depth: int = 0) -> object:
    """What a module's name stands for; raises `UnresolvedError`."""
    names, scope = module.names, Scope(module=module, depth=depth + 1)
    if name in names.values:
        return evaluate(names.values[name], scope)
    if name in names.classes:
        return ClassValue(module, names.classes[name])
    origin, original = names.imports.get(name, (None, None))
    sources = (
        [(origin, original)] if origin and original else [(each, name) for each in names.stars]
    )
    for dotted, attribute in sources:
        other = module.package.module(dotted)
        if other is None or depth > _DEEPEST:
            continue
        try:
            return global_value(attribute, other, depth=depth + 1)
        except UnresolvedError:
            continue
    raise UnresolvedError


def _attribute(node: ast.Attribute, scope: Scope) -> object:
    if ast.unparse(node) == "sys.maxsize":
        return _LARGEST_INDEX
    owner, name = evaluate(node.value, scope), node.attr
    if isinstance(owner, ClassValue):
        return class_value(owner, name, depth=scope.depth)
    if isinstance(owner, MemberValue) and name in {"name", "value"}:
        return getattr(owner, name)
    raise UnresolvedError


def class_value(owner: ClassValue, name: str, *, depth: int = 0) -> object:
    """What a class gives one of its names, which may refer to names above it; raises `UnresolvedError`."""
    own = members(owner.node)
    if name not in own:
        raise UnresolvedError
    above = dict(list(own.items())[: list(own).index(name)])
    return evaluate(own[name], Scope(module=owner.module, local=above, depth=depth))


def _call(node: ast.Call, scope: Scope) -> object:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _COPIES:
            return _COPIES[name](_iterate(evaluate(argument, scope)))
        case ast.Call(func=ast.Attribute(value=owner, attr="keys"), args=[], keywords=[]):
            return _iterate(evaluate(owner, scope))
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[], keywords=[]) if (
            name in _TEXT_METHODS
        ):
            return getattr(evaluate(owner, scope), name)()
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), args=[]):
            return _field_default(node, scope)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            return _returned(name, scope.module, depth=scope.depth)
        case _:
            raise UnresolvedError


def _field_default(node: ast.Call, scope: Scope) -> object:
    """The default a dataclass or struct field is declared with."""
    given = {each.arg: each.value for each in node.keywords}
    if "default" in given:
        return evaluate(given["default"], scope)
    match given.get("default_factory"):
        case ast.Name(id="list"):
            return []
        case ast.Name(id="dict"):
            return {}
        case ast.Lambda(body=body):
            return evaluate(body, scope)
        case _:
            raise UnresolvedError


def _returned(name: str, module: Module, *, depth: int) -> object:
    """What a function without arguments returns at its end, or the last of its returns that can be told."""
    if name in {"list", "dict"}:
        return [] if name == "list" else {}
    function, home = find_function(name, module)
    own = collect_names(function.body, inside=())
    names = with_imports(home, own.imports)
    returns = [each for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
    for each in reversed(returns):
        try:
            scope = Scope(module=names, local=own.values, depth=depth)
            return evaluate(each.value or ast.Constant(None), scope)
        except UnresolvedError:
            continue
    raise UnresolvedError


def with_imports(module: Module, imports: Mapping[str, tuple[str, str | None]]) -> Module:
    """The module as seen from inside a function that imports more."""
    names = evolve(module.names, imports={**module.names.imports, **imports})
    return evolve(module, names=names)


def find_function(name: str, module: Module) -> tuple[ast.FunctionDef, Module]:
    """A function by the name a module knows it by, and the module it stands in; raises `UnresolvedError`."""
    if name in module.names.functions:
        return module.names.functions[name], module
    origin, original = module.names.imports.get(name, (None, None))
    other = module.package.module(origin) if origin and original else None
    if other is None or original is None:
        raise UnresolvedError
    return find_function(original, other)


_READERS: Mapping[type[ast.expr], Callable[[Any, Scope], Any]] = {
    ast.Constant: lambda node, _: node.value,
    ast.List: lambda node, scope: list(_items(node.elts, scope)),
    ast.Tuple: lambda node, scope: tuple(_items(node.elts, scope)),
    ast.Set: _set,
    ast.Dict: _dictionary,
    ast.JoinedStr: lambda node, scope: "".join(str(evaluate(each, scope)) for each in node.values),
    ast.FormattedValue: _formatted,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Name: lambda node, scope: _look_up(node.id, scope),
    ast.Attribute: _attribute,
    ast.Subscript: lambda node, scope: evaluate(node.value, scope)[evaluate(node.slice, scope)],
    ast.Lambda: lambda node, scope: evaluate(node.body, scope),
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Call: _call,
}
"""How each kind of expression is read; any other is only known when the engine runs."""
