"""Which files a deployable profile is made of: the profiles it extends, the catalogue's entries, and recorded boots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.catalog import Kind
from compiler.catalog.series import SERIES
from compiler.catalog.shelves import file_stem
from compiler.inputs import Inputs, is_deployable, resolve
from compiler.language.load import NO_PROFILES, SUFFIX, load_document


def ingredients_of(names: Iterable[str], inputs: Inputs) -> Mapping[str, frozenset[str]]:
    """For each deployable profile the paths of its files below `profiles/`, also of those that are not there.

    A profile that does not merge has what it extends, as far as that can be read. A shipped catalogue entry has the path
    that a team's own of that name would have.
    """
    made = {
        name: frozenset((*_documents(name, inputs), *_facts(name, inputs)))
        for name in names
        if _deploys(name, inputs)
    }
    return {name: parts for name, parts in made.items() if not _is_extended(name, made, inputs)}


def _is_extended(name: str, made: Mapping[str, frozenset[str]], inputs: Inputs) -> bool:
    """Whether a file that cannot be read is a fragment, since another is made of it."""
    if inputs.documents[name][0] is not None:
        return False
    return any(f"{name}{SUFFIX}" in parts for other, parts in made.items() if other != name)


def _deploys(name: str, inputs: Inputs) -> bool:
    resolved, _ = resolve(name, inputs)
    if resolved is not None:
        return is_deployable(resolved)
    document, _ = inputs.documents.get(name, (None, ()))
    # A file that cannot be read may have a target.
    return document is None or document.directives.is_deployable


def is_looked_at(name: str, path: str, inputs: Inputs) -> bool:
    """Whether it is known of a profile that it is, or is not, made of the file at a path below `profiles/`.

    What merges is known whole. What does not has no facts yet, and what an unreadable file of it extends nobody knows.
    """
    resolved, _ = resolve(name, inputs)
    if resolved is not None:
        return True
    loaded = (inputs.documents.get(file.removesuffix(SUFFIX)) for file in _documents(name, inputs))
    is_whole = all(
        each is None or not each[1] for each in loaded
    )  # of one that is gone nothing is wrong
    return is_whole and path.partition("/")[0] not in NO_PROFILES


def _documents(root: str, inputs: Inputs) -> Iterator[str]:
    todo, seen = [root], {root}
    while todo:
        name = todo.pop()
        yield f"{name}{SUFFIX}"
        if name not in inputs.documents:
            inputs.documents[name] = load_document(inputs.reader, name)
        document, _ = inputs.documents[name]
        for parent in document.directives.extends if document else ():
            if parent.name not in seen:
                seen.add(parent.name)
                todo.append(parent.name)


def _facts(name: str, inputs: Inputs) -> Iterator[str]:
    resolved, _ = resolve(name, inputs)
    if resolved is None:
        return

    def word(table: str, key: str) -> str:
        held = resolved.values.get(table)
        value = held.get(key) if isinstance(held, Mapping) else None
        return value if isinstance(value, str) else ""

    model, gpu = word("model", "id"), word("gpus", "kind")
    for kind, id_ in (
        (Kind.MODEL, model),
        (Kind.GPU, gpu),
        (Kind.DRAFT, word("speculative", "draft")),
    ):
        stem = file_stem(id_)
        if stem is not None:
            yield f"catalog/{kind}/{stem}{SUFFIX}"
    engine, build = word("engine", "name"), file_stem(word("engine", "build"))
    if file_stem(engine) == engine:
        yield f"catalog/engines/{engine}/{SERIES}.json"
        yield f"catalog/engines/{engine}/{word('engine', 'version')}.json"
        if build is not None:
            yield f"catalog/engines/{engine}/builds/{build}{SUFFIX}"
    for boot in inputs.catalog.boots()[0]:
        if boot.model == model and boot.gpu == gpu:
            yield f"{boot.name}{SUFFIX}"
