"""What there is to offer to a shell that completes a word: names of this tree, ids of the catalogue, units of this host, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from compiler.catalog import Catalog, Kind
from compiler.cli.session import catalogue_here, find_tree
from compiler.language.load import DiskReader, file_of
from compiler.workspace import OUT


_Asked = tuple[click.Context, click.Parameter, str]
_FILE, _FOLDER = "file", "dir"
"""How a shell is told to offer its own."""


def offers_of(
    name: str, context: click.Context, option: click.Parameter, incomplete: str
) -> list[str] | list[CompletionItem]:
    """What begins as the word does; nothing, and no word on stderr, where a tree, a host, or an entry cannot be read."""
    try:
        names, instead = _OFFERS[name]((context, option, incomplete))
        found = [each for each in dict.fromkeys(names) if _begins(each, incomplete)]
    except Exception:  # noqa: BLE001 - what stands in the way is said by the verb itself, not amid a line that is typed
        return []
    return found or ([CompletionItem(incomplete, type=instead)] if instead is not None else [])


def _begins(name: str, incomplete: str) -> bool:
    """Ids are known by their letters, whatever their case."""
    return name.lower().startswith(incomplete.lower())


_Found = tuple[Iterable[str], str | None]
"""Names, and of which of the shell's own things there may be one where none of them begins so."""


def _profiles(_: _Asked) -> _Found:
    """The profiles of the tree we stand in, as names and as paths."""
    names = _names()
    return (*names, *map(file_of, names)), None


def _files(asked: _Asked) -> _Found:
    """The profiles, or files: a recorded boot, a folder to compare with."""
    return _profiles(asked)[0], _FILE


def _launches(_: _Asked) -> _Found:
    """What runs already, or a command: files."""
    return (), _FILE


def _folders(_: _Asked) -> _Found:
    return (), _FOLDER


def _names() -> tuple[str, ...]:
    workspace = find_tree(()).workspace
    return () if workspace is None else tuple(DiskReader(workspace.profiles_folder).names())


def _keys(asked: _Asked) -> _Found:
    """A profile or a file first, then its settings, by the names that it has."""
    words = _words(asked)
    if not words:
        return _files(asked)
    from compiler.cli.session import open_session  # noqa: PLC0415 - of one verb
    from compiler.cli.whykey import real_keys  # noqa: PLC0415 - as above
    from compiler.inputs import resolve  # noqa: PLC0415 - as above

    session, _ = open_session(words[:1])
    if session is None or not session.names:
        return real_keys(None), None
    return real_keys(resolve(session.names[0], session.inputs)[0]), None


def _codes(_: _Asked) -> _Found:
    """The codes that have a page."""
    from compiler.explain import codes  # noqa: PLC0415 - of one verb

    return codes(), None


def _hosts(_: _Asked) -> _Found:
    """The targets that profiles name; of one that cannot be read none."""
    from compiler.language.load import load_document  # noqa: PLC0415 - of two verbs

    workspace = find_tree(()).workspace
    if workspace is None:
        return (), None
    reader = DiskReader(workspace.profiles_folder)
    documents = (load_document(reader, name)[0] for name in reader.names())
    return sorted({name for each in documents if each for name in each.directives.targets}), None


def _plans(_: _Asked) -> _Found:
    """The profiles that were compiled."""
    workspace = find_tree(()).workspace
    return () if workspace is None else tuple(
        plan.parent.relative_to(workspace.out).as_posix() for plan in _written(workspace.out)
    ), None


def _written(out: Path) -> list[Path]:
    from compiler.writtenplan import PLAN  # noqa: PLC0415 - of three verbs

    return sorted(out.rglob(PLAN))


def _gpus(asked: _Asked) -> _Found:
    from compiler.memory.cards import CUSTOM  # noqa: PLC0415 - of the catalogue only

    context, _, _ = asked
    own = (CUSTOM,) if context.command.name == "predict" else ()
    return (*catalogue_here().ids(Kind.GPU), *own), None


def _models(_: _Asked) -> _Found:
    return catalogue_here().ids(Kind.MODEL), None


def _engines(_: _Asked) -> _Found:
    return catalogue_here().engines(), None


def _versions(asked: _Asked) -> _Found:
    """The numbers of releases, of the engine that is named beside."""
    context, _, _ = asked
    catalog, engine = catalogue_here(), context.params.get("engine")
    return _of(catalog, engine if isinstance(engine, str) else None), None


def _releases(_: _Asked) -> _Found:
    """`VERSION` of the default engine, or `NAME@VERSION`."""
    catalog = catalogue_here()
    return (*_of(catalog, None), *_named(catalog)), None


