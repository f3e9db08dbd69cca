"""`poolproof adopt`: a profile from what somebody runs already, or what is wrong with that."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve

from compiler.cli import completing
from compiler.cli.adoptedtext import changes_of, secrets_of, show_changes, show_findings
from compiler.cli.behinddashes import TakesFileOrCommand
from compiler.cli.exits import Exit
from compiler.cli.hiding import print_json
from compiler.cli.namedfiles import text_beside
from compiler.cli.newfile import write_new
from compiler.cli.session import engine_release, find_tree, write_lines
from compiler.cli.wholefile import file_or_stdout
from compiler.diagnostics import Diagnostic


if TYPE_CHECKING:
    from compiler.adopt.adopted import Adopted
    from compiler.adopt.around import Wanted
    from compiler.adopt.reading import Read
    from compiler.catalog import Catalog
    from compiler.inputs import Inputs
    from compiler.judged import Judged


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _variables(
    _: click.Context, option: click.Parameter, value: Sequence[str]
) -> Mapping[str, str]:
    pairs = [each.partition("=") for each in value]
    if any(
        not (equals and (_NAME.fullmatch(name) or name.isdecimal())) for name, equals, _ in pairs
    ):
        raise click.BadParameter("expected a variable and its value: `MODEL=/srv/m`", param=option)
    return {name: text for name, _, text in pairs}


@click.command(name="adopt", cls=TakesFileOrCommand)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=file_or_stdout,
    metavar="PROFILE",
)
@click.option("--overwrite", is_flag=True, help="Write over a PROFILE that is there.")
@click.option("--check", "check_only", is_flag=True, help="Judge the launch, and write nothing.")
@click.option(
    "--engine",
    callback=engine_release,
    metavar="[NAME@]VERSION",
    shell_complete=completing.releases,
    help="The release it runs on.",
)
@click.option(
    "--gpu", metavar="KIND", shell_complete=completing.gpus, help="GPU id of the catalogue."
)
@click.option("--count", type=click.IntRange(min=1), help="GPUs of the server.")
@click.option(
    "--target", metavar="NAME", shell_complete=completing.hosts, help="The host it runs on."
)
@click.option(
    "--line",
    type=click.IntRange(min=1),
    help="A line of the launch, or of what it stands in, where a file holds several.",
)
@click.option(
    "--var",
    "given",
    callback=_variables,
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable that the launch leaves open.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="FILE | - | -- COMMAND...",
    shell_complete=completing.launches,
)
def command(  # noqa: PLR0913 - click hands over each option
    words: tuple[str, ...],
    *,
    output: Path | None,
    overwrite: bool,
    check_only: bool,
    engine: tuple[str, str] | None,
    gpu: str | None,
    count: int | None,
    target: str | None,
    line: int | None,
    given: Mapping[str, str],
    as_json: bool,
) -> int:
    """Turn what runs already into a profile that is compiled to the same.

    FILE is a systemd unit, a script, a compose file, a quadlet, a manifest of a cluster, a playbook, a Dockerfile, a
    Makefile, a justfile, a configuration of supervisord, a program in Python or a notebook (neither is run), or a page
    with such a thing in it. The profile goes to stdout, or to PROFILE. What could not be carried is listed, each with
    its place.
    """
    from compiler.adopt.around import Wanted  # noqa: PLC0415 - only this verb
    from compiler.cli.launchfiles import read_launch  # noqa: PLC0415 - as above

    read = read_launch(words, given=given, line=line)
    wanted = Wanted(gpu=gpu, count=count, engine=engine, target=target, newest=check_only)
    if check_only:
        return _check(read, wanted, as_json=as_json)
    return _write(read, wanted, output=output, overwrite=overwrite, as_json=as_json)


def _check(read: Read, wanted: Wanted, *, as_json: bool) -> int:
    """Judge a launch as `check` judges a profile."""
    from compiler.adopt.around import known_name  # noqa: PLC0415 - only this verb
    from compiler.adopt.diffusion import is_diffusion  # noqa: PLC0415 - as above
    from compiler.adopt.judging import entry_file, has_gpu, is_guess, known_findings, of_launch  # noqa: PLC0415 - as above
    from compiler.adopt.leftopen import doubted  # noqa: PLC0415 - as above
    from compiler.adopt.reach import unreached  # noqa: PLC0415 - as above
    from compiler.adopt.showing import flags_of_settings, origins, secret_findings  # noqa: PLC0415 - as above
    from compiler.catalog.naming import model_names  # noqa: PLC0415 - as above
    from compiler.checks.outside import ABOUT_PROFILES  # noqa: PLC0415 - as above
    from compiler.engines.adopting import ChangeKind  # noqa: PLC0415 - as above
    from compiler.judged import Checked  # noqa: PLC0415 - as above
    from compiler.pipeline import judge_profile  # noqa: PLC0415 - as above

    inputs = _inputs()
    adopted, faults = _adopt(read, wanted, inputs.catalog)
    top = (*read.diagnostics, *read.findings, *faults)
    judged: tuple[Judged, ...] = ()
    if adopted is not None:
        top = (*top, *known_findings(read, adopted), *secret_findings(adopted), *unreached(adopted))
        is_judged = not (is_guess(read, adopted) or is_diffusion(adopted.launch))
        if adopted.profile is not None and is_judged:
            name = entry_file(adopted)
            profile = known_name(adopted.profile, names=model_names(inputs.catalog))
            several = judge_profile(
                name, profile, origins(adopted), inputs, left_out=ABOUT_PROFILES
            )
            flags = flags_of_settings(adopted)
            judged = tuple(
                doubted(of_launch(each, adopted, flags=flags), adopted) for each in several
            )
    checked = Checked(judged=judged, diagnostics=top)
    if as_json:
        from compiler.report.contract import adopt_json  # noqa: PLC0415 - what only some runs need

        told = adopt_json(checked.diagnostics, judged=judged, changes=changes_of(adopted))
        print_json(told, hidden=secrets_of(read, adopted))
    else:
        from compiler.report.verdicts import verdict_lines  # noqa: PLC0415 - as above

        show_findings(checked.all_diagnostics, read, adopted)
        # These matter to who writes a profile; of secrets a finding tells.
        show_changes(adopted, left_out=frozenset({ChangeKind.DROPPED, ChangeKind.SECRET}))
        if adopted is not None and not has_gpu(adopted):
            sys.stderr.write(
                "memory is judged with `--gpu KIND`; `poolproof catalog list` has the kinds\n"
            )
        write_lines(verdict_lines(judged, beside=top))
    return Exit.REFUSED if checked.refused else Exit.OK


def _write(
    read: Read, wanted: Wanted, *, output: Path | None, overwrite: bool, as_json: bool
) -> int:
    """Write the profile of a launch, once it is proved to be compiled to the same."""
    from compiler.adopt.judging import known_findings  # noqa: PLC0415 - only this verb

    inputs = _inputs()
    adopted, faults = _adopt(read, wanted, inputs.catalog)
    found = (*read.diagnostics, *faults, *known_findings(read, adopted))
    text: str | None = None
    if adopted is not None and not any(each.is_error for each in found):
        from compiler.adopt.proof import prove  # noqa: PLC0415 - only this verb
        from compiler.adopt.writing import adopted_toml  # noqa: PLC0415 - as above

        found = (*found, *prove(adopted_toml(adopted, whole=True), adopted, inputs.catalog))
        adopted = _with_open(adopted, inputs.catalog)
        text = adopted_toml(adopted)
    refused = any(each.is_error for each in found)
    if as_json:
        from compiler.report.contract import adopt_json  # noqa: PLC0415 - what only some runs need

        told = None if refused else text
        print_json(
            adopt_json(found, judged=(), changes=changes_of(adopted), profile=told),
            hidden=secrets_of(read, adopted),
        )
    else:
        show_findings(found, read, adopted)
        show_changes(adopted)
    if refused or text is None:
        return Exit.REFUSED
    if output is None:
        if not as_json:
            sys.stdout.write(text)
        return Exit.OK
    return _write_file(output, text, overwrite=overwrite, then=_next(output, adopted))


def _with_open(adopted: Adopted, catalog: Catalog) -> Adopted:
    """The launch with what is left to say before its profile is compiled."""
    from compiler.adopt.compiling import left_to_say  # noqa: PLC0415 - only this verb
    from compiler.adopt.writing import adopted_toml  # noqa: PLC0415 - as above
    from compiler.engines.adopting import ChangeKind  # noqa: PLC0415 - as above

    # What is missing altogether is asked for; what is open has a stand-in.
    text = adopted_toml(adopted, whole=not adopted.chosen.reading.missing)
    left = left_to_say(text, adopted, catalog)
    # What has to be said stands before what is only told.
    changes = sorted((*left, *adopted.changes), key=lambda each: each.kind is not ChangeKind.OPEN)
    return evolve(adopted, changes=tuple(changes))


def _next(path: Path, adopted: Adopted | None) -> str:
    """What comes after a profile is written."""
    from compiler.adopt.compiling import NO_TARGET, has_target  # noqa: PLC0415 - only this verb
    from compiler.engines.adopting import ChangeKind  # noqa: PLC0415 - as above

    if adopted is not None and not has_target(adopted):
        return f"it has no target, so that `poolproof check {path}` does not judge its promise: {NO_TARGET}"
    if any(each.kind is ChangeKind.OPEN for each in changes_of(adopted)):
        return f"`poolproof check {path}` refuses it until what is `open` above is mended"
    return f"`poolproof check {path}` judges it"


def _adopt(
    read: Read, wanted: Wanted, catalog: Catalog
) -> tuple[Adopted | None, tuple[Diagnostic, ...]]:
    from compiler.adopt.adopted import adopt  # noqa: PLC0415 - only this verb
    from compiler.adopt.choice import Shelf  # noqa: PLC0415 - as above
    from compiler.catalog.naming import model_names  # noqa: PLC0415 - as above

    if read.launch is None:
        return None, ()
    if wanted.gpu is not None:
        from compiler.cli.askedgpu import asked_gpu  # noqa: PLC0415 - as above

        wanted = evolve(wanted, gpu=asked_gpu(wanted.gpu, catalog))
    shelf = Shelf(catalog=catalog, read_file=text_beside(read.launch, written=read.written))
    return adopt(read.launch, shelf, wanted, names=model_names(catalog), hidden=read.hidden)


def _inputs() -> Inputs:
    """The catalogue of the tree we stand in; the shipped one where there is none."""
    from compiler.catalog import FolderReader, open_catalog  # noqa: PLC0415 - only this verb
    from compiler.inputs import Inputs  # noqa: PLC0415 - as above
    from compiler.language.load import DiskReader  # noqa: PLC0415 - as above

    workspace = find_tree(()).workspace
    folder = workspace.profiles if workspace is not None else Path()
    known = open_catalog(FolderReader(folder) if workspace is not None else None)
    return Inputs(reader=DiskReader(folder), catalog=known)


def _write_file(path: Path, text: str, *, overwrite: bool, then: str) -> int:
    """Write a profile beside what is there, over it only when told."""
    unwritten = write_new(path, text, overwrite=overwrite)
    if unwritten is not None:
        advice = "; remove it first, or say `--overwrite`" if unwritten.is_there else ""
        click.echo(f"`{path}` {unwritten.why}{advice}", err=True)
        return unwritten.exit
    click.echo(f"wrote {path}; {then}", err=True)
    return Exit.OK
