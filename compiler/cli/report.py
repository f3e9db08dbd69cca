"""`poolproof report`: one HTML page for a tree."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.neighbours import check_asked, tell_unseen
from compiler.cli.session import Session, open_session, show
from compiler.cli.wholefile import file_or_stdout, write_whole
from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.judged import Checked
from compiler.remedy.replanning import Replanner
from compiler.report.verdicts import tree_lines, verdict_lines
from compiler.webpage import Sweep, render_page, sweep


@click.command(name="report")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...", shell_complete=completing.profiles)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    callback=file_or_stdout,
    help="Where to write it; else, and for `-`, to stdout.",
)
def command(profiles: tuple[str, ...], *, output: str | None) -> int:
    """Write one self-contained HTML page: all services, their budgets and verdicts, and what other settings would give.

    What is refused is shown as refused, and what services do to each other stands above them; the exit is then 1 all the same.
    """
    session, faults = open_session(profiles)
    if session is None:
        show(faults, session)
        return Exit.REFUSED
    if output is None and sys.stdout.isatty():
        raise click.UsageError("name a file with -o, or send the page somewhere")
    if output == "":
        raise click.BadParameter("the name of the file is empty", param_hint="-o")
    checked = check_asked(session)
    kept = None if output is None else _kept(Path(output), session.workspace.profiles)
    if kept is not None:
        click.echo(f"`{output}` is not written: {kept}", err=True)
        return Exit.REFUSED
    missing = _missing(checked) if session.named else ()
    if missing:
        show(missing, session)
        click.echo("nothing was written", err=True)
        return Exit.REFUSED
    show(checked.all_diagnostics if checked.refused else checked.diagnostics, session)
    if checked.refused:  # the page may be read elsewhere, and an exit of 1 wants its reason here
        lines = (*verdict_lines(checked.judged), *tree_lines(checked.diagnostics, checked.judged))
        click.echo("\n".join(lines), err=True)
    tell_unseen(checked.unseen)
    page = render_page(checked, sweeps=_sweeps(checked, session))
    if output is None:
        sys.stdout.write(page)
    elif not _write(page, Path(output)):
        return Exit.MACHINE
    return Exit.REFUSED if checked.refused else Exit.OK


def _missing(checked: Checked) -> tuple[Diagnostic, ...]:
    """What was asked for by name and is no service: a page without it would be taken for an answer."""
    found = tuple(
        each
        for judged in checked.judged
        if judged.plan is None
        for each in judged.diagnostics
        if each.code in ("profile-missing", "profile-name")
    )
    return (*found, *(_no_service(name) for name in checked.fragments))


def _no_service(name: str) -> Diagnostic:
    return error(
        "profile-not-deployable",
        f"`{name}` has no target, so there is nothing to report of it",
        help=("name a profile that extends it",),
    )


def _sweeps(checked: Checked, session: Session) -> dict[str, Sweep]:
    plans = {each.profile_name: each.plan for each in checked.judged if each.plan is not None}
    return {
        name: sweep(plan, weigh=Replanner(plan=plan, catalog=session.inputs.catalog).balance)
        for name, plan in plans.items()
    }


_TITLE = b"<title>Poolproof report</title>"
"""As the page's template has it: that one page is written over another holds them together."""
_HEAD_BYTES = 4096


def _kept(output: Path, profiles: Path) -> str | None:
    """Why a page does not belong there, a clause: what is there is somebody's own; `None` where it does."""
    try:
        target = output.resolve()
        if target.is_relative_to(profiles.resolve()):
            return "profiles, boots, and entries of the catalogue stand there, and no page"
        if not target.is_file():
            return None
        with target.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, RuntimeError):
        return None  # writing it says why
    return (
        None
        if not head or _TITLE in head
        else "a file stands there that is no report; remove it first"
    )


def _write(page: str, output: Path) -> bool:
    """Write it whole or not at all; a link is followed, and what is no file (a pipe, a device) is written to."""
    try:
        write_whole(page, output)
    except (OSError, RuntimeError) as fault:  # the latter for links that lead in a circle
        click.echo(f"`{output}` cannot be written: {reason_of(fault)}", err=True)
        return False
    click.echo(f"wrote {output}", err=True)
    return True
