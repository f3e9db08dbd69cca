"""A generation started and followed until it is ready or is not, and what is remembered of it."""

from __future__ import annotations

from attrs import evolve

from compiler.host.ending import Outcome
from compiler.host.machine import Finished
from compiler.host.record import Record, State
from compiler.host.site import Site
from compiler.host.watch import Watched


NET_S = 60 + 30
"""Above both times of the unit: `NET_S` of the compiler's `service`, and a little for systemd's own work."""


def start(site: Site, record: Record, *, number: int) -> tuple[Record, Watched | None]:
    """(Re)start the service on a generation, and follow it where that is wanted; `None` where it is not."""
    state = site.live.show()
    before = None if state is None else state.invocation
    done = site.live.begin_restart(site.machine)
    if not done.fine:
        watched = Watched(outcome=Outcome.FAILED, why=f"systemd would not start it: {reason(done)}")
        return site.remember(_noted(record, number, watched)), watched
    record = evolve(record, started=number, invocation=None)
    record = site.remember(record.noted(number, state=State.STARTING, why=None))
    if not site.manner.waits:
        return record, None
    return follow(site, record, number=number, before=before, times=True)


def follow(
    site: Site, record: Record, *, number: int, before: str | None, times: bool = False
) -> tuple[Record, Watched]:
    """Follow a start to its end; `before` is the invocation that is not the one to wait for.

    With `times` it was followed from its beginning, so that what a load takes is known after it.
    """
    service = site.service
    watched = site.live.watch(
        before=before,
        timeout_s=service.stop_timeout_s + service.start_timeout_s + NET_S,
        say=site.manner.say,
    )
    state = site.live.show()
    record = evolve(record, invocation=None if state is None else state.invocation)
    record = _noted(record, number, watched)
    if times and watched.outcome is Outcome.READY:
        record = record.noted(number, load_s=max(1, round(watched.elapsed_s)))
    return site.remember(record), watched


def _noted(record: Record, number: int, watched: Watched) -> Record:
    if watched.outcome is Outcome.READY:
        return record.noted(number, state=State.GOOD, why=None)
    return record.noted(number, state=State.FAILED, why=watched.why)


def stop(site: Site, record: Record) -> Record:
    """Stop the service; nothing is running after that, as far as is known."""
    site.live.stop(site.machine, timeout_s=site.service.stop_timeout_s + NET_S)
    return site.remember(evolve(record, started=None, invocation=None))


def reason(done: Finished) -> str:
    """Why a command failed, on one line."""
    return done.stderr.strip().replace("\n", "; ") or f"it ended with {done.code}"
