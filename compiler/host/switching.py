"""The straight line of a switch, and of a rollback, once it is decided. Read `intent` first.

    lock -> clean up -> write the generation -> current -> links -> daemon-reload -> (re)start -> wait -> or go back

Every change goes through the `Machine`. A run that is cut off anywhere leaves the old or the new generation current and
whole; the same command again finishes it, and any other verb cleans up first.
"""

from __future__ import annotations

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic
from compiler.host import troubles
from compiler.host.ending import Outcome
from compiler.host.intent import Intent, Step, running_generation
from compiler.host.links import make_links
from compiler.host.live import Live
from compiler.host.lock import held
from compiler.host.machine import Machine
from compiler.host.record import Record, State, write_record
from compiler.host.returning import Returned, go_back, point_back
from compiler.host.site import Manner, Site
from compiler.host.staging import clean, point_current, write_generation
from compiler.host.starting import follow, reason, start
from compiler.host.store import Store, read_store
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Switched(Value):
    """What came of it.

    Attributes:
        current: the generation that is current now; `None` where none is.
        state: how the wanted one did.
        step: what was done to the service.
        returned: what came of going back, where it did.
        moved: where somebody else's unit was moved, a path of the host.
        load_s: how long its load took, where one was waited for.
        diagnostics: why it failed.
    """

    current: int | None
    state: State = State.NEW
    step: Step = Step.OFFLINE
    returned: Returned | None = None
    moved: str | None = None
    load_s: int | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def switch(intent: Intent, *, machine: Machine, live: Live | None, manner: Manner) -> Switched:
    """Make a switch that its intent does not refuse.

    Errors, in the result: `host-busy`, `host-unwritable`, `systemd-refused`, `load-failed`, `pool-short`,
    `return-failed`.
    """
    places, unit = intent.store.places, intent.service.unit
    try:
        machine.make_folder(places.state)
        with held(places.state) as is_free:
            store = read_store(places) if is_free else None
            if not isinstance(store, Store) or _is_other(store, intent.store):
                return Switched(current=intent.store.current, diagnostics=(troubles.busy(unit),))
            return _switch(intent, store, machine=machine, live=live, manner=manner)
    except OSError as fault:
        now = troubles.current_now(places)
        return Switched(
            current=now, diagnostics=(troubles.unwritable(places, fault, was=intent.store.current),)
        )


def _is_other(now: Store, before: Store) -> bool:
    """Whether somebody else changed the generations since the intent was worked out."""
    numbers = now.generations.keys() == before.generations.keys()
    return not numbers or (now.current, now.record) != (before.current, before.record)


def _switch(
    intent: Intent, store: Store, *, machine: Machine, live: Live | None, manner: Manner
) -> Switched:
    places, number = store.places, intent.number
    clean(machine, store)
    if intent.staged is not None:
        write_generation(machine, places, intent.staged, number=number)
    before = None if live is None else live.show()
    record = _left(store, number=number, now=machine.now())
    if before is not None:
        runs = running_generation(store, before)
        record = evolve(record, started=runs, invocation=before.invocation if runs else None)
    write_record(machine, places.state, record)
    point_current(machine, places, number=number)
    moved = make_links(machine, places, intent.content[intent.service.unit])
    if live is None:
        return Switched(current=number, state=record.note(number).state, moved=moved)
    site = Site(places=places, service=intent.service, machine=machine, live=live, manner=manner)
    done = live.reload(machine)
    if not done.fine:
        current = point_back(site, store, failed=number)
        refused = troubles.refused(intent.service.unit, reason(done), current=current)
        return Switched(current=current, moved=moved, diagnostics=(refused,))
    record = site.remember(evolve(record, loaded=number))
    intent = _mixed(intent, live, before=None if before is None else before.invocation)
    return evolve(_set_going(intent, record, store, site=site), step=intent.step, moved=moved)


def _left(store: Store, *, number: int, now: float) -> Record:
    """The record of a store whose current generation becomes another one."""
    record = evolve(store.record, last=max(store.highest, number))
    if store.in_use is not None and store.in_use.number != number:
        record = record.noted(store.in_use.number, left=now)
    return record.noted(number, left=None)


def _mixed(intent: Intent, live: Live, *, before: str | None) -> Intent:
    """What started between the link and the reload has the old unit and the new environment: it starts again.

    That holds for a target with manual restarts as well: its service has just lost its load anyway.
    """
    now = live.show()
    if now is None or not now.is_running or now.invocation == before:
        return intent
    if intent.step in (Step.START, Step.RESTART):
        return intent
    return evolve(intent, step=Step.RESTART, reasons=("it was started while the unit changed",))


def _set_going(intent: Intent, record: Record, store: Store, *, site: Site) -> Switched:
    number = intent.number
    if intent.step is Step.NOTHING and intent.running not in (None, number):
        note = record.note(intent.running or 0)
        record = evolve(record, started=number)
        record = site.remember(record.noted(number, state=note.state, load_s=note.load_s))
    if intent.step in (Step.NOTHING, Step.LEFT):
        return Switched(current=number, state=record.note(number).state)
    if intent.step is not Step.WAIT:
        record, watched = start(site, record, number=number)
    elif site.manner.waits:
        record, watched = follow(site, record, number=number, before=None)
    else:
        watched = None
    note = record.note(number)
    if watched is None or watched.outcome is Outcome.READY:
        load_s = None if intent.step is Step.WAIT else note.load_s
        return Switched(current=number, state=note.state, load_s=load_s)
    returned = go_back(site, store, record, failed=number, restarts=intent.step is not Step.START)
    return Switched(
        current=returned.current,
        state=State.FAILED,
        returned=returned,
        diagnostics=troubles.failed(intent.service.unit, number, watched, returned),
    )
