"""`poolproof retire`: stop managing a unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.helptext import KEPT_UNIT, epilog
from compiler.cli.hosting import SCHEMA, agreed, end, json_option, root_option, yes_option
from compiler.diagnostics import Diagnostic
from compiler.host.finding import find_unit, live_of_store
from compiler.host.machine import Machine
from compiler.host.names import Holder, look_at_name
from compiler.host.retire import Retired, retire
from compiler.host.store import Store
from compiler.host.troubles import unreadable
from compiler.quantities import counted


@click.command(
    name="retire",
    epilog=epilog(KEPT_UNIT, such_as=("retire kimi-k2.6", "retire kimi-k2.6 --delete --yes")),
)
@click.argument("unit", shell_complete=completing.units)
@click.option("--delete", is_flag=True, help="Delete its generations as well.")
@yes_option
@root_option
@json_option
def command(unit: str, *, delete: bool, yes: bool, root: Path, as_json: bool) -> int:
    """Stop UNIT, where it is still ours, and remove its links. Its generations stay, unless --delete is given.

    Only links that a switch made are removed. What was moved aside stays where it is, and is named.
    """
    try:
        store = find_unit(root, unit)
    except OSError as fault:
        store = unreadable(fault)
    if isinstance(store, Diagnostic):
        return end((store,), as_json=_json(None, None) if as_json else None)
    live = live_of_store(store, root)
    is_foreign = look_at_name(store.places).holder is Holder.FOREIGN
    does = [] if is_foreign else [f"stops `{store.places.unit}`"]
    does += ["deletes its generations"] if delete else []
    if live is not None and does and not agreed(f"this {' and '.join(does)}; go on?", yes=yes):
        click.echo("nothing was changed", err=True)
        return Exit.REFUSED
    done = retire(store, machine=Machine(), live=live, delete=delete)
    if isinstance(done, Diagnostic):
        return end((done,), as_json=_json(store, None) if as_json else None)
    if not as_json:
        _print(store, done)
    return end((), as_json=_json(store, done) if as_json else None)


def _print(store: Store, done: Retired) -> None:
    for each in done.removed:
        click.echo(f"removed {each}")
    if done.deleted:
        click.echo(f"deleted the generations in {store.places.state_dir}")
    else:
        several = counted(len(store.generations), "generation")
        click.echo(f"kept {several} in {store.places.state_dir}")
    if done.aside:
        back = f"/{store.places.unit_path.relative_to(store.places.root)}"
        click.echo(f"what was there before is kept; put it back with `mv {done.aside[-1]} {back}`")
    for path, text in done.foreign.items():
        click.echo(f"left alone, since no switch made it: {path} -> {text}")


def _json(store: Store | None, done: Retired | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "unit": None if store is None else store.places.unit,
        "removed": [] if done is None else list(done.removed),
        "deleted": done is not None and done.deleted,
        "aside": [] if done is None else list(done.aside),
    }
