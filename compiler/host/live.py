"""One unit of a running host, as the verbs ask and tell it. A test puts its own in the place of systemd."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from attrs import frozen

from compiler.engines.observers import observer_of
from compiler.engines.observing import Start
from compiler.host import units
from compiler.host.machine import Finished, Machine
from compiler.host.preflight import Preflight, preflight
from compiler.host.preflight_probe import RealProbe
from compiler.host.promised import Promised
from compiler.host.service import Service
from compiler.host.units import UnitState
from compiler.host.watch import Event, Watched, watch
from compiler.value import Value
from compiler.writtenplan import WrittenPlan


Say = Callable[[Event], None]


class Live(Protocol):
    """What answers for one unit."""

    def unreachable(self) -> str | None:
        """Why the manager does not answer; `None` when it does."""

    def show(self) -> UnitState | None:
        """The unit as the manager has it; `None` when it does not answer."""

    def check(self, plan: WrittenPlan, folder: Path, *, target: str) -> Preflight:
        """Whether the host has what a target of a plan needs, whose files are in a folder."""

    def start(self, promised: Promised) -> Start | None:
        """What the server that runs tells of its start, asked where a plan says; `None` when it does not answer."""

    def reload(self, machine: Machine) -> Finished:
        """Have the manager read its units again."""

    def begin_restart(self, machine: Machine) -> Finished:
        """Queue a restart; a unit that does not run is started. Earlier failures do not count against it."""

    def stop(self, machine: Machine, *, timeout_s: float) -> Finished:
        """Stop the unit, and wait."""

    def forget(self, machine: Machine) -> Finished:
        """Have the manager forget how the unit ended."""

    def watch(self, *, before: str | None, timeout_s: float, say: Say) -> Watched:
        """Follow a start to its end; `before` is the invocation that is not the one to wait for."""


@frozen(kw_only=True, eq=False, repr=False)
class Systemd(Value):
    """A unit of this host's systemd; each method is as in `Live`."""

    service: Service

    def unreachable(self) -> str | None:
        """Why the manager does not answer."""
        return units.reachable(self.service.scope)

    def show(self) -> UnitState | None:
        """`systemctl show`."""
        return units.show(self.service.unit, scope=self.service.scope)

    def check(self, plan: WrittenPlan, folder: Path, *, target: str) -> Preflight:
        """The checks of `preflight`, on this host."""
        scope = self.service.scope
        return preflight(plan, folder, target=target, scope=scope, probe=RealProbe())

    def start(self, promised: Promised) -> Start | None:
        """By its endpoints; a journal may hold more than one start."""
        from compiler.host.asked import MeantServer, ask_unit  # noqa: PLC0415 - few switches ask

        observer = observer_of(promised.engine)
        if observer is None:
            return None
        unit = self.service.unit
        asked = MeantServer(unit=unit, scope=self.service.scope)
        return ask_unit(asked, unit, observer=observer, promised=promised).start

    def reload(self, machine: Machine) -> Finished:
        """`systemctl daemon-reload`."""
        return units.reload(machine, scope=self.service.scope)

    def begin_restart(self, machine: Machine) -> Finished:
        """`systemctl reset-failed`, then `restart --no-block`."""
        self.forget(machine)
        return units.begin_restart(machine, self.service.unit, scope=self.service.scope)

    def stop(self, machine: Machine, *, timeout_s: float) -> Finished:
        """`systemctl stop`."""
        return units.stop(machine, self.service.unit, scope=self.service.scope, timeout_s=timeout_s)

    def forget(self, machine: Machine) -> Finished:
        """`systemctl reset-failed`; it is no fault that there was nothing to forget."""
        return units.reset_failed(machine, self.service.unit, scope=self.service.scope)

    def watch(self, *, before: str | None, timeout_s: float, say: Say) -> Watched:
        """The unit's state and its journal, until the server is ready or is not."""
        return watch(
            self.service.unit,
            scope=self.service.scope,
            before=before,
            timeout_s=timeout_s,
            say=say,
            engine=self.service.engine,
        )