def _of(catalog: Catalog, engine: str | None) -> tuple[str, ...]:
    """The releases of an engine, the newest first."""
    from compiler.engines import DEFAULT  # noqa: PLC0415 - of releases only

    return tuple(reversed(catalog.versions(engine or DEFAULT)))


def _named(catalog: Catalog) -> Iterator[str]:
    for engine in catalog.engines():
        yield from (f"{engine}@{version}" for version in _of(catalog, engine))


def _entries(asked: _Asked) -> _Found:
    """A kind first or an id; behind a kind its ids, behind `NAME@`, which bash takes for two words, its releases."""
    words, catalog = _words(asked), catalogue_here()
    by_kind: dict[str, Callable[[], Iterable[str]]] = {
        "gpus": lambda: catalog.ids(Kind.GPU),
        "models": lambda: catalog.ids(Kind.MODEL),
        "drafts": lambda: catalog.ids(Kind.DRAFT),
        "engines": lambda: (
            *_named(catalog),
            *(build for engine in catalog.engines() for build in catalog.builds(engine)),
        ),
        "boots": lambda: (
            *(boot.name for boot in catalog.boots()[0]),
            *(
                boot.name
                for model in catalog.public_models()
                for boot in catalog.public_boots(model)
            ),
        ),
    }
    if words and words[-1] == "@":
        return _of(catalog, words[-2] if len(words) > 1 else None), None
    if words:
        return (by_kind[words[-1]]() if words[-1] in by_kind else ()), None
    return (*by_kind, *(id_ for ids in by_kind.values() for id_ in ids())), None


def _fields(asked: _Asked) -> _Found:
    """The fields of a boot, each with the values that are known of it."""
    from compiler.host.measuring import SETTABLE  # noqa: PLC0415 - of one verb

    name, equals, _ = asked[2].partition("=")
    kind = {"gpu": Kind.GPU, "model": Kind.MODEL, "draft": Kind.DRAFT}.get(name)
    if not equals:
        return (f"{each}=" for each in sorted(SETTABLE)), None
    ids = () if kind is None else catalogue_here().ids(kind)
    return (f"{name}={each}" for each in ids), None


def _revisions(asked: _Asked) -> _Found:
    """Branches and tags, profiles, or a folder."""
    from compiler.diff.git import branches_and_tags  # noqa: PLC0415 - of one verb

    workspace = find_tree(()).workspace
    known = () if workspace is None else branches_and_tags(workspace.root)
    return (*_profiles(asked)[0], *known), _FILE


def _targets(asked: _Asked) -> _Found:
    """What was compiled, as `OUT/PROFILE/TARGET` from here or below `--out`; or a folder."""
    context, _, _ = asked
    below, workspace = context.params.get("out"), find_tree(()).workspace
    if below is not None:
        out, shown = Path(str(below)), ""
    elif Path(OUT).is_dir() or workspace is None:
        out, shown = Path(OUT), f"{OUT}/"
    else:
        out, shown = workspace.out, f"{os.path.relpath(workspace.out)}/"
    return (
        f"{shown}{target.relative_to(out).as_posix()}"
        for plan in _written(out)
        for target in sorted(plan.parent.iterdir())
        if target.is_dir()
    ), _FOLDER


def _units(asked: _Asked) -> _Found:
    """The units of this host, or of the image, that a switch made; or the folder of their generations."""
    from compiler.host.finding import find_units  # noqa: PLC0415 - of the host's verbs

    context, option, incomplete = asked
    root = Path(str(context.params.get("root") or "/"))
    may_be_folder = isinstance(option, click.Argument) and incomplete.startswith("/")
    return (each.unit for each in find_units(root)), _FOLDER if may_be_folder else None


def _numbers(asked: _Asked) -> _Found:
    """A unit first, then the numbers of its generations."""
    words = _words(asked)
    if not words:
        return _units(asked)
    from compiler.host.finding import stores_of  # noqa: PLC0415 - of the host's verbs

    stores, _ = stores_of(Path(str(asked[0].params.get("root") or "/")), words[0])
    return (str(number) for store in stores for number in store.generations), None


def _words(asked: _Asked) -> tuple[str, ...]:
    """The words of an argument that stand already."""
    context, option, _ = asked
    given = context.params.get(option.name or "") or ()
    return (given,) if isinstance(given, str) else tuple(map(str, given))


_OFFERS: Mapping[str, Callable[[_Asked], _Found]] = {
    "codes": _codes,
    "engines": _engines,
    "entries": _entries,
    "fields": _fields,
    "files": _files,
    "folders": _folders,
    "gpus": _gpus,
    "hosts": _hosts,
    "keys": _keys,
    "launches": _launches,
    "models": _models,
    "numbers": _numbers,
    "plans": _plans,
    "profiles": _profiles,
    "releases": _releases,
    "revisions": _revisions,
    "targets": _targets,
    "units": _units,
    "versions": _versions,
}
