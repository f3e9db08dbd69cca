"""The documents of a tree go in; the fragments that no deployable profile extends come out, and those that hold nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.diagnostics import Diagnostic, Label, warning
from compiler.language.load import Document, Loaded


def idle_files(
    fragments: Iterable[str], documents: Mapping[str, Loaded], *, whole: bool
) -> Iterator[Diagnostic]:
    """Those of some fragments that hold nothing; of a `whole` tree also those that nobody uses."""
    for name in fragments:
        yield from _emptied(name, documents)
    if whole:
        yield from _unused_fragments(documents)


def _unused_fragments(documents: Mapping[str, Loaded]) -> Iterator[Diagnostic]:
    """A warning for each; nothing is said while what may extend them is not known, which is an error of its own.

    That is so of a file that cannot be read, and of a deployed one that extends what is not there, or says what it extends by
    a key that is none.
    """
    read = {name: document for name, (document, _) in documents.items() if document is not None}
    if any(document is None and faults for document, faults in documents.values()):
        return
    deployed = [name for name, each in read.items() if each.directives.is_deployable]
    used = _used(read, deployed)
    if used == read.keys():
        return
    from compiler.language.misspelt import extends_elsewhere, means_file_key  # noqa: PLC0415 - few trees have one

    meant = [name for name, each in read.items() if means_file_key("targets", each.values)]
    used = _used(read, [*deployed, *meant])
    if any(_is_cut(documents[name], read) or extends_elsewhere(read[name].values) for name in used):
        return
    for name in sorted(read.keys() - used):
        yield warning(
            "fragment-unused",
            f"no deployable profile extends `{name}`",
            Label(read[name].source.span(0, 0), "it has no target, and nothing reaches it"),
            help=("remove it, extend it, or give it a target",),
        )


def _emptied(name: str, documents: Mapping[str, Loaded]) -> Iterator[Diagnostic]:
    """A warning for a file that holds nothing: it may have had a target, whose service would be gone without a word."""
    document, _ = documents[name]
    if document is None or document.values:
        return
    holds = "has comments only" if document.source.text.strip() else "is empty"
    yield warning(
        "profile-empty",
        f"`{name}` sets nothing: its file {holds}",
        Label(document.source.span(0, 0), "nothing is compiled from it"),
        help=("bring it back, where an editor or a full disk emptied it; else remove it",),
    )


def _used(documents: Mapping[str, Document], deployed: Iterable[str]) -> frozenset[str]:
    todo = [*deployed]
    used: set[str] = set()
    while todo:
        name = todo.pop()
        if name in used or name not in documents:
            continue
        used.add(name)
        todo += [parent.name for parent in documents[name].directives.extends]
    return frozenset(used)


def _is_cut(loaded: Loaded, read: Mapping[str, Document]) -> bool:
    """Whether a file extends what is not there, or what is wrong in its list hides what it extends."""
    document, faults = loaded
    parents = document.directives.extends if document is not None else ()
    return any(each.name not in read for each in parents) or any(
        each.path is not None and each.path.rpartition(".")[2] == "extends" for each in faults
    )
