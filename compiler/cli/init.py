"""`poolproof init`: a first tree for a team, or one more service for it, judged before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import click
from attrs import evolve

from compiler.catalog import Catalog
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
from compiler.cli.startlayout import eased, laid_out
from compiler.cli.startplace import Place, disputes, place_of, placed
from compiler.cli.startwanted import HOST, SHORT_NAME, wanted_of
from compiler.cli.startwriting import write_service
from compiler.diagnostics import Diagnostic, listed
from compiler.engines import DEFAULT
from compiler.engines.known import ENGINES
from compiler.judged import Checked
from compiler.language.load import file_of
from compiler.profile import AUTO, KvDtype
from compiler.report.verdicts import verdict_lines
from compiler.starter import FirstService


KV_DTYPES = tuple(each for each in get_args(KvDtype) if each != AUTO)


def _host(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not HOST.fullmatch(value):
        raise click.BadParameter(SHORT_NAME, param=option)
    return value


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
@click.option("--context", type=click.IntRange(min=16), help="Tokens that one request may have.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Such requests at once.",
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

    Where the promise does not fit as asked, fewer requests at once and, for latent attention, data parallel attention are
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
    place, wanted = placed(place, wanted)
    wanted = laid_out(place, wanted)
    checked, session = place.judged(wanted)
    if checked.refused:
        easier = eased(place, wanted)
        if easier is None:
            from compiler.cli.startrefused import refuse  # noqa: PLC0415 - a tree that passes does without it

            return refuse(wanted, checked, place, session)
        wanted = easier
        checked, session = place.judged(wanted)
    filled = _filled(wanted, checked, place.catalog)
    again, its_session = place.judged(filled)
    if not again.refused:
        checked, session, wanted = again, its_session, filled
    show(_without_more(checked.all_diagnostics), session)
    write_lines(verdict_lines(checked.judged))
    return write_service(place, wanted, repository)


def _in_the_way(
    place: Place, wanted: FirstService, given: Mapping[str, Any], repository: Repository | None
) -> Iterator[str]:
    """The files that keep anything from being written, each with what to do."""
    if not place.stands:
        yield from in_the_way(files_for(place.folder, repository), repository)
        return
    if place.has(wanted.profile):
        yield f"`{file_of(wanted.profile)}` is there already: edit it, or name another `--host`"
    yield from disputes(place, wanted, given)


def _filled(wanted: FirstService, checked: Checked, catalog: Catalog) -> FirstService:
    """The same with the fraction to begin with; the promise alone wants less, and would leave the rest of the GPU idle."""
    plan = checked.judged[0].plan
    if plan is None or plan.memory is None:
        return wanted
    from compiler.remedy.replanning import Replanner  # noqa: PLC0415 - only a tree that is written
    from compiler.remedy.trials import Trials  # noqa: PLC0415 - as above
    from compiler.remedy.usual import picked_fraction, usual_fraction  # noqa: PLC0415 - as above

    trials = Trials(replan=Replanner(plan=plan, catalog=catalog))
    usual = usual_fraction(plan, trials)
    shares = plan.gpu is not None and plan.gpu.unified
    return evolve(wanted, fraction=usual, picked=picked_fraction(plan, trials), shares=shares)


def _without_more(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings without what to ask next, which needs a tree that is there."""
    return tuple(
        evolve(each, help=tuple(line for line in each.help if not line.startswith("for more: ")))
        for each in found
    )
