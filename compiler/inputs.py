"""What the line reads from, and its first steps: a profile's name goes in, its settings come out, linked and merged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, MutableMapping
from functools import cache

from attrs import evolve, field, frozen

from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic
from compiler.language.graph import link
from compiler.language.load import Loaded, Reader, load_once, name_fault
from compiler.language.merge import Resolved, merge_graph
from compiler.language.settings import list_settings
from compiler.origins import Origins
from compiler.profile import Name, Version
from compiler.value import Value


_TRIED = frozenset({"engine.name", "engine.version"})


@frozen(kw_only=True, eq=False, repr=False)
class Inputs(Value):
    """Everything the line reads from, and what it has read so far.

    Attributes:
        engine: an engine's name and release to try in place of the profiles' own.
    """

    reader: Reader
    catalog: Catalog
    engine: tuple[Name, Version] | None = None
    documents: MutableMapping[str, Loaded] = field(factory=dict)


def resolve(name: str, inputs: Inputs) -> tuple[Resolved | None, tuple[Diagnostic, ...]]:
    """One profile, linked and merged; nothing when that fails, and then why."""
    graph, found = link(inputs.reader, name, cache=inputs.documents)
    if graph is None:
        return None, found
    resolved, clashes = merge_graph(graph, list_settings=list_settings())
    return resolved, (*found, *clashes)


def is_deployable(resolved: Resolved) -> bool:
    """A profile with a target is deployable; everything else is a fragment."""
    return "targets" in resolved.values


def tried_in(where: Origins, inputs: Inputs) -> Origins:
    """The same, where a release is tried in place of the one that the files name."""
    return where if inputs.engine is None else evolve(where, tried=_TRIED)


def origins_in(inputs: Inputs, *, tried: Collection[str] = ()) -> Callable[[str], Origins]:
    """The origins of a profile that was planned, by its name; `tried` are those on which a release is, if there is one."""

    @cache
    def where(name: str) -> Origins:
        resolved, _ = resolve(name, inputs)
        if resolved is None:
            raise ValueError(f"{name} was planned, and does not merge any more")
        return tried_in(resolved.origins, inputs) if name in tried else resolved.origins

    return where


def hosts_of(names: Iterable[str], inputs: Inputs) -> frozenset[str]:
    """The hosts of some profiles: the names of their targets."""
    return frozenset[str]().union(*(_targets(name, inputs) for name in names))


def names_on(
    hosts: frozenset[str], inputs: Inputs, *, without: Collection[str] = ()
) -> tuple[str, ...]:
    """The profiles that have one of these targets, and those that nobody can read which name such a host.

    Targets stand in a profile's own file, since nothing that has one can be extended: only files that hold the name of such a
    host are parsed, so that one service of a large tree is judged as fast as one of a small.
    """
    if not hosts:
        return ()
    try:
        names = inputs.reader.names()
    except OSError:
        return ()  # whoever checks the tree is told
    others = (each for each in names if each not in without and _may_name(each, hosts, inputs))
    return tuple(each for each in others if _may_have(each, hosts, inputs))


def _may_name(name: str, hosts: frozenset[str], inputs: Inputs) -> bool:
    """Whether a host's name stands in the file, or may: TOML lets a key be written with escapes."""
    try:
        text = b"" if name_fault(name) else inputs.reader.read(name) or b""
    except OSError:
        return False  # whoever checks the tree is told
    return b"\\u" in text or b"\\U" in text or any(each.encode() in text for each in hosts)


def _may_have(name: str, hosts: frozenset[str], inputs: Inputs) -> bool:
    document, _ = load_once(inputs.reader, name, inputs.documents)
    return document is None or not hosts.isdisjoint(document.directives.targets)


def _targets(name: str, inputs: Inputs) -> frozenset[str]:
    document, _ = load_once(inputs.reader, name, inputs.documents)
    return frozenset() if document is None else document.directives.targets
