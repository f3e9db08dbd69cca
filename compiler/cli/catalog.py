"""`poolproof catalog`: the facts, ours and a team's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import isfinite
from typing import get_args

import click

from compiler.catalog import Catalog, Kind
from compiler.catalog.entries import read_entry
from compiler.catalog.gpunames import gpu_id
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile, file_stem
from compiler.catalog.writing import gpu_toml
from compiler.cli import completing
from compiler.cli.adding import add_engine, add_model, write_entry
from compiler.cli.exits import Exit
from compiler.cli.session import catalogue_here, find_tree, show
from compiler.diagnostics import Diagnostic, error, listed
from compiler.facts import Gpu, Interconnect
from compiler.language.syntax import parse_toml
from compiler.near import near
from compiler.ranges import Range
from compiler.source import Source


_ENGINES, _BOOTS, _MODELS = "engines", "boots", "models"
KINDS = {"gpus": Kind.GPU, _MODELS: Kind.MODEL, "drafts": Kind.DRAFT}
ALL_KINDS = (*KINDS, _ENGINES, _BOOTS)
"""As the command line has them."""


@click.group(name="catalog")
def command() -> None:
    """List, show and add what is known about GPUs, models, drafts and engines."""


@command.command(name="list")
@click.argument("kind", required=False, type=click.Choice(ALL_KINDS))
def list_entries(kind: str | None) -> int:
    """List the catalogue's entries, or those of one KIND."""
    catalog = catalogue_here()
    wanted = [kind] if kind else ALL_KINDS
    for each in wanted:
        sys.stdout.writelines(f"{each:<8} {line}\n" for line in _lines(catalog, each))
    return Exit.OK


def _lines(catalog: Catalog, kind: str) -> Iterator[str]:
    if kind == _ENGINES:
        for engine in catalog.engines():
            yield from (f"{engine}@{version}" for version in catalog.versions(engine))
            yield from (f"{engine} build {build}" for build in catalog.builds(engine))
    elif kind == _BOOTS:
        own = catalog.boots()[0]
        public = (boot for model in catalog.public_models() for boot in catalog.public_boots(model))
        yield from (
            f"{boot.name}  pool {boot.pool_tokens:,} at {boot.fraction:g}: {boot.model} on {boot.gpu_count} {boot.gpu}"
            for boot in (*own, *public)
        )
    else:
        yield from (f"{id_}{_own(catalog, KINDS[kind], id_)}" for id_ in catalog.ids(KINDS[kind]))


def _own(catalog: Catalog, kind: Kind, id_: str) -> str:
    file = catalog.entry_file(kind, id_)
    return "" if file is None or file.shipped else "  (this tree's own)"


@command.command(name="show")
@click.argument(
    "words", nargs=-1, required=True, metavar="[KIND] ID", shell_complete=completing.entries
)
def show_entry(words: tuple[str, ...]) -> int:
    """Print one entry with its sources, as its file has it; for `sglang@0.5.23` the flags of that release.

    A KIND before the ID, as `list` takes it, looks among entries of that kind only.
    """
    *kinds, id_ = words
    if len(kinds) > 1 or not set(kinds) <= set(ALL_KINDS):
        raise click.UsageError(
            f"expected one ID, with one of {', '.join(ALL_KINDS)} before it at most"
        )
    kind = kinds[0] if kinds else None
    catalog = catalogue_here()
    engine, _, version = id_.partition("@")
    if kind in {None, _ENGINES} and version in catalog.versions(engine):
        sys.stdout.writelines(f"{line}\n" for line in _flags(catalog, engine, version))
        return Exit.OK
    for file in _files(catalog, id_, kind):
        if file is not None:
            sys.stdout.write(_shown(catalog, id_, file))
            return Exit.OK
    like = _like(catalog, id_)
    if kind in {None, _MODELS} and like is not None:
        sys.stdout.write(like)
        return Exit.OK
    if kind is None and id_ in ALL_KINDS:
        click.echo(
            f"`{id_}` is a kind of entry; `poolproof catalog list {id_}` has their ids", err=True
        )
        return Exit.REFUSED
    among = "" if kind is None else f" among its {kind}"
    elsewhere = kind is not None and (like is not None or any(_files(catalog, id_, None)))
    instead = "; it is of another kind" if elsewhere else _instead(catalog, id_)
    click.echo(f"the catalogue has no `{id_}`{among}{instead}", err=True)
    return Exit.REFUSED


def _shown(catalog: Catalog, id_: str, file: EntryFile) -> str:
    """An entry as it stands, whose it is, and what is known beside it."""
    whose = "shipped with poolproof" if file.shipped else "this tree's own"
    text = file.data.decode(errors="replace")
    code = _code(catalog, id_, Source(file.shown, text))
    return f"# {file.shown} ({whose})\n\n{text}{code}"


def _like(catalog: Catalog, id_: str) -> str | None:
    """The entry of which a model without one of its own has the figures, and what is otherwise; `None` where there is none."""
    model, _ = catalog.model(id_)
    file = catalog.entry_file(Kind.MODEL, model.like) if model is not None and model.like else None
    if model is None or file is None:
        return None
    formats = model.sources.get("quantization", "")
    by = f"# its number formats: {formats}\n" if formats else ""
    return f"# {model.likeness}\n{by}{_shown(catalog, model.like, file)}"


