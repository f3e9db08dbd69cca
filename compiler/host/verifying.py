"""A plan and a start that was observed in, the table of what was promised, predicted and measured out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, error
from compiler.engines.observing import FlagState, Observer, Start
from compiler.host.promised import Promised
from compiler.ranges import Range
from compiler.value import Value


class Subject(StrEnum):
    """What a row is about."""

    PROMISE = "promise"
    FLAG = "flag"
    MEMORY = "memory"


class State(StrEnum):
    """What came of it. Only the last two break the promise."""

    KEPT = "kept"
    INSIDE = "as predicted"
    OUTSIDE = "not as predicted"
    SAME = "same"
    CHANGED = "changed by the engine, or another launch's"
    """Nothing tells which: the server keeps what it resolved, not what it was given."""
    UNTOLD = "not told"
    SHOWN = "measured"
    ELSEWHERE = "another node tells it"
    UNCHECKED = "not checked"
    BROKEN = "broken"


_FLAGS = {
    FlagState.SAME: State.SAME,
    FlagState.CHANGED: State.CHANGED,
    FlagState.DIFFERENT: State.BROKEN,
    FlagState.UNTOLD: State.UNTOLD,
}

# The log rounds to two decimals, and a figure may be the difference of two of them.
ROUNDING_GIB = 0.01


@frozen(kw_only=True, eq=False, repr=False)
class Row(Value):
    """One line of the table; numbers as they are, texts for flags.

    Attributes:
        unit: of the numbers: `tokens`, `requests`, `GiB`, or nothing.
    """

    name: str
    kind: Subject
    state: State
    unit: str = ""
    promised: int | str | None = None
    predicted: Range | None = None
    measured: float | str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Verified(Value):
    """The table, and what is wrong."""

    rows: tuple[Row, ...]
    diagnostics: tuple[Diagnostic, ...]


def verify(promised: Promised, start: Start, *, observer: Observer) -> Verified:
    """Hold a start against a plan.

    Errors: `promise-broken`, `promise-unchecked`.
    """
    rows = (
        *_told(promised, start, observer=observer),
        *_flags(promised, start, observer=observer),
        *_memory(promised, start, observer=observer),
    )
    return Verified(rows=rows, diagnostics=tuple(findings(rows)))


def _told(promised: Promised, start: Start, *, observer: Observer) -> Iterator[Row]:
    """The promises, with what is not for this node to tell."""
    is_told = observer.untold(promised.argv) is None
    for each in promises(promised, start):
        yield each if is_told or each.measured is not None else evolve(each, state=State.ELSEWHERE)


def promises(promised: Promised, start: Start) -> Iterator[Row]:
    """What a client was promised, against what a start has."""
    yield _promise(
        "pool",
        "tokens",
        promised.required_tokens,
        measured=start.pool_tokens,
        predicted=promised.pool,
    )
    yield _promise("context", "tokens", promised.context, measured=start.context)
    running = promised.running_requests
    yield _promise(
        "running requests",
        "requests",
        promised.concurrency,
        measured=start.running_requests,
        predicted=None if running is None else Range.exactly(running),
    )


def _promise(
    name: str,
    unit: str,
    least: int | None,
    *,
    measured: int | None,
    predicted: Range | None = None,
) -> Row:
    if least is None or measured is None:
        state = State.UNCHECKED
    else:
        state = State.KEPT if measured >= least else State.BROKEN
    return Row(
        name=name,
        kind=Subject.PROMISE,
        state=state,
        unit=unit,
        promised=least,
        predicted=predicted,
        measured=measured,
    )


def _flags(promised: Promised, start: Start, *, observer: Observer) -> Iterator[Row]:
    if not start.settings:
        return
    for each in observer.compare(promised.argv, settings=start.settings):
        yield Row(
            name=each.flag,
            kind=Subject.FLAG,
            state=_FLAGS[each.state],
            promised=each.asked,
            measured=each.found,
        )


def _memory(promised: Promised, start: Start, *, observer: Observer) -> Iterator[Row]:
    yield from _measured("free before load", start.free_before_gib, promised.free_before_gib)
    for name, gib in observer.budget_lines(start).items():
        yield from _measured(name, gib, promised.lines.get(name))
    yield from _measured("draft's pool", None if start.draft is None else start.draft.gib, None)
    yield from _measured("free after the pools", start.after_pool_gib, None)
    yield from _measured("capturing graphs", start.graphs_gib, None)
    yield from _measured("free when ready", start.free_gib, None)


def _measured(name: str, gib: float | None, predicted: Range | None) -> Iterator[Row]:
    if gib is None:
        return
    state = State.SHOWN
    if predicted is not None:
        inside = predicted.low - ROUNDING_GIB <= gib <= predicted.high + ROUNDING_GIB
        state = State.INSIDE if inside else State.OUTSIDE
    yield Row(
        name=name, kind=Subject.MEMORY, state=state, unit="GiB", predicted=predicted, measured=gib
    )


def findings(rows: tuple[Row, ...]) -> Iterator[Diagnostic]:
    """What is wrong with some rows. Errors: as in `verify`."""
    broken = [each for each in rows if each.state is State.BROKEN]
    unchecked = [each for each in rows if each.state is State.UNCHECKED]
    if broken:
        names = ", ".join(f"`{each.name}`" for each in broken)
        yield error(
            "promise-broken",
            f"the running server does not keep what the plan promises: {names}",
            notes=tuple(map(_sentence, broken)),
            help=tuple(dict.fromkeys(_advice(each) for each in broken)),
        )
    if unchecked:
        names = ", ".join(f"`{each.name}`" for each in unchecked)
        yield error(
            "promise-unchecked",
            f"nothing tells whether the promise is kept: {names}",
            notes=tuple(
                f"the plan does not say how many {each.unit} the {each.name} needs"
                if each.promised is None
                else f"the server does not tell its {each.name}"
                for each in unchecked
            ),
            help=(
                ("give the server's log as well, by `--unit` or `--log`",)
                if any(each.measured is None for each in unchecked)
                else ()
            ),
        )


def _sentence(row: Row) -> str:
    if row.kind is Subject.FLAG:
        return f"{row.name}: the plan has `{row.promised}`, the server runs with `{row.measured}`"
    return f"{row.name}: {row.promised:,} {row.unit} promised, {row.measured:,} there"


def _advice(row: Row) -> str:
    if row.kind is Subject.FLAG:
        return "start the server with the command line that was reviewed, or compile what it should run with"
    if row.name == "pool":
        return "record this start with `poolproof measure`, then compile again: the plan names the smallest change"
    return "start the server with the command line that was reviewed"
