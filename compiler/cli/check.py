"""`poolproof check`: everything but writing."""

from __future__ import annotations

from collections.abc import Sequence

import click

from compiler.accept import strictly
from compiler.cli import completing
from compiler.cli.bars import print_bars
from compiler.cli.exits import Exit
from compiler.cli.neighbours import check_asked, tell_unseen
from compiler.cli.session import (
    Format,
    engine_release,
    open_session,
    print_json,
    show,
    write_lines,
)
from compiler.judged import Checked
from compiler.profile import Name, Version


@click.command(name="check")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...", shell_complete=completing.profiles)
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object on stdout; its `outcome` goes with the exit code, a `verdict` is about memory only.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([each.value for each in Format]),
    help="How findings are shown; else as text.",
)
@click.option("--bars", is_flag=True, help="Draw the memory of each service.")
@click.option(
    "--engine",
    metavar="[NAME@]VERSION",
    callback=engine_release,
    shell_complete=completing.releases,
    help="Try another release than the profiles name, without editing them.",
)
def command(
    profiles: tuple[str, ...],
    *,
    strict: bool,
    as_json: bool,
    form: str | None,
    bars: bool,
    engine: tuple[Name, Version] | None,
) -> int:
    """Judge profiles; all of the tree when none is named.

    A PROFILE is a path (profiles/k2.6-200k.toml) or a name (k2.6-200k). What else runs on its hosts is looked at beside it.
    """
    if as_json and form not in (None, Format.JSON):
        raise click.UsageError(f"`--json` and `--format {form}` are two forms; give one")
    chosen = Format.JSON if as_json else Format(form or Format.TEXT)
    session, faults = open_session(profiles, engine=engine)
    checked = Checked(judged=(), diagnostics=faults) if session is None else check_asked(session)
    if strict:
        checked = strictly(checked)
    if chosen is Format.JSON:
        _print_json(checked)
    else:
        show(checked.all_diagnostics, session, form=chosen)
        tell_unseen(checked.unseen)
        _print_verdicts(checked, asked=profiles)
        if bars:
            print_bars(checked.judged)
    return Exit.REFUSED if checked.refused else Exit.OK


def _print_json(checked: Checked) -> None:
    from compiler.report.contract import check_json  # noqa: PLC0415 - what only some runs need

    print_json(check_json(checked.diagnostics, judged=checked.judged, unseen=checked.unseen))


def _print_verdicts(checked: Checked, *, asked: Sequence[str]) -> None:
    from compiler.report.verdicts import tree_lines, verdict_lines  # noqa: PLC0415 - JSON does without it

    write_lines(verdict_lines(checked.judged))
    if checked.judged:
        write_lines(tree_lines(checked.diagnostics, checked.judged))
    if asked or not checked.judged:
        write_lines(
            f"{name}  not judged: a fragment without a target; its keys and types are checked, its promise is not"
            for name in checked.fragments
        )
