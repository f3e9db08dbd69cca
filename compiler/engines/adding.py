"""A wheel or a source tree of an engine goes in; the catalogue file that describes it comes out, for a team to keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from compiler.catalog import Catalog
from compiler.catalog.overlay import Overlay, build_toml, new_choices, overlay
from compiler.catalog.series import write_table
from compiler.catalog.shelves import file_stem
from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines.sglang.extract import Extracted, extract
from compiler.facts import Build, Flag, Release
from compiler.near import near
from compiler.quantities import counted
from compiler.versions import version_key


Extractor = Callable[[Path], tuple[Extracted | None, tuple[Diagnostic, ...]]]


@frozen(kw_only=True)
class _Reading:
    """How an engine's flags are read, and the one whose choices are the speculation algorithms."""

    extract: Extractor
    algorithm: str


_READINGS: Mapping[str, _Reading] = {
    "sglang": _Reading(extract=extract, algorithm="--speculative-algorithm")
}

_CODE = "engine-unreadable"


@frozen(kw_only=True)
class AddedEngine:
    """A new file of the catalogue.

    Attributes:
        name: where it belongs below a team's `catalog` folder.
        summary: what it says, a sentence a line.
    """

    name: str
    text: str
    summary: tuple[str, ...]


def add_engine(
    path: Path,
    *,
    engine: str,
    catalog: Catalog,
    build: str | None = None,
    release: str | None = None,
) -> tuple[AddedEngine | None, tuple[Diagnostic, ...]]:
    """Describe a wheel or a source tree: a release by its table, a build by what it changes of its release.

    `release` says which release it is, or which one a build is made from, when it does not say so itself. Errors:
    `engine-unreadable`, and `catalogue-id` for a build that cannot be called so; nothing is to be written then.
    """
    refusal = _refusal(engine, build)
    if refusal is not None:
        return None, (refusal,)
    extracted, found = _READINGS[engine].extract(path)
    if extracted is None:
        return None, found
    version = release or extracted.version
    if version is None or version_key(version) is None:
        return None, (*found, _unnumbered(path, version))
    shown = path.name or str(path)
    if build is None:
        return _release_file(extracted, engine=engine, version=version, shown=shown), found
    base, faults = catalog.release(engine, version)
    if base is None:
        return None, (*found, *faults, _no_base(engine, version, catalog))
    found = (*found, *faults, *_other_base(base))
    return _build_file(extracted, base=base, build=build, shown=shown), found


def _refusal(engine: str, build: str | None) -> Diagnostic | None:
    """Why nothing is even looked at."""
    if engine not in _READINGS:
        known = ", ".join(f"`{each}`" for each in _READINGS)
        similar = near(engine, _READINGS)
        advice = (f"a similar name exists: `{similar}`",) if similar else ()
        summary = f"the flags of `{engine}` cannot be read here, only those of {known}"
        return error(_CODE, summary, help=advice)
    if build is not None and file_stem(build) is None:
        rule = "letters, digits, `.`, `_`, `+`, `-`, and `/` between them"
        return error("catalogue-id", f"`{build}` is no id: {rule}")
    return None


def _unnumbered(path: Path, version: str | None) -> Diagnostic:
    said = "does not say which release it is" if version is None else f"`{version}` is no release"
    advice = "say which release it is, or which one it is made from, with `--release`"
    return error(_CODE, f"`{path.name or path}`: {said}", help=(advice,))


def _no_base(engine: str, version: str, catalog: Catalog) -> Diagnostic:
    versions = catalog.versions(engine)
    notes = (f"the oldest release read is {versions[0]}",) if versions else ()
    return error(_CODE, f"there is no table of {engine} {version} to compare with", notes=notes)


def _other_base(base: Release) -> tuple[Diagnostic, ...]:
    if base.version.partition("+")[0] == base.read_version:
        return ()
    summary = f"{base.engine} {base.version} was not read; it is compared with {base.read_version}"
    note = "what came between the two counts as the build's"
    return (warning(_CODE, summary, notes=(note,)),)


def _release_file(extracted: Extracted, *, engine: str, version: str, shown: str) -> AddedEngine:
    flags = {flag.name: flag for flag in extracted.flags}
    text = write_table(flags, engine=engine, version=version, source=f"read from {shown}")
    summary = f"{counted(len(flags), 'flag')} of {engine} {version}"
    return AddedEngine(name=f"engines/{engine}/{version}.json", text=text, summary=(summary,))


def _build_file(extracted: Extracted, *, base: Release, build: str, shown: str) -> AddedEngine:
    flags = {flag.name: flag for flag in extracted.flags}
    changes = overlay(base.flags, flags)
    algorithms = new_choices(base.flags, changes, flag=_READINGS[base.engine].algorithm)
    described = Build(
        id=build,
        release=base.read_version,
        flags=changes.flags,
        removed=changes.removed,
        algorithms=tuple(each.lower() for each in algorithms),
        assumptions=(f"everything else is as in release {base.read_version}",),
        sources={"*": f"read from {shown}"},
    )
    return AddedEngine(
        name=f"engines/{base.engine}/builds/{file_stem(build)}.toml",
        text=build_toml(described, read_from=shown),
        summary=_summary(changes, base.flags),
    )


def _summary(changes: Overlay, base: Mapping[str, Flag]) -> tuple[str, ...]:
    """What a build changes, by name."""
    parts = {
        "adds": [flag.name for flag in changes.added],
        "takes more values for": [flag.name for flag in changes.widened],
        "changes": [flag.name for flag in changes.changed],
        "has no": list(changes.removed),
    }
    lines = tuple(
        f"{verb} {', '.join(f'`{name}`' for name in names)}"
        for verb, names in parts.items()
        if names
    )
    return lines or (f"has the same {len(base)} flags as the release",)
