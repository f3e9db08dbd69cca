"""`poolproof generations`: what was switched to on this host."""

from __future__ import annotations

from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.helptext import KEPT_UNIT, epilog
from compiler.cli.hosting import SCHEMA, end, json_option, root_option
from compiler.host.finding import stores_of
from compiler.host.store import Store
from compiler.host.troubles import unreadable


@click.command(
    name="generations",
    epilog=epilog(KEPT_UNIT, such_as=("generations", "generations kimi-k2.6")),
)
@click.argument("unit", required=False, shell_complete=completing.units)
@root_option
@json_option
def command(unit: str | None, *, root: Path, as_json: bool) -> int:
    """List the generations of UNIT, or of all units here, the newest last."""
    try:
        stores, found = stores_of(root, unit)
    except OSError as fault:
        stores, found = (), (unreadable(fault),)
    if as_json:
        rows = [row for each in stores for row in _rows(each)]
        return end(found, as_json={"schema": SCHEMA, "generations": rows})
    if not _print(stores) and not found:
        click.echo("no unit here has generations", err=True)
    return end(found, as_json=None)


def _rows(store: Store) -> list[dict[str, object]]:
    return [
        {
            "unit": store.places.unit,
            "number": each.number,
            "current": each.number == store.current,
            "profile": each.profile,
            "target": each.target,
        }
        for each in store.generations.values()
    ]


def _print(stores: tuple[Store, ...]) -> int:
    lines = 0
    for store in stores:
        for each in store.generations.values():
            note = store.record.note(each.number)
            marks = [note.state.value]
            marks += ["edited by hand"] if each.damage else []
            marks += [note.why] if note.why else []
            mark = "*" if each.number == store.current else " "
            click.echo(
                f"{mark} {store.places.unit} {each.number:>4}  {each.source}  {', '.join(marks)}"
            )
            lines += 1
    return lines
