"""The diagnostic codes that the compiler's source can emit, read from its syntax trees.

A code stands in the source in one of these ways:

- as a literal, the first argument (or `code=`) of a call that makes a finding: `error("x", ...)`, `Unknown(code="x")`;
- in `@rule("x", ...)`, whose arguments are all the codes of that rule;
- as a module's constant that such a call is given by its name;
- in a table: then the call's argument is an expression, and `TABLES` below says which codes it may come to. A call with
  an expression that is not in `TABLES` is an error here, so that no code comes in unseen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import compiler
from compiler.checks.unknown import unknown
from compiler.language.typed import FaultKind
from compiler.memory.outcome import POOL_CODES, RESERVE_CODES


PACKAGE = Path(compiler.__file__).parent
MAKERS = frozenset({"error", "warning", "Diagnostic", "Unknown"})
"""Calls whose first argument, or `code`, is a code."""

CARRIERS = frozenset({"Shelf", "read_entry", "decode"})
"""Calls that are handed the code of what may go wrong later."""

_SOME_CODE = re.compile(
    rf"\b(?:{'|'.join(sorted({*MAKERS, *CARRIERS, 'rule'}))})\(|^\w+ = \"[a-z0-9-]+\"$",
    re.MULTILINE,
)
"""What a file with a code in it has: such a call, or a constant. Most have neither, and are not parsed, which takes long."""

_WRONG = (FaultKind.UNKNOWN_KEY, FaultKind.WRONG_TYPE, FaultKind.BAD_VALUE)
TABLES: Mapping[str, tuple[str, ...]] = {
    "POOL_CODES[result]": tuple(POOL_CODES.values()),
    "RESERVE_CODES[result]": tuple(RESERVE_CODES.values()),
    "*POOL_CODES.values()": tuple(POOL_CODES.values()),
    "*RESERVE_CODES.values()": tuple(RESERVE_CODES.values()),
    "*_WHAT": unknown.codes,
    # Passed on: the codes are where these come from.
    "each.code": (),
    "code": (),
    "self.code": (),
    "shelf.code": (),
    "str(fault.kind)": tuple(str(kind) for kind in _WRONG),
    "setting.rpartition('.')[2].replace('_', '-')": ("tree-budget", "tree-topk"),
}


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file; not to be changed."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> Sequence[ast.AST]:
    """All that is in that tree."""
    return tuple(ast.walk(tree_of(path)))


@cache
def emitted_codes() -> Mapping[str, str]:
    """Every code, with the first file that can emit it."""
    found: dict[str, str] = {}
    files = sorted(PACKAGE.rglob("*.py"))
    trees = {path: tree_of(path) for path in files if _SOME_CODE.search(path.read_text("utf-8"))}
    constants = _constants(trees.values())
    for path, tree in trees.items():
        for code in _codes_of(tree, constants=constants):
            found.setdefault(code, path.relative_to(PACKAGE.parent).as_posix())
    return found


def _constants(trees: Iterable[ast.Module]) -> Mapping[str, str]:
    """The texts that any module of the package assigns to a name of its own."""
    return {
        node.targets[0].id: node.value.value
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _codes_of(tree: ast.Module, *, constants: Mapping[str, str]) -> Iterator[str]:
    ours = {
        name
        for node in tree.body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else [each.name for each in node.names]
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compiler.")
            else []
        )
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ours:
            for argument in _code_arguments(node, node.func.id):
                yield from _values(argument, constants)


def _code_arguments(call: ast.Call, name: str) -> Iterator[ast.expr]:
    if name == "rule":
        yield from call.args
    elif name in MAKERS | CARRIERS:
        yield from (each.value for each in call.keywords if each.arg == "code")
        if name in MAKERS and not any(each.arg == "code" for each in call.keywords):
            yield call.args[0]


def _values(argument: ast.expr, constants: Mapping[str, str]) -> tuple[str, ...]:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return (argument.value,)
    if isinstance(argument, ast.Name) and argument.id in constants:
        return (constants[argument.id],)
    return TABLES[ast.unparse(argument)]
