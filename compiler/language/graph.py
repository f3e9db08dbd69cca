"""The name of a profile goes in; it and everything it extends come out, linked and free of cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, MutableMapping
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from attrs import frozen

from compiler.diagnostics import Diagnostic, Label, Span, error, printable
from compiler.language.load import Document, Loaded, Reader, load_once, name_fault
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.language.spans import TomlPath


MOST_FILES = 256
"""Files that one profile may be made of, itself among them: this project's own are of five. What ancestors cost grows with the
square of their number."""
ASKED_CODES = frozenset({"profile-missing", "profile-name", "extends-deployable"})
"""Findings about the name of a parent: each place that asks for it is a part of them."""


@frozen(kw_only=True, eq=False, repr=False)
class Graph(Value):
    """A profile with its ancestors.

    Attributes:
        root: the profile's name.
        documents: the root and all its ancestors, by name.
        ancestors: for each of these, the names of all that it extends, however far away.
    """

    root: str
    documents: Mapping[str, Document]
    ancestors: Mapping[str, frozenset[str]]


def link(
    reader: Reader, root: str, *, cache: MutableMapping[str, Loaded] | None = None
) -> tuple[Graph | None, tuple[Diagnostic, ...]]:
    """Load a profile and all that it extends.

    Give the same `cache` for many profiles, and what they share is read once. Everything wrong with any of the
    files is reported; with an error there is no graph. Errors: those of `load_document`, `profile-name`,
    `profile-missing`, `extends-duplicate`, `extends-deployable`, `extends-cycle`, `extends-limit`; the last one alone.
    """
    family = _gather(reader, root, {} if cache is None else cache)
    if len(family.documents) > MOST_FILES:
        return None, (_too_many(family),)
    parents = {name: family.parents(name) for name in family.documents}
    ancestors = _ancestors(parents)
    # What has a cycle above it has no ancestors there, so an order that lacks some has a cycle.
    cycles = tuple(_cycles(parents)) if len(ancestors) < len(parents) else ()
    found = [
        *family.faults,
        *_name_faults(family, reader),
        *_missing(family, reader),
        *_duplicates(family),
        *_deployable_parents(family, apart_from=frozenset[str]().union(*cycles)),
        *(_cycle(family, each) for each in cycles),
    ]
    diagnostics = tuple(sorted(found, key=_place))
    if diagnostics:
        return None, diagnostics
    return Graph(root=root, documents=family.documents, ancestors=ancestors), ()


def _place(diagnostic: Diagnostic) -> tuple[bool, Span | None, str]:
    """Sorts by file and line, what has no place first."""
    if diagnostic.primary is None:
        return False, None, diagnostic.summary
    return True, diagnostic.primary.span, diagnostic.summary


_Place: TypeAlias = "tuple[Document, TomlPath]"
"""An entry of `extends`: its file, and where it stands there."""


@frozen(kw_only=True, eq=False, repr=False)
class _Family(Value):
    """What was loaded on the way up from the root.

    Attributes:
        asked: every name that was asked for, with each place that asks; the root has none of its own.
        missing: the names for which there is no file.
        faults: what is wrong with the files themselves.
    """

    root: str
    documents: Mapping[str, Document]
    asked: Mapping[str, tuple[_Place, ...]]
    missing: tuple[str, ...]
    faults: tuple[Diagnostic, ...]

    def labels(self, name: str, text: str = "") -> tuple[Label | None, tuple[Label, ...]]:
        """The places that ask for a name: the first, and the others."""
        spans = (document.spans[at].value for document, at in self.asked[name])
        labels = [Label(span, text) for span in sorted(spans)]
        return (labels[0], tuple(labels[1:])) if labels else (None, ())

    def parents(self, name: str) -> frozenset[str]:
        """The parents of a profile, as far as they could be loaded."""
        extends = self.documents[name].directives.extends
        return frozenset(parent.name for parent in extends if parent.name in self.documents)


def _gather(reader: Reader, root: str, cache: MutableMapping[str, Loaded]) -> _Family:
    """Load the root, what it extends, and so on, to one file more than there may be."""
    documents: dict[str, Document] = {}
    asked: dict[str, list[_Place]] = {root: []}
    missing: list[str] = []
    faults: list[Diagnostic] = []
    todo = [root]
    while todo and len(documents) <= MOST_FILES:
        name = todo.pop()
        document, found = load_once(reader, name, cache)
        faults += found
        if document is None:
            missing += [] if found else [name]
            continue
        documents[name] = document
        for parent in document.directives.extends:
            if parent.name not in asked:
                asked[parent.name] = []
                todo.append(parent.name)
            asked[parent.name].append((document, parent.at))
    return _Family(
        root=root,
        documents=documents,
        asked={name: tuple(places) for name, places in asked.items()},
        missing=tuple(missing),
        faults=tuple(faults),
    )


def _too_many(family: _Family) -> Diagnostic:
    """A profile of more files than there may be."""
    document = family.documents[family.root]
    return error(
        "extends-limit",
        f"`{printable(family.root)}` extends more files than {MOST_FILES - 1}, near and far",
        Label(document.spans["extends",].value, "with all that these extend"),
        help=("merge fragments that are always used together",),
    )


def _name_faults(family: _Family, reader: Reader) -> Iterator[Diagnostic]:
    """Names that no profile can have; there is no file of such a name."""
    for name in family.missing:
        fault = name_fault(name)
        if fault is not None:
            primary, secondary = family.labels(name)
            summary = f"the profile name `{printable(name)}` {fault}"
            from compiler.language.misspelt import plain_name  # noqa: PLC0415 - only a mistake pays for it

            help_ = plain_name(name, reader)
            yield error("profile-name", summary, primary, secondary=secondary, help=help_)


def _missing(family: _Family, reader: Reader) -> Iterator[Diagnostic]:
    """Names that no profile has."""
    for name in family.missing:
        if name_fault(name) is None:
            from compiler.language.misspelt import suggestions  # noqa: PLC0415 - only a mistake pays for it

            primary, secondary = family.labels(name)
            yield error(
                "profile-missing",
                f"there is no profile `{name}`",
                primary,
                secondary=secondary,
                help=tuple(suggestions(name, reader)),
            )


def _duplicates(family: _Family) -> Iterator[Diagnostic]:
    """The same parent twice in one list."""
    for document in family.documents.values():
        extends = document.directives.extends
        if len({parent.name for parent in extends}) == len(extends):
            continue
        places: defaultdict[str, list[Span]] = defaultdict(list)
        for parent in extends:
            places[parent.name].append(document.spans[parent.at].value)
        for name, (first, *others) in places.items():
            if others:
                yield error(
                    "extends-duplicate",
                    f"`{document.name}` extends `{printable(name)}` more than once",
                    Label(others[0], "again here"),
                    secondary=(
                        Label(first, "first here"),
                        *(Label(span, "again here") for span in others[1:]),
                    ),
                    help=("name it once: the order of `extends` means nothing",),
                )


def _deployable_parents(family: _Family, *, apart_from: frozenset[str]) -> Iterator[Diagnostic]:
    """Deployable profiles that something extends; those in a cycle have a worse fault."""
    for name in family.documents.keys() - apart_from:
        document = family.documents[name]
        if not (document.directives.is_deployable and family.asked[name]):
            continue
        primary, secondary = family.labels(name)
        yield error(
            "extends-deployable",
            f"`{name}` has a target, and only fragments can be extended",
            primary,
            secondary=(*secondary, *_target_labels(document)),
            help=("move what both need to a fragment that both extend",),
        )


def _target_labels(document: Document) -> Iterator[Label]:
    """Where a file gives targets."""
    for path in (("targets",), ("defaults", "targets"), ("force", "targets")):
        if path in document.spans:
            yield Label(document.spans[path].value, "its target")


def _ancestors(parents: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """All ancestors of each profile; a profile that has a cycle above it is left out."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for name, above in parents.items():
        for parent in above:
            children[parent].append(name)
    waits_for = {name: len(above) for name, above in parents.items()}
    ready = [name for name, count in waits_for.items() if count == 0]
    ancestors: dict[str, frozenset[str]] = {}
    while ready:
        name = ready.pop()
        above = parents[name]
        ancestors[name] = above.union(*(ancestors[parent] for parent in above))
        for child in children[name]:
            waits_for[child] -= 1
            if waits_for[child] == 0:
                ready.append(child)
    return ancestors


