"""`poolproof init`: a first tree for a team, or one more service for it, judged before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import click
from attrs import evolve

from compiler.checks.spelling import part_fault
from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import engine_release, show, write_lines
from compiler.cli.startatroot import (
    OPTION,
    Repository,
    asked_repository,
    files_for,
    in_the_way,
    write_at_root,
)
from compiler.cli.startengine import by_its_fragment, version_in
from compiler.cli.startplace import Place, disputes, place_of
from compiler.cli.startsettled import settled
from compiler.cli.startwanted import HOST, SHORT_NAME, wanted_of
from compiler.cli.startwriting import write_service
from compiler.diagnostics import Diagnostic, listed, printable
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.language.load import NO_PROFILES, file_of, name_fault, name_of
from compiler.profile import AUTO, KvDtype
from compiler.quoting.encoders import PATH_BYTES
from compiler.report.verdicts import verdict_lines
from compiler.starter import FirstService, fragments, profile_files
from compiler.workspace import PROFILES


KV_DTYPES = tuple(each for each in get_args(KvDtype) if each != AUTO)


def _host(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not HOST.fullmatch(value):
        raise click.BadParameter(SHORT_NAME, param=option)
    fault = part_fault(value or "")
    if fault is not None:
        raise click.BadParameter(f"`{value}` {fault}", param=option)
    return value


def _profile(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """The name, or the path below `profiles/` that it has as a file."""
    if value is None:
        return None
    name = name_of(value)
    fault = name_fault(name) or _unlisted(name) or _unwritable(name)
    if fault is not None:
        raise click.BadParameter(f"`{printable(value)}` {fault}", param=option)
    return name


def _unlisted(name: str) -> str | None:
    """Why a file of that name would be none of the tree's profiles, as the end of a sentence."""
    first, *below = name.split("/")
    if below and first in NO_PROFILES:
        return f"lies in `{PROFILES}/{first}`, which holds facts, no profiles"
    if any(each.startswith(".") for each in (first, *below)):
        return "has a part that begins with a dot: hidden files are no profiles"
    return None


def _unwritable(name: str) -> str | None:
    """Why no file can have that name, as the end of a sentence: below `profiles/` with its suffix, and below `out/`."""
    file = file_of(name)
    if len(file.encode()) > PATH_BYTES:
        return f"is too long: a path holds {PATH_BYTES:,} bytes at most"
    return next(filter(None, map(part_fault, file.split("/"))), None)


def _release(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, str | None]:
    given = engine_release(context, option, value)
    if given is None:
        return DEFAULT, None
    if given[0] not in ENGINES:
        known = listed([f"`{each}`" for each in ENGINES])
        raise click.BadParameter(
            f"expected a release of {known}: `0.5.11`, or `{DEFAULT}@0.5.11`", param=option
        )
    return given


def _named(_context: click.Context, _argument: click.Parameter, folder: str) -> Path:
    """An empty word, such as that of a variable nobody set, does not mean the folder we stand in."""
    if not folder:
        raise click.BadParameter("the name is empty")
    return Path(folder)


@click.command(name="init")
@click.argument("folder", type=click.Path(file_okay=False), default=".", callback=_named)
@click.option("--model", shell_complete=completing.models, help="Its id, such as `Qwen/Qwen3-32B`.")
@click.option(
    "--gpu",
    metavar="KIND",
    shell_complete=completing.gpus,
    help="A kind of GPU: see `poolproof catalog list gpus`.",
)
@click.option("--count", type=click.IntRange(min=1), help="GPUs of one host.")
@click.option("--host", callback=_host, shell_complete=completing.hosts, help="The host's name.")
@click.option(
    "--name",
    callback=_profile,
    show_default="MODEL-HOST",
    help="The new profile's name.",
)
@click.option("--context", type=click.IntRange(min=16), help="Tokens that one request may have.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Such requests at once that are promised.",
)
@click.option(
    "--engine",
    "release",
    callback=_release,
    shell_complete=completing.releases,
    metavar="[NAME@]VERSION",
    help=f"The engine's release, such as `0.5.11` or `{DEFAULT}@0.5.11`; else the newest that is described.",
)
@click.option(
    "--kv-dtype",
    type=click.Choice(KV_DTYPES),
    help="The number format of the KV cache; else the model's own.",
)
@click.option(
    "--model-path",
    metavar="DIR",
    shell_complete=completing.folders,
    help="Where its files are on the host.",
)
@click.option(
    "--python",
    shell_complete=completing.launches,
    show_default="/opt/ENGINE/bin/python",
    help="The engine's interpreter on the host.",
)
@click.option("--user", show_default="the engine's name", help="The account that runs it.")
@click.option(
    OPTION,
    "at_root",
    is_flag=True,
    help="In a repository that holds more: put the workflow and the hooks at its root, where they are read. For a tree that stands, alone.",
)
def command(folder: Path, *, at_root: bool, **given: Any) -> int:  # noqa: ANN401 - click's own
    """Write a starter tree to FOLDER, or add a service to the tree that is there.

    A new tree has profiles, a workflow, hooks, and attributes for git. To one that stands, the new service's profile is
    added, and those fragments that it lacks: its others are used as they are. On a host that has services already the new
    one gets a port and GPUs of its own, and is judged beside them.

    Where the promise does not fit as asked, fewer running requests and, for latent attention, data parallel attention are
    tried before it is refused; what is chosen is said, and why.

    What no option says is asked for on a terminal. Nothing that is there is written over.
    """
    place = place_of(folder)
    if folder != Path() and place.folder != folder:
        click.echo(
            f"`{folder}` is a place for profiles: the tree is the folder above, `{place.folder}`",
            err=True,
        )
    faults = place.faults()
    if faults:
        show(faults)
        click.echo("nothing was written", err=True)
        return Exit.REFUSED
    if at_root and place.stands:
        return write_at_root(place.folder, given)
    repository = asked_repository(place.folder) if at_root else None
    wanted = wanted_of(given, place.catalog, version=version_in(place, given["release"][0]))
    wanted = by_its_fragment(place, wanted)
    taken = tuple(_in_the_way(place, wanted, given, repository))
    if taken:
        click.echo("\n".join(("nothing was written:", *(f"  {each}" for each in taken))), err=True)
        return Exit.REFUSED
    done = settled(place, wanted)
    if done.checked.refused:
        from compiler.cli.startrefused import refuse  # noqa: PLC0415 - a tree that passes does without it

        return refuse(place, wanted, done)
    show(_without_more(done.checked.all_diagnostics), done.session)
    write_lines(verdict_lines(done.checked.judged))
    return write_service(done.place, done.wanted, repository)


def _in_the_way(
    place: Place, wanted: FirstService, given: Mapping[str, Any], repository: Repository | None
) -> Iterator[str]:
    """The files that keep anything from being written, each with what to do."""
    for name in profile_files(wanted):
        fault = _unwritable(name)
        if fault is not None:
            advice = ": give a `--name`" if name == wanted.profile else ""
            yield f"`{file_of(name)}` {fault}{advice}"
            return
    if wanted.profile in fragments(wanted).all:
        yield f"`{file_of(wanted.profile)}` is for what services share: give another `--name`"
    if not place.stands:
        yield from in_the_way(files_for(place.folder, repository), repository)
        return
    if place.has(wanted.profile):
        yield f"`{file_of(wanted.profile)}` is there already: edit it, or give another `--name`"
    yield from disputes(place, wanted, given)


def _without_more(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings without what to ask next, which needs a tree that is there."""
    return tuple(
        evolve(each, help=tuple(line for line in each.help if not line.startswith("for more: ")))
        for each in found
    )
