"""`poolproof switch`: make a compiled tree what runs on this host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.helptext import epilog
from compiler.cli.hosting import (
    SCHEMA,
    agreed,
    end,
    json_option,
    live_of,
    progress,
    read_tree,
    root_option,
    yes_option,
)
from compiler.diagnostics import Diagnostic
from compiler.host.intent import Intent, Step, intend_switch
from compiler.host.live import Live
from compiler.host.machine import Machine
from compiler.host.returning import Returned
from compiler.host.site import Manner
from compiler.host.switching import Switched, switch
from compiler.host.troubles import unreadable


@click.command(
    name="switch",
    epilog=epilog(
        "No unit is named: the compiled target has its name, which --dry-run prints first. It is the target's `unit`, else one "
        "made of the name that its model is served by.",
        such_as=(
            "switch out/k2.6-200k/ct200 --dry-run",
            "switch k2.6-200k --yes",
            "switch k2.6-200k/ct200 --no-wait",
        ),
    ),
)
@click.argument("tree", metavar="OUT/PROFILE/TARGET", shell_complete=completing.targets)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where the compiled tree is, when only PROFILE is named.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@yes_option
@root_option
@click.option(
    "--replace-unit",
    is_flag=True,
    help="Take the place of a unit of that name; a file is kept aside.",
)
@click.option("--no-rollback", is_flag=True, help="When the load fails, leave it as it is.")
@click.option("--no-wait", is_flag=True, help="Return when the start is queued.")
@json_option
def command(  # noqa: PLR0913 - click hands over each option
    tree: str,
    *,
    out: Path | None,
    dry_run: bool,
    yes: bool,
    root: Path,
    replace_unit: bool,
    no_rollback: bool,
    no_wait: bool,
    as_json: bool,
) -> int:
    """Make a compiled target what runs here: a new generation, its links, and a restart where one is needed.

    Below --out, or in the tree you stand in, PROFILE or PROFILE/TARGET is enough. When the service does not become ready
    with the pool that was promised, the last good generation comes back by itself.
    """
    staged = read_tree(tree, out)
    if isinstance(staged, Diagnostic):
        return end((staged,), as_json=no_intent() if as_json else None)
    live = live_of(staged, root)
    try:
        intent = intend_switch(staged, root=root, live=live, replace=replace_unit)
    except OSError as fault:
        intent = (unreadable(fault),)
    if not isinstance(intent, Intent):
        return end(intent, as_json=no_intent() if as_json else None)
    manner = Manner(waits=not no_wait, returns=not no_rollback)
    return carry_out(intent, live, manner, dry_run=dry_run, yes=yes, as_json=as_json)


def carry_out(
    intent: Intent, live: Live | None, manner: Manner, *, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Show what is going to be done, ask, do it, and say how it went; `rollback` ends here as well."""
    if not as_json and not intent.refused:
        for line in plan_lines(intent):
            click.echo(line, err=not dry_run)
    if dry_run or intent.refused:
        return end(intent.findings, as_json=_json(intent, None) if as_json else None)
    notices = live is not None and (intent.takes_it_down or intent.moves is not None)
    if notices and not agreed("go on?", yes=yes):
        click.echo("nothing was changed", err=True)
        return Exit.REFUSED
    shown = progress()
    try:
        done = switch(
            intent,
            machine=Machine(),
            live=live,
            manner=evolve(manner, say=shown.say, tell=shown.tell),
        )
    except KeyboardInterrupt:
        shown.close()
        click.echo(
            "systemd goes on with what was begun; the same command finishes the rest", err=True
        )
        raise
    shown.close()
    if not as_json and not done.diagnostics:
        click.echo(result_line(intent, done))
    elif not as_json and done.moved is not None:
        click.echo(
            f"what was there is kept at {done.moved}; `poolproof retire` says how it comes back",
            err=True,
        )
    found = (*intent.findings, *done.diagnostics)
    return end(found, as_json=_json(intent, done) if as_json else None)


def plan_lines(intent: Intent) -> Iterator[str]:
    """What is going to be done, for a person."""
    unit = intent.service.unit
    new = "new" if intent.staged is not None else "there already"
    yield f"{unit}: generation {intent.number} of {intent.source}, {new}; {_now(intent)}"
    if intent.moves is not None:
        yield f"moved aside: {intent.moves}"
    yield from _step_lines(intent)
    yield from (f"skipped: {each}" for each in intent.skipped)


def _now(intent: Intent) -> str:
    one = intent.store.in_use
    if one is None:
        return "none is current"
    if one.number == intent.number:
        return "it is current"
    return f"generation {one.number} of {one.source} is current"


def _step_lines(intent: Intent) -> Iterator[str]:
    unit = intent.service.unit
    match intent.step:
        case Step.OFFLINE:
            return
        case Step.NOTHING:
            yield "no restart: what runs would not notice"
        case Step.START:
            yield f"start: a load takes {intent.load}"
        case Step.RESTART:
            yield f"restart: it does not answer while it loads, {intent.load}"
        case Step.WAIT:
            yield "wait: it was started, and nobody waited until it was ready"
        case Step.LEFT:
            yield f"not restarted: its target leaves that to you (`systemctl restart {unit}`)"
    yield from (f"  because {each}" for each in intent.reasons)


def result_line(intent: Intent, done: Switched) -> str:
    """How it went, in one line."""
    moved = "" if done.moved is None else f"; what was there is kept at {done.moved}"
    how = {
        Step.OFFLINE: "",
        Step.NOTHING: ", and the service runs on",
        Step.LEFT: f", and takes effect with `systemctl restart {intent.service.unit}`",
    }.get(done.step)
    if how is None:
        took = "" if done.load_s is None else f" after {done.load_s}s"
        how = ", and starting" if done.state.value == "starting" else f", and ready{took}"
    return f"{intent.service.unit}: generation {done.current} is current{how}{moved}"


def no_intent() -> dict[str, Any]:
    """What `--json` prints where it did not come to an intent."""
    return _json(None, None)


def _json(intent: Intent | None, done: Switched | None) -> dict[str, Any]:
    """What `--json` prints; `state` and what follows are null where nothing was done."""
    step = None if intent is None else intent.step
    return {
        "schema": SCHEMA,
        "unit": None if intent is None else intent.service.unit,
        "generation": None if intent is None else intent.number,
        "is_new": None if intent is None else intent.staged is not None,
        "previous": None if intent is None else intent.store.current,
        "step": None if step is None else (step if done is None else done.step).value,
        "reasons": [] if intent is None else list(intent.reasons),
        "skipped": [] if intent is None else list(intent.skipped),
        "current": None if done is None else done.current,
        "state": None if done is None else done.state.value,
        "load_s": None if done is None else done.load_s,
        "moved": None if done is None else done.moved,
        "returned": None if done is None else _returned(done.returned),
    }


def _returned(returned: Returned | None) -> str | None:
    return None if returned is None else returned.end.name.lower().replace("_", "-")
