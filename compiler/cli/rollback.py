"""`poolproof rollback`: go back to an earlier generation."""

from __future__ import annotations

from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.helptext import KEPT_UNIT, epilog
from compiler.cli.hosting import end, json_option, root_option, yes_option
from compiler.cli.switch import carry_out, no_intent
from compiler.diagnostics import Diagnostic
from compiler.host.finding import find_unit
from compiler.host.intent import Intent
from compiler.host.live import Live
from compiler.host.rollback import choose_generation, rollback_to
from compiler.host.site import Manner
from compiler.host.troubles import unreadable


@click.command(
    name="rollback",
    epilog=epilog(
        f"{KEPT_UNIT} `poolproof generations` has the numbers.",
        such_as=("rollback --dry-run", "rollback kimi-k2.6", "rollback kimi-k2.6 3"),
    ),
)
@click.argument(
    "unit_and_number", nargs=-1, metavar="[UNIT] [N]", shell_complete=completing.numbers
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@yes_option
@root_option
@click.option("--unchecked", is_flag=True, help="Do not ask whether the host has what it needs.")
@click.option("--no-wait", is_flag=True, help="Return when the start is queued.")
@json_option
def command(
    unit_and_number: tuple[str, ...],
    *,
    dry_run: bool,
    yes: bool,
    root: Path,
    unchecked: bool,
    no_wait: bool,
    as_json: bool,
) -> int:
    """Go back to generation N; without a number to the last one below the current that did not fail.

    UNIT can be left out where there is only one, and may be the folder of its generations. The host is asked for what that
    generation needs, as by `switch`: the release of its engine may have been replaced since.
    """
    unit, number = _read(unit_and_number)
    found = _intend(unit, number, root=root, checks=not unchecked)
    if isinstance(found, Diagnostic):
        return end((found,), as_json=no_intent() if as_json else None)
    intent, live = found
    # Where a person goes back, nothing else is tried when that fails.
    manner = Manner(waits=not no_wait, returns=False)
    return carry_out(intent, live, manner, dry_run=dry_run, yes=yes, as_json=as_json)


def _read(words: tuple[str, ...]) -> tuple[str | None, int | None]:
    most = 2
    if len(words) > most:
        raise click.UsageError("expected at most a unit and a number")
    *units, last = words or (None,)
    if last is not None and last.isdecimal():
        return (units[0] if units else None), int(last)
    if units:
        raise click.UsageError(f"`{last}` is no number of a generation")
    return last, None


def _intend(
    unit: str | None, number: int | None, *, root: Path, checks: bool
) -> tuple[Intent, Live | None] | Diagnostic:
    try:
        store = find_unit(root, unit)
        if isinstance(store, Diagnostic):
            return store
        one = choose_generation(store, number)
        if isinstance(one, Diagnostic):
            return one
        return rollback_to(store, one, offline=root != Path("/"), checks=checks)
    except OSError as fault:
        return unreadable(fault)
