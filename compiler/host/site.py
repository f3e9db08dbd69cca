"""What every step of a verb needs at hand: where, which service, the seam to the machine, systemd, and how to go about it."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from compiler.host.live import Live, Say
from compiler.host.machine import Machine
from compiler.host.places import Places
from compiler.host.record import Record, write_record
from compiler.host.service import Service
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Manner(Value):
    """How a switch is made.

    Attributes:
        waits: whether it waits until the service is ready.
        returns: whether it goes back by itself when that fails.
        say: what is told how a load goes.
        tell: what is told a sentence, where something else is begun.
    """

    waits: bool = True
    returns: bool = True
    say: Say = field(default=lambda _: None)
    tell: Callable[[str], None] = field(default=lambda _: None)


@frozen(kw_only=True, eq=False, repr=False)
class Site(Value):
    """One unit being worked on."""

    places: Places
    service: Service
    machine: Machine
    live: Live
    manner: Manner = field(factory=Manner)

    def remember(self, record: Record) -> Record:
        """Write the record; it is returned."""
        write_record(self.machine, self.places.state, record)
        return record
