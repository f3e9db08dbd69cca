"""Calls of `add_argument` in the engine's source, as every release has some; out come declarations."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.engines.sglang.extract.declarations import (
    ACTIONS,
    TYPES,
    Declaration,
    Unread,
)
from compiler.engines.sglang.extract.modules import Module, collect_names
from compiler.engines.sglang.extract.values import (
    ClassValue,
    Scope,
    UnresolvedError,
    evaluate,
    find_function,
    with_imports,
)
from compiler.value import Value


_METHOD = "add_cli_args"
_DEFAULT_OF_FIELD = "_declared_default"
_FALSE_WITHOUT_DEFAULT = frozenset({"store_true", "DeprecatedStoreTrueAction"})


@frozen(kw_only=True, eq=False, repr=False)
class Surroundings(Value):
    """What the expressions of a declaration may refer to.

    Attributes:
        fields: the defaults of the settings' fields.
    """

    scope: Scope
    fields: Mapping[str, object]


def find_calls(settings: ClassValue) -> Iterator[ast.Call]:
    """The calls of `add_argument` that declare the release's flags, in their order."""
    method = _method(settings)
    for statement in method.body if method else ():
        calls = [
            node
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ]
        yield from sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def surroundings(settings: ClassValue, fields: Mapping[str, object]) -> Surroundings:
    """Where the calls stand: the module, and what the method itself imports and assigns."""
    method = _method(settings)
    own = collect_names(method.body if method else (), inside=())
    module = with_imports(settings.module, own.imports)
    return Surroundings(scope=Scope(module=module, local=own.values), fields=fields)


def _method(settings: ClassValue) -> ast.FunctionDef | None:
    return next(
        (
            each
            for each in settings.node.body
            if isinstance(each, ast.FunctionDef) and each.name == _METHOD
        ),
        None,
    )


def read_call(call: ast.Call, around: Surroundings) -> Declaration | Unread:
    """The flag one call declares."""
    try:
        names = tuple(str(evaluate(each, around.scope)) for each in call.args)
    except UnresolvedError:
        names = ()
    if not names:
        return Unread(f"line {call.lineno} of `{around.scope.module.path}`")
    return read_keywords(
        names, {each.arg: each.value for each in call.keywords if each.arg}, around
    )


def read_keywords(
    names: tuple[str, ...], given: Mapping[str, ast.expr], around: Surroundings
) -> Declaration:
    """The flag of these names with `add_argument`'s keywords."""
    unclear: list[str] = []

    def value(key: str) -> object:
        if key not in given:
            return None
        try:
            return _value(given[key], around)
        except UnresolvedError:
            unclear.append(key)
            return None

    action = (_word(given.get("action")) or "store").rpartition(".")[2]
    reader = _word(given.get("type"))
    unclear += ["action"] if action not in ACTIONS else []
    unclear += ["type"] if reader and reader not in TYPES else []
    falsy = "default" not in given and action in _FALSE_WITHOUT_DEFAULT
    choices, dest = value("choices"), value("dest")
    return Declaration(
        names=names,
        dest=str(dest) if dest is not None else None,
        action=action,
        reader=reader,
        nargs=value("nargs"),
        counted="nargs" in given,
        choices=choices if isinstance(choices, list | tuple) else None,
        default=False if falsy else value("default"),
        const=value("const_value") if "const_value" in given else value("const"),
        required=value("required") is True,
        new_flag=_text(given.get("new_flag")) or None,
        message=_text(given.get("error_message")) or None,
        help=_text(given.get("help")),
        keys=keys_of(reader, around.scope.module),
        unclear=tuple(unclear),
    )


def _value(node: ast.expr, around: Surroundings) -> object:
    """As `evaluate`, and the default of a field by the two ways that calls refer to one."""
    match node:
        case ast.Attribute(value=ast.Name(id="ServerArgs"), attr=name) if name in around.fields:
            return around.fields[name]
        case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(name))]) if (
            function == _DEFAULT_OF_FIELD and name in around.fields
        ):
            return around.fields[name]
        case ast.Attribute(attr="SUPPRESS"):
            return None
        case _:
            return evaluate(node, around.scope)


def _word(node: ast.expr | None) -> str | None:
    """A name or a word as the source writes it; `None` for nothing."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _text(node: ast.expr | None) -> str:
    """All literal text of an expression."""
    parts = ast.walk(node) if node is not None else ()
    texts = [
        each for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]
    texts.sort(key=lambda each: (each.lineno, each.col_offset))
    return "".join(str(each.value) for each in texts)


def keys_of(reader: str | None, module: Module) -> tuple[str, ...]:
    """The keys of the JSON object that a reader takes, when its module lists them by phase."""
    if reader is None or TYPES.get(reader) != "cuda-graph-config":
        return ()
    try:
        _, home = find_function(reader, module)
        phases = evaluate(ast.Name("ALLOWED_KEYS_PER_PHASE"), Scope(module=home))
    except UnresolvedError:
        return ()
    return tuple(f"{phase}.{key}" for phase, keys in phases.items() for key in keys)