def _files(catalog: Catalog, id_: str, kind: str | None) -> Iterator[EntryFile | None]:
    """The files that may hold an entry, of one kind or of any."""
    for name, each in KINDS.items():
        if kind in {None, name}:
            yield catalog.entry_file(each, gpu_id(id_, catalog) if each is Kind.GPU else id_)
    if kind in {None, _ENGINES}:
        yield from (catalog.build_file(engine, id_) for engine in catalog.engines())
    if kind in {None, _BOOTS}:
        yield catalog.boot_file(id_)


def _code(catalog: Catalog, id_: str, entry: Source) -> str:
    """What is known of a model's code beside its entry."""
    model, _ = catalog.model(id_)
    if model is None or not model.custom_code or "custom_code" in (parse_toml(entry)[0] or {}):
        return ""
    return f"\n# As code, which runs only with `model.trust_remote_code`: {model.custom_code}; {model.sources['custom_code']}\n"


_MOST_HELD = 8
"""Ids that a hint lists."""


def _instead(catalog: Catalog, id_: str) -> str:
    """What may have been meant: a similar id, or those that hold the word."""
    releases = [
        f"{engine}@{version}"
        for engine in catalog.engines()
        for version in reversed(catalog.versions(engine))
    ]
    builds = [build for engine in catalog.engines() for build in catalog.builds(engine)]
    known = [*(id_ for kind in KINDS.values() for id_ in catalog.ids(kind)), *releases, *builds]
    like = catalog.near(Kind.MODEL, id_)
    similar = like if like is not None and like not in known else near(id_, known)
    word = id_.lower()
    held = [each for each in known if word in each.lower()] if word else []
    held.sort(key=lambda each: not each.lower().startswith(word))
    if similar is not None and len(held) <= 1:
        return f"; a similar id exists: `{similar}`"
    if not held:
        return "; `poolproof catalog list` has all"
    return f"; these hold the word: {listed([f'`{each}`' for each in held], most=_MOST_HELD)}"


def _flags(catalog: Catalog, engine: str, version: str) -> Iterator[str]:
    release, _ = catalog.release(engine, version)
    for name, flag in sorted(release.flags.items()) if release is not None else ():
        takes = "|".join(flag.choices) or flag.takes or ""
        default = "" if flag.default in (None, ()) else f"default {flag.default}"
        words = (name, *flag.aliases, takes, flag.nargs or "", default, flag.deprecated or "")
        yield "  ".join(each for each in words if each)


def _finite(
    context: click.Context, option: click.Parameter, several: tuple[float, ...]
) -> tuple[float, ...]:
    if not all(isfinite(each) for each in several):
        raise click.BadParameter("expected a number of GiB", ctx=context, param=option)
    return several


@command.command(name="add-gpu")
@click.argument("id_", metavar="ID")
@click.option(
    "--name", "names", multiple=True, required=True, help="Name the driver prints; may be repeated."
)
@click.option(
    "--total-mib",
    type=click.IntRange(min=1),
    required=True,
    help="memory.total of nvidia-smi, MiB.",
)
@click.option(
    "--compute-capability", required=True, metavar="X.Y", help="compute_cap of nvidia-smi."
)
@click.option(
    "--multiprocessors",
    type=click.IntRange(min=1),
    required=True,
    help="Streaming multiprocessors.",
)
@click.option("--interconnect", type=click.Choice(get_args(Interconnect)), required=True)
@click.option(
    "--free-before",
    type=float,
    callback=_finite,
    multiple=True,
    metavar="GIB",
    help="Free memory before weights load, as a log printed it; repeat it for several logs.",
)
@click.option("--source", required=True, help="Where the figures are from: an address, or a log.")
def add_gpu(  # noqa: PLR0913 - click hands over each option
    id_: str,
    *,
    names: tuple[str, ...],
    total_mib: int,
    compute_capability: str,
    multiprocessors: int,
    interconnect: Interconnect,
    free_before: tuple[float, ...],
    source: str,
) -> int:
    """Describe a GPU of your own, beside your profiles."""
    found = find_tree(())
    if found.workspace is None:
        return _refuse(found.diagnostics)
    if file_stem(id_) != id_ or "+" in id_:  # a model's id may have these, and a GPU's is a name
        return _refuse((_bad_id(id_),))
    free = sorted(free_before)
    if free and free[-1] * 1024 > total_mib:
        raise click.UsageError(
            f"{free[-1]:g} GiB free is more than the {total_mib} MiB of the card"
        )
    if not free:
        click.echo(
            "without --free-before no profile's pool is told but from a recorded boot, and `predict` assumes what other cards leave free of such a total",
            err=True,
        )
    gpu = Gpu(
        id=id_,
        names=names,
        total_mib=total_mib,
        free_before_load_gib=Range(free[0], free[len(free) // 2], free[-1]) if free else None,
        compute_capability=compute_capability,
        multiprocessors=multiprocessors,
        interconnect=interconnect,
        sources={"*": source},
    )
    path = found.workspace.profiles / "catalog" / "gpus" / f"{id_}.toml"
    text = gpu_toml(gpu)
    entry = EntryFile(data=text.encode(), shown=path.name, shipped=False)
    given = {"shipped": False}
    _, faults = read_entry(entry, Gpu, id_=id_, given=given, code=CATALOGUE_INVALID)
    return _refuse(faults) if faults else write_entry(path, text, of=(Kind.GPU, id_))


def _refuse(faults: tuple[Diagnostic, ...]) -> int:
    show(faults)
    return Exit.REFUSED


def _bad_id(id_: str) -> Diagnostic:
    return error(
        "catalogue-id",
        f"`{id_}` is no id of a GPU: letters, digits, `.`, `_`, and `-`, with a letter or a digit first",
    )


command.add_command(add_engine)
command.add_command(add_model)
