"""The documents of a whole tree go in; the fragments that no deployable profile extends come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.diagnostics import Diagnostic, Label, warning
from compiler.language.load import Document, Loaded


def unused_fragments(documents: Mapping[str, Loaded]) -> Iterator[Diagnostic]:
    """A warning for each; nothing is said while a file cannot be read, since it may be what extends them."""
    read = {name: document for name, (document, _) in documents.items() if document is not None}
    if any(document is None and faults for document, faults in documents.values()):
        return
    used = _used(read)
    for name in sorted(read.keys() - used):
        yield warning(
            "fragment-unused",
            f"no deployable profile extends `{name}`",
            Label(read[name].source.span(0, 0), "it has no target, and nothing reaches it"),
            help=("remove it, extend it, or give it a target",),
        )


def _used(documents: Mapping[str, Document]) -> frozenset[str]:
    todo = [name for name, each in documents.items() if each.directives.is_deployable]
    used: set[str] = set()
    while todo:
        name = todo.pop()
        if name in used or name not in documents:
            continue
        used.add(name)
        todo += [parent.name for parent in documents[name].directives.extends]
    return frozenset(used)
