"""The way back that a switch takes by itself when the new generation fails."""

from __future__ import annotations

from enum import Enum, auto

from attrs import evolve, frozen

from compiler.host.ending import Outcome
from compiler.host.links import make_links
from compiler.host.record import Record, State
from compiler.host.site import Site
from compiler.host.staging import point_current
from compiler.host.starting import start, stop
from compiler.host.store import Store
from compiler.host.watch import Watched
from compiler.value import Value


class End(Enum):
    """Where a way back ended."""

    KEPT = auto()
    """The failed generation was left as it is, as asked for."""
    STOPPED = auto()
    """There is nothing to go back to; the service was stopped."""
    AS_BEFORE = auto()
    """The earlier generation is current, and not running, as it was."""
    RUNNING = auto()
    STARTING = auto()
    """Nobody waited."""
    FAILED = auto()
    """The earlier one did not become ready either."""


@frozen(kw_only=True, eq=False, repr=False)
class Returned(Value):
    """What came of going back.

    Attributes:
        current: the generation that is current now.
        watched: how the earlier one did, where it was started.
    """

    end: End
    current: int
    watched: Watched | None = None


def way_back(store: Store, record: Record, *, failed: int) -> int | None:
    """The generation to go back to: what ran, else what was current, else the newest that was good.

    Args:
        store: as it was before the switch.
        record: as it is now.
        failed: the one to get away from.
    """
    before = store.record.started, store.current
    good = [
        n for n in sorted(store.generations, reverse=True) if record.note(n).state is State.GOOD
    ]
    for number in (*before, *good):
        if (
            number is not None
            and number != failed
            and evolve(store, record=record).may_return_to(number)
        ):
            return number
    return None


def go_back(site: Site, store: Store, record: Record, *, failed: int, restarts: bool) -> Returned:
    """Leave a generation that failed.

    Args:
        site: the unit.
        store: as it was before the switch.
        record: as it is now.
        failed: the generation to get away from.
        restarts: whether the earlier one is started; it was not running before when not.
    """
    if not site.manner.returns:
        return Returned(end=End.KEPT, current=failed)
    number = way_back(store, record, failed=failed)
    if number is None:
        site.manner.tell("there is no earlier generation to go back to; stopping the service")
        stop(site, record)
        return Returned(end=End.STOPPED, current=failed)
    site.manner.tell(f"generation {failed} failed; going back to generation {number}")
    record = site.remember(record.noted(failed, left=site.machine.now()).noted(number, left=None))
    _point(site, store, number=number)
    if not site.live.reload(site.machine).fine:
        return Returned(end=End.FAILED, current=number)
    record = site.remember(evolve(record, loaded=number))
    if not restarts:
        stop(site, record)
        return Returned(end=End.AS_BEFORE, current=number)
    _, watched = start(site, record, number=number)
    if watched is None:
        return Returned(end=End.STARTING, current=number)
    end = End.RUNNING if watched.outcome is Outcome.READY else End.FAILED
    return Returned(end=end, current=number, watched=watched)


def point_back(site: Site, store: Store, *, failed: int) -> int:
    """Undo the links of a switch whose unit systemd would not read; the number that is current after it."""
    before = store.in_use
    if before is None or before.number == failed:
        return failed
    _point(site, store, number=before.number)
    site.live.reload(site.machine)
    return before.number


def _point(site: Site, store: Store, *, number: int) -> None:
    point_current(site.machine, site.places, number=number)
    unit = store.generations[number].content().get(site.service.unit)
    if unit is not None:
        make_links(site.machine, site.places, unit)
