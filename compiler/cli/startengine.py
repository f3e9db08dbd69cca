"""A tree that stands goes in; the fragments of its engine come out, by what they say and whatever they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from compiler.cli.startplace import Place
from compiler.inputs import Inputs, is_deployable, resolve
from compiler.language.load import DiskReader
from compiler.starter import FirstService, fragments
from compiler.versions import version_key
from compiler.workspace import PROFILES


def version_in(place: Place, engine: str) -> str | None:
    """The newest release that the tree has a fragment of, so that one more service is of the same."""
    known = {*_fragments(place, engine).values()} & {*place.catalog.versions(engine)}
    return max(known, key=lambda each: version_key(each) or ((), 0, 0), default=None)


def by_its_fragment(place: Place, wanted: FirstService) -> FirstService:
    """The same with the fragment that says its engine and release already, if there is one; the usual name comes first."""
    found = _fragments(place, wanted.engine)
    names = sorted(name for name, version in found.items() if version == wanted.version)
    usual = fragments(wanted).engine
    if not names or usual in names:
        return wanted
    return evolve(wanted, engine_fragment=names[0])


def _fragments(place: Place, engine: str) -> Mapping[str, str]:
    """The fragments that are about this engine and little else, each with its release."""
    if not place.stands:
        return {}
    reader = DiskReader(place.folder / PROFILES)
    inputs = Inputs(reader=reader, catalog=place.catalog)
    found: dict[str, str] = {}
    for name in reader.names():
        resolved, _ = resolve(name, inputs)
        if resolved is None or is_deployable(resolved) or _OTHERS & resolved.values.keys():
            continue
        told = dict(_told(resolved.values.get("engine")))
        # A build of one's own is for the services that name it.
        if told.get("name") == engine and "version" in told and "build" not in told:
            found[name] = str(told["version"])
    return found


_OTHERS = frozenset({"model", "gpus", "parallel", "targets"})
"""Tables of what has fragments of its own: one that says these, too, is of some services only."""


def _told(table: object) -> Iterator[tuple[str, Any]]:
    yield from table.items() if isinstance(table, Mapping) else ()
