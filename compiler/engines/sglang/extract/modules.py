"""The text of a Python file goes in; its names come out, with the expressions and places they stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from compiler.engines.sglang.extract.sources import SourceTree, UnreadableError


@define
class Names:
    """What a body of statements binds.

    Attributes:
        values: name -> the expression assigned last.
        imports: name -> the module it is from, and its name there; no name for a module itself.
        stars: the modules all names are taken from.
    """

    values: dict[str, ast.expr] = field(factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(factory=dict)
    stars: list[str] = field(factory=list)
    classes: dict[str, ast.ClassDef] = field(factory=dict)
    functions: dict[str, ast.FunctionDef] = field(factory=dict)


@frozen(kw_only=True, eq=False)
class Module:
    """One file of the package."""

    package: Package
    dotted: str
    path: str
    tree: ast.Module
    names: Names


@frozen(eq=False)
class Package:
    """The engine's modules, each parsed when it is first asked for."""

    source: SourceTree
    _known: dict[str, Module | None] = field(factory=dict, init=False, repr=False)

    def module(self, dotted: str) -> Module | None:
        """A module by its dotted name; `None` when it is not of this package. Raises `UnreadableError`."""
        if dotted not in self._known:
            self._known[dotted] = self._parse(dotted)
        return self._known[dotted]

    def _parse(self, dotted: str) -> Module | None:
        base = dotted.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py"):
            text = self.source.read(path)
            if text is not None:
                return self._index(dotted, path, text)
        return None

    def _index(self, dotted: str, path: str, text: str) -> Module:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as fault:
            line = getattr(fault, "lineno", None)
            place = f"line {line} of `{path}`" if line else f"`{path}`"
            raise UnreadableError(f"{place} is no Python that this interpreter reads") from None
        parts = dotted.split(".")
        inside = parts if path.endswith("/__init__.py") else parts[:-1]
        names = collect_names(tree.body, inside=tuple(inside))
        return Module(package=self, dotted=dotted, path=path, tree=tree, names=names)


def collect_names(body: Iterable[ast.stmt], *, inside: tuple[str, ...]) -> Names:
    """What these statements bind, those under `if` and `try` too; `inside` is the package for relative imports."""
    names = Names()
    for statement in _flat(body):
        match statement:
            case ast.Assign(targets=targets, value=value):
                names.values |= {each.id: value for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names.values[name] = value
            case ast.ImportFrom(names=aliases):
                _import_from(names, aliases, _origin(statement, inside))
            case ast.Import(names=aliases):
                names.imports |= {
                    each.asname or each.name.partition(".")[0]: (each.name, None)
                    for each in aliases
                }
            case ast.ClassDef(name=name):
                names.classes[name] = statement
            case ast.FunctionDef(name=name):
                names.functions[name] = statement
            case _:
                pass
    return names


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _flat(statement.body)
            yield from _flat(getattr(statement, "orelse", ()))
            for each in getattr(statement, "handlers", ()):
                yield from _flat(each.body)


def _origin(statement: ast.ImportFrom, inside: tuple[str, ...]) -> str:
    """The module an import is from, in full."""
    module = statement.module or ""
    if not statement.level:
        return module
    above = inside[: len(inside) - statement.level + 1]
    return ".".join((*above, module) if module else above)


def _import_from(names: Names, aliases: list[ast.alias], module: str) -> None:
    for each in aliases:
        if each.name == "*":
            names.stars.append(module)
        else:
            names.imports[each.asname or each.name] = (module, each.name)


def members(node: ast.ClassDef) -> Mapping[str, ast.expr]:
    """The values a class gives its names, in order."""
    return collect_names(node.body, inside=()).values
