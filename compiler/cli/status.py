"""`poolproof status`: how the units here stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.helptext import KEPT_UNIT, epilog
from compiler.cli.hosting import SCHEMA, end, json_option, root_option
from compiler.host.finding import live_of_store, stores_of
from compiler.host.status import Status, look_at_unit
from compiler.host.troubles import unreadable
from compiler.quantities import counted


@click.command(
    name="status",
    epilog=epilog(KEPT_UNIT, such_as=("status", "status kimi-k2.6", "status --json")),
)
@click.argument("unit", required=False, shell_complete=completing.units)
@root_option
@json_option
def command(unit: str | None, *, root: Path, as_json: bool) -> int:
    """Say how UNIT stands, or all units here; exit 1 when one is not as a switch leaves it."""
    try:
        stores, found = stores_of(root, unit)
        several = [look_at_unit(each, live_of_store(each, root)) for each in stores]
    except OSError as fault:
        several, found = [], (unreadable(fault),)
    if not as_json:
        for each in several:
            click.echo(_line(each))
        if not several and not found:
            click.echo("no unit here has generations", err=True)
    found = (*found, *(finding for each in several for finding in each.findings))
    content = {"schema": SCHEMA, "units": [_json(each) for each in several]}
    code = end(found, as_json=content if as_json else None)
    return code or (Exit.OK if all(each.is_well for each in several) else Exit.REFUSED)


def _line(status: Status) -> str:
    store = status.store
    one = store.in_use
    if one is None:
        kept = counted(len(store.generations), "generation")
        what = "retired" if store.current is None else f"generation {store.current}, which is gone"
        return f"{store.places.unit}: {what}; {kept} kept in {store.places.state_dir}"
    parts = [f"generation {one.number} of {one.source}"]
    parts += [] if status.is_linked else ["not linked"]
    if status.state is not None:
        parts.append(f"{status.state.active} ({status.state.sub})")
    parts.append(store.record.note(one.number).state.value)
    return f"{store.places.unit}: {', '.join(parts)}"


def _json(status: Status) -> dict[str, Any]:
    store, one = status.store, status.store.in_use
    return {
        "unit": store.places.unit,
        "manager": store.places.scope.value,
        "state_dir": store.places.state_dir,
        "is_linked": status.is_linked,
        "current": None if one is None else one.number,
        "profile": None if one is None else one.profile,
        "target": None if one is None else one.target,
        "state": None if one is None else store.record.note(one.number).state.value,
        "running": status.running,
        "active": None if status.state is None else status.state.active,
        "sub": None if status.state is None else status.state.sub,
    }
