"""A wheel or a source tree of SGLang goes in, its flags come out, and nothing of it is run.

Releases declare flags in three ways: by calls of `add_argument`, by annotated fields of `ServerArgs` (from 0.5.14), and by
annotated fields of the namespaces that `ServerArgs` is put together from (from 0.5.20). `arguments` reads the first,
`annotations` the others; `declarations` makes a flag of either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.extract.annotations import defaults_of, find_fields, read_field
from compiler.engines.sglang.extract.arguments import find_calls, read_call, surroundings
from compiler.engines.sglang.extract.declarations import Declaration, Unread, make_flag
from compiler.engines.sglang.extract.modules import Package
from compiler.engines.sglang.extract.sources import (
    SERVER_ARGS,
    UNREADABLE,
    SourceTree,
    UnreadableError,
    open_tree,
)
from compiler.engines.sglang.extract.values import ClassValue
from compiler.facts import Flag
from compiler.value import Value


__all__ = ["Extracted", "extract"]

_MODULE = SERVER_ARGS.removesuffix(".py").replace("/", ".")
_CLASS = "ServerArgs"


@frozen(kw_only=True, eq=False, repr=False)
class Extracted(Value):
    """The flags of one wheel or tree.

    Attributes:
        version: the release it says it is; `None` when it does not say.
        flags: by name.
    """

    version: str | None
    flags: tuple[Flag, ...]


def extract(path: Path) -> tuple[Extracted | None, tuple[Diagnostic, ...]]:
    """Read the flags of a wheel or a source tree.

    Errors: `engine-unreadable` for what is no SGLang, is damaged, or declares its flags in no known way; the same as a
    warning for a part of a flag that only a run would tell, which is then left open.
    """
    tree, faults = open_tree(path)
    if tree is None:
        return None, faults
    try:
        module = Package(tree).module(_MODULE)
        node = module.names.classes.get(_CLASS) if module else None
        found = [*_declared(ClassValue(module, node))] if module and node else []
    except UnreadableError as fault:
        return None, (error(UNREADABLE, f"`{tree.shown}` cannot be read: {fault}"),)
    if module is None or not found:
        return None, (_undeclared(tree),)
    # Of two declarations of one name the parser would stop at the second; no release has such.
    flags = {
        flag.name: flag
        for each in found
        if isinstance(each, Declaration)
        for flag in [make_flag(each, module)]
    }
    ordered = tuple(flags[name] for name in sorted(flags))
    return Extracted(version=tree.version, flags=ordered), tuple(_unclear(found, tree))


def _declared(settings: ClassValue) -> Iterator[Declaration | Unread]:
    fields = find_fields(settings)
    defaults = defaults_of(fields)
    for field in fields:
        declared = read_field(field, defaults)
        if declared is not None:
            yield declared
    around = surroundings(settings, defaults)
    for call in find_calls(settings):
        yield read_call(call, around)


def _undeclared(tree: SourceTree) -> Diagnostic:
    return error(
        UNREADABLE,
        f"`{tree.shown}` declares its flags in no way that is known here",
        notes=(
            f"looked for `{_CLASS}` in `{SERVER_ARGS}`, its annotated fields and `add_cli_args`",
        ),
    )


def _unclear(found: Sequence[Declaration | Unread], tree: SourceTree) -> Iterator[Diagnostic]:
    for each in found:
        if isinstance(each, Unread):
            yield warning(
                UNREADABLE,
                f"a flag of `{tree.shown}` can only be known by running it: {each.place}",
                notes=("it is left out, so that its use will be called unknown",),
            )
        elif each.unclear:
            parts = ", ".join(f"`{part}`" for part in each.unclear)
            yield warning(
                UNREADABLE,
                f"`{each.names[0]}` of `{tree.shown}`: its {parts} can only be known by running it",
                notes=("it is left open, so that every value is taken",),
            )
