"""`poolproof verify`: hold a running server against its plan."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from compiler.cli.exits import Exit, exit_of
from compiler.cli.helptext import RUNNING_UNIT, epilog
from compiler.cli.observing import no_such_engine, of_a_server, say
from compiler.cli.session import print_json, show
from compiler.diagnostics import Diagnostic, printable
from compiler.engines.observers import observer_of
from compiler.host.asked import MeantServer, observe
from compiler.host.observe import Observed
from compiler.host.promised import Promised
from compiler.host.verifying import Row, State, Subject, Verified
from compiler.host.verifying import verify as hold
from compiler.ranges import Range


SCHEMA = 1
KEPT = "the promise is kept"
ELSEWHERE = "the node is ready; verify the promise on the node that tells it"
WIDEST = 40
"""Characters of a flag's value in the table; JSON has all of them."""


@click.command(
    name="verify",
    epilog=epilog(
        f"{RUNNING_UNIT}: without one nothing is known to be promised.",
        such_as=(
            "verify --unit kimi-k2.6",
            "verify --url http://127.0.0.1:30000 --profile k2.6-200k",
            "verify --log server.log --plan out/k2.6-200k/plan.json",
        ),
    ),
)
@of_a_server
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def command(asked: MeantServer, *, promised: Promised | Diagnostic | None, as_json: bool) -> int:
    """Hold a running server against its plan: pool, context, requests, flags, memory.

    Exits 1 when a promise is broken, and 5 when the server does not answer.
    """
    if promised is None:
        raise click.UsageError("say what was promised: --plan FILE, or --profile NAME")
    if isinstance(promised, Diagnostic):
        return _finish(None, None, None, (promised,), as_json=as_json)
    observer = observer_of(promised.engine)
    if observer is None:
        wrong = no_such_engine(promised.engine)
        return _finish(promised, None, None, (wrong,), as_json=as_json)
    observed = observe(asked, observer=observer, promised=promised, must_answer=True)
    if observed.start is None or observed.fault is not None:
        found = () if observed.fault is None else (observed.fault,)
        return _finish(promised, observed, None, found, as_json=as_json)
    verified = hold(promised, observed.start, observer=observer)
    return _finish(promised, observed, verified, verified.diagnostics, as_json=as_json)


def _finish(
    promised: Promised | None,
    observed: Observed | None,
    verified: Verified | None,
    found: Sequence[Diagnostic],
    *,
    as_json: bool,
) -> Exit:
    notes = () if observed is None else observed.notes
    rows = () if verified is None else verified.rows
    code = exit_of(found)
    if as_json:
        print_json(_json(promised, observed, rows, found))
        return code
    if promised is not None and observed is not None and rows:
        click.echo(f"{promised.profile} held against {observed.source.replace('`', '')}\n")
        sys.stdout.writelines(f"{line}\n" for line in table(rows))
    say(notes)
    show(found)
    if code is Exit.OK:
        click.echo(f"\n{KEPT if _kept(rows, found) else ELSEWHERE}")
    return code


def _json(
    promised: Promised | None,
    observed: Observed | None,
    rows: Sequence[Row],
    found: Sequence[Diagnostic],
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "profile": None if promised is None else promised.profile,
        "source": None if observed is None else observed.source.replace("`", ""),
        "kept": _kept(rows, found),
        "rows": [
            {
                "name": each.name,
                "kind": each.kind.value,
                "state": each.state.value,
                "unit": each.unit or None,
                "promised": each.promised,
                "predicted": None if each.predicted is None else _range_json(each.predicted),
                "measured": each.measured,
            }
            for each in rows
        ],
        "notes": [] if observed is None else list(observed.notes),
        "findings": [
            {
                "code": each.code,
                "severity": each.severity.value,
                "summary": each.summary,
                "notes": list(each.notes),
                "help": list(each.help),
            }
            for each in found
        ],
    }


def _kept(rows: Sequence[Row], found: Sequence[Diagnostic]) -> bool | None:
    """Whether the promise is known to be kept; `None` where that is for another node to tell."""
    if any(each.state is State.ELSEWHERE for each in rows):
        return False if found else None
    return bool(rows) and not found


def _range_json(range_: Range) -> dict[str, float]:
    return {"low": range_.low, "best": range_.best, "high": range_.high}


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table: promises first, then memory, then the flags that are not as in the plan."""
    flags = [each for each in rows if each.kind is Subject.FLAG]
    odd = [each for each in flags if each.state is not State.SAME]
    order = (Subject.PROMISE, Subject.MEMORY)
    shown = [*(each for kind in order for each in rows if each.kind is kind), *odd]
    cells = [("", "promised", "predicted", "measured", ""), *map(_cells, shown)]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    for name, *numbers, state in cells:
        columns = (text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join((name.ljust(widths[0]), *columns, state)).rstrip()
    if flags:
        same = len(flags) - len(odd)
        yield f"\n{same} of {len(flags)} flags are as in the plan"


def _cells(row: Row) -> tuple[str, ...]:
    name = f"{row.name}, {row.unit}" if row.unit else row.name
    return (
        name,
        *(_cell(each, row) for each in (row.promised, row.predicted, row.measured)),
        row.state.value,
    )


def _cell(value: float | str | Range | None, row: Row) -> str:
    if value is None:
        return "-"
    if isinstance(value, Range):
        if value.is_exact:
            return _cell(value.best, row)
        return f"{_cell(value.best, row)} ({_cell(value.low, row)} to {_cell(value.high, row)})"
    if isinstance(value, str):
        text = printable(value)
        return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
    return f"{value:.2f}" if row.unit == "GiB" else f"{value:,.0f}"
