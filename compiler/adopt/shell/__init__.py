"""The text of a shell script in, its commands out, with the values of the variables that it sets itself.

The syntax is read by the Bash grammar of tree-sitter. A function is read where it is called, with what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from attrs import evolve

from compiler.adopt.files import NO_FILES, Files, unreadable
from compiler.adopt.launch import Sheet, Word
from compiler.adopt.shell.known import Known
from compiler.adopt.shell.syntax import data_of
from compiler.adopt.shell.walk import Walk
from compiler.diagnostics import Diagnostic, Label, error
from compiler.source import Source


if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 150
"""Levels of a syntax tree; a function with a branch in a branch has twenty."""


def read_shell(
    source: Source,
    *,
    given: Mapping[str, str],
    said: Mapping[str, str] = MappingProxyType({}),
    arguments: Sequence[Word] | None = None,
    files: Files = NO_FILES,
) -> Sheet:
    """The commands of a script; `given` are variables that its caller sets, `arguments` what it is called with.

    `said` are the values of what is not known for certain; `files` are read that the script takes over.

    Errors: `launch-unreadable`.
    """
    root = _root(source)
    if _is_deep(root):
        return Sheet(
            diagnostics=(unreadable(source.name, "it nests too deep for a launch"),),
            sources={source.name: source},
        )
    walk = Walk(
        source=source,
        data=data_of(source),
        parse=_sound,
        files=files,
        known=Known(
            texts={name: Word(text=value) for name, value in {**said, **given}.items()},
            said=said,
            arguments=tuple(arguments) if arguments is not None else None,
        ),
    )
    walk.script(root)
    return Sheet(
        commands=tuple(walk.commands),
        documents=tuple(walk.documents),
        diagnostics=tuple(_faults(root, walk)),
        sources={**walk.sources, source.name: source},
    )


def _root(source: Source) -> Node:
    import tree_sitter_bash  # noqa: PLC0415 - what only a script needs
    from tree_sitter import Language, Parser  # noqa: PLC0415 - as above

    return Parser(Language(tree_sitter_bash.language())).parse(data_of(source)).root_node


def _sound(source: Source) -> Node | None:
    """The tree of a file that is a script as a whole."""
    root = _root(source)
    return None if root.has_error or _is_deep(root) else root


def _is_deep(root: Node) -> bool:
    """Whether a tree is deeper than any launch; told without going down into it by calls."""
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in node.children]
        if not level:
            return False
    return True


def _faults(root: Node, walk: Walk) -> Iterator[Diagnostic]:
    """The first place that is no shell, when there is one."""
    if not root.has_error:
        return
    node = root
    while True:
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None or node.type == "ERROR":
            break
        node = inner
    text = walk.data[node.start_byte :].decode(errors="surrogateescape")
    quote = next((each for each in text if each in "\"'"), None)
    what = (
        "a quote is left open here"
        if quote and text.count(quote) % 2
        else "this is no shell script"
    )
    span = walk.place(node)
    line = walk.source.line(span.line)
    short = evolve(
        span,
        end_line=span.line,
        end_column=max(span.column + 1, min(len(line) + 1, span.column + 40)),
    )
    yield error("launch-unreadable", f"the script cannot be read: {what}", Label(short, what))
