"""A version that names no release, such as `0.5` or `latest`: the releases that it may stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic


_SETTING = "engine.version"
ALL = "`poolproof catalog list engines` lists the releases that are described"


def with_releases(
    found: Sequence[Diagnostic], values: Mapping[str, Any], catalog: Catalog
) -> tuple[Diagnostic, ...]:
    """The findings about a profile's plain values, with the newest release where a version names none."""
    return tuple(
        evolve(each, help=tuple(_releases(values, catalog)))
        if each.path == _SETTING and each.code == "bad-value" and not each.help
        else each
        for each in found
    )


def _releases(values: Mapping[str, Any], catalog: Catalog) -> Iterator[str]:
    engine = values.get("engine")
    name, version = (
        engine.get(key) if isinstance(engine, Mapping) else None for key in ("name", "version")
    )
    known = catalog.versions(name) if isinstance(name, str) else ()
    series = version.removeprefix("v").rstrip(".*x") if isinstance(version, str) else ""
    below = [each for each in known if each.startswith(f"{series}.")]
    if below:
        yield f'set `{_SETTING} = "{below[-1]}"`, the newest {series}.x that is described, if that is what the host has'
    elif known:
        yield f'set `{_SETTING} = "{known[-1]}"`, the newest that is described, if that is what the host has'
    yield ALL
