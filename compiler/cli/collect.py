"""`poolproof gc`: delete the generations that nobody needs any more.

Not called `gc`: as a module of this package it would hide Python's own.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.helptext import KEPT_UNIT, epilog
from compiler.cli.hosting import SCHEMA, end, json_option, root_option
from compiler.diagnostics import Diagnostic
from compiler.host.finding import live_of_store, stores_of
from compiler.host.gc import Keeping, collect, running_numbers, superfluous
from compiler.host.machine import Machine
from compiler.host.store import Store
from compiler.host.troubles import unreadable
from compiler.quantities import Duration


_DAYS = re.compile(r"([0-9]{1,6})\s*d")
_DAY_S = 24 * 3600
KEPT = 5
"""As many ways back as anybody has asked for in a hurry."""


def _age(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """An age as people write it: `30d`, `12h`."""
    if value is None:
        return None
    days = _DAYS.fullmatch(value.strip())
    try:
        return float(days[1]) * _DAY_S if days else float(Duration.parse(value).seconds)
    except ValueError as fault:
        raise click.BadParameter(f"{fault}; or `30d`", ctx=context, param=option) from None


@click.command(
    name="gc",
    epilog=epilog(
        f"Without UNIT all units here are looked at. {KEPT_UNIT}",
        such_as=("gc", "gc kimi-k2.6 --keep 2 --older-than 30d --yes"),
    ),
)
@click.argument("unit", required=False, shell_complete=completing.units)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=KEPT,
    show_default=True,
    metavar="N",
    help="Keep the N newest beside those in use.",
)
@click.option(
    "--older-than",
    "younger_s",
    callback=_age,
    metavar="AGE",
    help="And all that were current within AGE (30d, 12h).",
)
@click.option("--yes", is_flag=True, help="Delete them; without it they are only named.")
@root_option
@json_option
def command(
    unit: str | None, *, keep: int, younger_s: float | None, yes: bool, root: Path, as_json: bool
) -> int:
    """Name the generations that nobody needs; with --yes delete them.

    The current generation and the one that runs always stay, and no number is given twice.
    """
    keeping = Keeping(newest=keep, younger_s=younger_s)
    machine = Machine()
    rows: list[dict[str, object]] = []
    try:
        stores, found = stores_of(root, unit)
        for store in stores:
            numbers = _numbers(store, keeping, root=root, machine=machine, yes=yes)
            if isinstance(numbers, Diagnostic):
                found = (*found, numbers)
                continue
            rows += [{"unit": store.places.unit, "number": each} for each in numbers]
    except OSError as fault:
        found = (unreadable(fault),)
    if not as_json:
        _print(rows, yes=yes)
    return end(
        found, as_json={"schema": SCHEMA, "deleted": yes, "generations": rows} if as_json else None
    )


def _numbers(
    store: Store, keeping: Keeping, *, root: Path, machine: Machine, yes: bool
) -> tuple[int, ...] | Diagnostic:
    running = running_numbers(store, live_of_store(store, root))
    if isinstance(running, Diagnostic):
        return running
    if yes:
        return collect(store, keeping, running=running, machine=machine)
    several = superfluous(store, keeping, running=running, now=machine.now())
    return tuple(each.number for each in several)


def _print(rows: list[dict[str, object]], *, yes: bool) -> None:
    for each in rows:
        click.echo(f"{'deleted' if yes else 'would delete'} {each['unit']} {each['number']}")
    if not rows:
        click.echo("nothing to delete", err=True)
    elif not yes:
        click.echo("nothing was deleted; `--yes` does it", err=True)
