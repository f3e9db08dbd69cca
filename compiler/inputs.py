"""What the line reads from, and its first steps: a profile's name goes in, its settings come out, linked and merged."""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableMapping
from functools import cache

from attrs import evolve, field, frozen

from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic
from compiler.language.graph import link
from compiler.language.load import Loaded, Reader
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