def _cycles(parents: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """The cycles, each as a chain of parents. Of those that share a file one is found, the same in any order."""
    left = _without_end(parents)
    while left:
        chain: dict[str, None] = {}
        name = min(left)
        while name not in chain:
            chain[name] = None
            name = min(left[name])
        names = tuple(chain)
        cycle = names[names.index(name) :]
        yield cycle
        left = _without_end(
            {name: above - set(cycle) for name, above in left.items() if name not in cycle}
        )


def _without_end(parents: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    """Those profiles that have a cycle above them, each with the parents through which it is reached."""
    with_end = _ancestors(parents).keys()
    return {name: above - with_end for name, above in parents.items() if name not in with_end}


def _cycle(family: _Family, cycle: tuple[str, ...]) -> Diagnostic:
    """One cycle, told from the same profile on whichever of them asked: it is one finding for all."""
    at = cycle.index(min(cycle))
    chain = (*cycle[at:], *cycle[:at], cycle[at])
    first, *others = (
        Label(_entry(family.documents[name], parent), f"`{name}` extends `{parent}`")
        for name, parent in pairwise(chain)
    )
    return error(
        "extends-cycle",
        "profiles extend each other in a circle: " + " -> ".join(f"`{name}`" for name in chain),
        first,
        secondary=tuple(others),
    )


def _entry(document: Document, parent: str) -> Span:
    """Where a document first says that it extends a parent."""
    at = next(each.at for each in document.directives.extends if each.name == parent)
    return document.spans[at].value
