"""Which generations nobody needs any more, and their end."""

from __future__ import annotations

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic
from compiler.host import troubles
from compiler.host.intent import running_generation, silent
from compiler.host.live import Live
from compiler.host.lock import held
from compiler.host.machine import Machine
from compiler.host.record import write_record
from compiler.host.staging import clean, delete_generation
from compiler.host.store import Generation, Store, read_store
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Keeping(Value):
    """What is kept.

    Attributes:
        newest: so many of the newest, beside those that are in use.
        younger_s: and those that were current within so many seconds; `None` keeps none for that.
    """

    newest: int
    younger_s: float | None = None


def running_numbers(store: Store, live: Live | None) -> frozenset[int] | Diagnostic:
    """The generations that the running service may hold on to. Errors: `systemd-silent`."""
    if live is None:
        return frozenset()
    state = live.show()
    if state is None:
        return silent(store.places.scope, live.unreachable() or "no answer")
    running = running_generation(store, state)
    # Somebody may have linked the unit of one generation by hand, or had `systemctl enable` do so.
    path = state.fragment_path or ""
    pinned = {n for n in store.generations if path.startswith(f"{store.places.state_dir}/gen-{n}/")}
    return frozenset(pinned if running is None else {running, *pinned})


def superfluous(
    store: Store, keeping: Keeping, *, running: frozenset[int], now: float
) -> tuple[Generation, ...]:
    """What may go: never the current generation, and never one that runs, was started last, or systemd has read."""
    used = {store.current, store.record.started, store.record.loaded, *running}
    rest = [each for number, each in sorted(store.generations.items()) if number not in used]
    if keeping.newest:
        rest = rest[: -keeping.newest]
    if keeping.younger_s is None:
        return tuple(rest)
    return tuple(each for each in rest if _left(store, each) <= now - keeping.younger_s)


def _left(store: Store, one: Generation) -> float:
    """When it was current last, seconds since 1970; when it was written, if it never was."""
    left = store.record.note(one.number).left
    return one.path.stat().st_mtime if left is None else left


def collect(
    store: Store, keeping: Keeping, *, running: frozenset[int], machine: Machine
) -> tuple[int, ...] | Diagnostic:
    """Delete what is superfluous; the numbers that are gone, which nobody gets again.

    Errors: `host-busy`, `host-unwritable`.
    """
    places = store.places
    try:
        with held(places.state) as is_free:
            again = read_store(places) if is_free else None
            if not isinstance(again, Store):
                return troubles.busy(places.unit)
            clean(machine, again)
            several = superfluous(again, keeping, running=running, now=machine.now())
            numbers = tuple(each.number for each in several)
            record = evolve(again.record, last=again.highest)
            for number in numbers:
                record = record.without(number)
            if numbers:
                write_record(machine, places.state, record)
            for number in numbers:
                delete_generation(machine, places, number=number)
            if numbers:
                machine.sync(places.state)
            return numbers
    except OSError as fault:
        return troubles.unwritable(places, fault, was=store.current)
