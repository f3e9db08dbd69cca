"""Annotated fields of the engine's settings, its way to declare flags from 0.5.14 on; out come declarations.

A field `name: A[T, "help"] = default`, or with `Arg(...)` in place of the text, is a flag. The engine turns such fields into
calls of `add_argument` by rules that are followed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from compiler.engines.sglang.extract.arguments import Surroundings, read_keywords
from compiler.engines.sglang.extract.declarations import Declaration, Unread
from compiler.engines.sglang.extract.modules import Module
from compiler.engines.sglang.extract.values import (
    ClassValue,
    Scope,
    UnresolvedError,
    evaluate,
)
from compiler.value import Value


_NAMESPACES = "_INPUT_NAMESPACES"
_READERS = frozenset({"str", "int", "float"})


@frozen(kw_only=True, eq=False, repr=False)
class Field(Value):
    """One field of the settings.

    Attributes:
        home: the module it is declared in.
        value: its default; `None` when it has none.
    """

    name: str
    home: Module
    annotation: ast.expr
    value: ast.expr | None


def find_fields(settings: ClassValue) -> tuple[Field, ...]:
    """The fields of the settings and of the namespaces they are put together from; the last of one name counts."""
    fields: dict[str, Field] = {}
    for home in (*_namespaces(settings.module), settings):
        for node in home.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                fields[name] = Field(
                    name=name, home=home.module, annotation=node.annotation, value=node.value
                )
    return tuple(fields.values())


def _namespaces(module: Module) -> Iterator[ClassValue]:
    listed = module.names.values.get(_NAMESPACES)
    for each in listed.elts if isinstance(listed, ast.List | ast.Tuple) else ():
        try:
            found = evaluate(each, Scope(module=module))
        except UnresolvedError:
            continue
        if isinstance(found, ClassValue):
            yield found


def defaults_of(fields: Sequence[Field]) -> dict[str, object]:
    """The default of each field that has one which can be told."""
    found: dict[str, object] = {}
    for each in fields:
        try:
            value = each.value
            if value is not None:
                found[each.name] = evaluate(value, Scope(module=each.home))
        except UnresolvedError:
            continue
    return found


def read_field(field: Field, defaults: Mapping[str, object]) -> Declaration | Unread | None:
    """The flag that a field declares; `None` for a field that is none of the command line's."""
    scope = Scope(module=field.home)
    inner, marks = _annotated(field.annotation)
    given = next((found for mark in marks if (found := _argument(mark)) is not None), None)
    if given is None or _is_true(given.get("no_cli")):
        return None
    around = Surroundings(scope=scope, fields=defaults)
    keywords = {"help": given["help"]} if "help" in given else {}
    if not _has_default(field):
        keywords["required"] = given.get("required", ast.Constant(value=True))
    else:
        keywords["default"] = field.value or ast.Constant(value=None)
    if _is_given(given.get("action")):
        keywords |= {"action": given["action"], **_items(given.get("action_kwargs"))}
    else:
        keywords |= _of_type(inner, given)
    try:
        names = _names(field, given, scope)
    except UnresolvedError:
        return Unread(f"line {field.annotation.lineno} of `{field.home.path}`")
    return evolve(read_keywords(names, keywords, around), dest=field.name)


def _annotated(node: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    """The type and the marks of `A[type, mark, ...]`; no marks for anything else."""
    node = _quoted(node)
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[inner, *marks])) if _name(node.value) in {
            "A",
            "Annotated",
        }:
            return inner, marks
        case _:
            return node, []


def _quoted(node: ast.expr) -> ast.expr:
    """The type that a text stands for; anything else as it is."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return node
    try:
        return ast.parse(node.value, mode="eval").body
    except SyntaxError:
        return node


def _argument(mark: ast.expr) -> dict[str, ast.expr] | None:
    """The keywords of a mark that makes a flag: `Arg(...)`, or its help alone."""
    match mark:
        case ast.Call(args=positional, keywords=keywords) if _name(mark.func) == "Arg":
            given = {each.arg: each.value for each in keywords if each.arg}
            return {"help": positional[0], **given} if positional else given
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp():
            return {"help": mark}
        case _:
            return None


def _name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _is_given(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and node.value is None)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _has_default(field: Field) -> bool:
    match field.value:
        case None:
            return False
        case ast.Call(func=function, keywords=keywords) if _name(function) == "field":
            return any(each.arg in {"default", "default_factory"} for each in keywords)
        case _:
            return True


def _names(field: Field, given: Mapping[str, ast.expr], scope: Scope) -> tuple[str, ...]:
    name = f"--{field.name.replace('_', '-')}"
    if _is_given(given.get("cli_name")):
        name = str(evaluate(given["cli_name"], scope))
    aliases = evaluate(given["aliases"], scope) if _is_given(given.get("aliases")) else ()
    return (name, *aliases)


def _items(node: ast.expr | None) -> dict[str, ast.expr]:
    """The entries of `{...}` or `dict(...)`."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
        case ast.Call(keywords=keywords):
            return {each.arg: each.value for each in keywords if each.arg}
        case _:
            return {}


def _of_type(annotation: ast.expr, given: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
    """The keywords that follow from a field's type, what the mark says added."""
    kind = _without_none(annotation)
    said = {
        key: given[name]
        for key, name in (("type", "type_parser"), ("choices", "choices"), ("const", "const"))
        if _is_given(given.get(name))
    }
    match kind:
        case ast.Subscript(slice=values) if _name(kind.value) == "Literal":
            words = values.elts if isinstance(values, ast.Tuple) else [values]
            first = words[0].value if isinstance(words[0], ast.Constant) else ""
            return {
                "type": _reader(ast.Name(id=type(first).__name__)),
                "choices": ast.List(elts=words),
                **said,
            }
        case ast.Subscript(slice=item) if (
            _name(kind.value).lower() == "list" and "type" not in said
        ):
            nargs = given.get("nargs")
            return {"type": _reader(item), "nargs": _or(nargs, ast.Constant(value="+")), **said}
        case ast.Name(id="bool"):
            return {"action": ast.Constant(value="store_true")}
        case _:
            counted = {"nargs": given["nargs"]} if _is_given(given.get("nargs")) else {}
            return {"type": _reader(kind), **counted, **said}


def _or(node: ast.expr | None, other: ast.expr) -> ast.expr:
    return node if node is not None and _is_given(node) else other


def _reader(kind: ast.expr) -> ast.expr:
    """What reads a value of a type: text, for all that is no number."""
    return kind if isinstance(kind, ast.Name) and kind.id in _READERS else ast.Name(id="str")


def _without_none(node: ast.expr) -> ast.expr:
    """`Optional[X]`, `Union[X, None]` and `X | None` are all X; a union of several stays as it is."""
    node = _quoted(node)
    match node:
        case ast.Subscript(slice=inner) if _name(node.value) == "Optional":
            return _without_none(inner)
        case ast.Subscript(slice=ast.Tuple(elts=kinds)) if _name(node.value) == "Union":
            return _only(kinds, node)
        case ast.BinOp(op=ast.BitOr()):
            return _only(list(_alternatives(node)), node)
        case _:
            return node


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def _only(kinds: Sequence[ast.expr], node: ast.expr) -> ast.expr:
    some = [each for each in kinds if _is_given(each)]
    return some[0] if len(some) == 1 else node
