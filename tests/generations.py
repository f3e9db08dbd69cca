"""A host in a folder for the tests of `switch` and the verbs around it, with a manager that keeps what systemd keeps.

The manager reads the unit through its link when it is told to reload, and the environment when it starts the service, as
systemd does. So a test sees which of the two really runs. It counts as a host though its root is not `/`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from compiler.diagnostics import Diagnostic
from compiler.engines.observing import Start
from compiler.host.ending import Outcome
from compiler.host.finding import find_unit, service_in
from compiler.host.intent import Intent, intend_switch
from compiler.host.live import Say
from compiler.host.machine import Finished, Machine
from compiler.host.places import Places
from compiler.host.preflight import Preflight, preflight
from compiler.host.preflight_probe import HostProbe
from compiler.host.promised import Promised
from compiler.host.rollback import choose_generation, intend_rollback
from compiler.host.site import Manner
from compiler.host.staged import Staged, read_staged
from compiler.host.store import Store, read_store
from compiler.host.switching import Switched, switch
from compiler.host.units import Scope, UnitState
from compiler.host.watch import Watched
from compiler.writtenplan import WrittenPlan


OUT = Path(__file__).parent.parent / "out"
UNIT = "kimi-k2.6.service"
STATE_DIR = "/var/lib/poolproof/kimi-k2.6"
SMALL, LARGE, FP8 = "k2.6-32k", "k2.6-200k", "k2.6-200k-fp8kv"
"""Three profiles of one unit on the same target."""

FINE = Finished(code=0, stdout="", stderr="")


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


class Stopping(Machine):
    """A machine that lets so many steps happen; the next one meets `stop`. It runs no command."""

    def __init__(self, at: int = 10**9, stop: Callable[[], None] | None = None) -> None:
        self.at = at
        self.steps: list[str] = []
        self._stop = stop or _kill

    def step(self, name: str) -> None:
        """Stop, or note what is about to be done."""
        if len(self.steps) >= self.at:
            self._stop()
        self.steps.append(name)

    def run(self, command: object, *, timeout_s: float) -> Finished:
        """Note the command."""
        del timeout_s
        self.step(f"run {command}")
        return FINE


def _kill() -> None:
    raise Killed


class Manager:
    """What systemd keeps of one unit.

    Attributes:
        loaded: the text of the unit as it was read last.
        runs: the unit and the environment that the running process was started with.
        failing: texts of units that do not become ready.
        reload_ends: how a reload ends.
        told: what the running server tells of its start.
        probe: what the host is asked by, where it is.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loaded: bytes | None = None
        self.runs: tuple[bytes | None, bytes] | None = None
        self.failing: dict[bytes, Outcome] = {}
        self.reload_ends = FINE
        self.answers = True
        self.is_masked = False
        self.crashes_at_reload = False
        self.told: Start | None = None
        self.probe: HostProbe | None = None
        self._starts = 0
        self._failed = False
        self.watched = 0

    def unreachable(self) -> str | None:
        """As in `Live`."""
        return None if self.answers else "the bus is not there"

    def show(self) -> UnitState | None:
        """As in `Live`."""
        if not self.answers:
            return None
        return UnitState(
            load_state="masked" if self.is_masked else "loaded",
            active="active" if self.runs else "failed" if self._failed else "inactive",
            sub="running" if self.runs else "dead",
            result="success",
            invocation=f"{self._starts:032x}" if self._starts else None,
        )

    def check(self, plan: WrittenPlan, folder: Path, *, target: str) -> Preflight:
        """Nothing is wrong with this host, unless a test has it asked."""
        if self.probe is None:
            return Preflight(diagnostics=(), skipped=())
        return preflight(plan, folder, scope=Scope.SYSTEM, probe=self.probe, target=target)

    def start(self, promised: Promised) -> Start | None:
        """What a test says that it tells."""
        del promised
        return self.told

    def reload(self, machine: Machine) -> Finished:
        """Read the unit through its link."""
        machine.run(("systemctl", "daemon-reload"), timeout_s=1)
        if self.crashes_at_reload and self.runs:
            self._start()
        if self.reload_ends.fine:
            self.loaded = self._read(f"/etc/systemd/system/{UNIT}")
        return self.reload_ends

    def begin_restart(self, machine: Machine) -> Finished:
        """Start with what was read, and the environment as it is now."""
        machine.run(("systemctl", "restart", "--no-block", UNIT), timeout_s=1)
        self._start()
        return FINE

    def stop(self, machine: Machine, *, timeout_s: float) -> Finished:
        """Nothing runs after it."""
        del timeout_s
        machine.run(("systemctl", "stop", UNIT), timeout_s=1)
        self.runs = None
        return FINE

    def forget(self, machine: Machine) -> Finished:
        """It did not fail."""
        machine.run(("systemctl", "reset-failed", UNIT), timeout_s=1)
        self._failed = False
        return FINE

    def watch(self, *, before: str | None, timeout_s: float, say: Say) -> Watched:
        """Ready, unless what was read is one of the failing."""
        del before, timeout_s, say
        self.watched += 1
        outcome = self.failing.get(self.loaded or b"", Outcome.READY)
        if outcome is not Outcome.READY:
            self.runs, self._failed = None, True
        return Watched(
            outcome=outcome,
            why="the server is ready" if outcome is Outcome.READY else "the main process ended",
            lines=()
            if outcome is Outcome.READY
            else ("torch.OutOfMemoryError: CUDA out of memory",),
            elapsed_s=240.0,
        )

    def _start(self) -> None:
        self._starts += 1
        environment = self._read(f"{STATE_DIR}/current/kimi-k2.6.env") or b""
        self.runs = (self.loaded, environment)

    def _read(self, path: str) -> bytes | None:
        """A file of this host, its absolute links read below the root."""
        here = self.root / path.lstrip("/")
        while here.is_symlink():
            text = str(here.readlink())
            here = self.root / text.lstrip("/") if text.startswith("/") else here.parent / text
        return here.read_bytes() if here.is_file() else None


class Host:
    """A host in a folder, and its manager; `None` for one that is only an image."""

    def __init__(self, root: Path, *, is_live: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.manager = Manager(root) if is_live else None

    @property
    def places(self) -> Places:
        """The places of the unit."""
        return Places(root=self.root, scope=Scope.SYSTEM, state_dir=STATE_DIR, unit=UNIT)

    @property
    def store(self) -> Store:
        """Its generations, as they stand."""
        store = read_store(self.places)
        assert isinstance(store, Store)
        return store

    @property
    def live(self) -> Manager:
        """The manager, where there is one."""
        assert self.manager is not None
        return self.manager

    @property
    def link(self) -> Path:
        """Where the manager looks for the unit."""
        return self.root / "etc/systemd/system" / UNIT

    def copy(self, root: Path) -> Host:
        """The same host once more."""
        shutil.copytree(self.root, root, symlinks=True)
        other = Host(root, is_live=self.manager is not None)
        if self.manager is not None:
            vars(other.live).update(vars(self.manager), root=root)
        return other

    def intend(
        self, profile: str, *, out: Path = OUT, replace: bool = False
    ) -> Intent | tuple[Diagnostic, ...]:
        """A switch that is only worked out."""
        return intend_switch(
            staged(profile, out=out), root=self.root, live=self.manager, replace=replace
        )

    def switch(
        self,
        profile: str,
        *,
        out: Path = OUT,
        machine: Machine | None = None,
        replace: bool = False,
        waits: bool = True,
        returns: bool = True,
    ) -> Switched:
        """A switch that nothing refuses."""
        intent = self.intend(profile, out=out, replace=replace)
        assert isinstance(intent, Intent), intent
        assert not intent.refused, intent.findings
        return switch(
            intent,
            machine=machine or Stopping(),
            live=self.manager,
            manner=Manner(waits=waits, returns=returns),
        )

    def rollback(self, number: int | None = None, *, machine: Machine | None = None) -> Switched:
        """A rollback that nothing refuses."""
        store = find_unit(self.root, None)
        assert isinstance(store, Store), store
        one = choose_generation(store, number)
        assert not isinstance(one, Diagnostic), one
        service = service_in(one)
        assert service is not None
        intent = intend_rollback(store, one, service, live=self.manager)
        assert not intent.refused, intent.findings
        manner = Manner(returns=False)
        return switch(intent, machine=machine or Stopping(), live=self.manager, manner=manner)


def staged(profile: str, *, out: Path = OUT) -> Staged:
    """A target of a compiled tree that is as it should be."""
    found = read_staged(out, profile, target=None)
    assert isinstance(found, Staged), found
    return found


def unit_of(profile: str) -> bytes:
    """The text of a profile's unit."""
    return (OUT / profile / "ct200" / UNIT).read_bytes()


def codes(found: object) -> list[str]:
    """The codes of some findings, or of what came of a switch."""
    several = found.diagnostics if isinstance(found, Switched) else found
    assert isinstance(several, tuple)
    return [each.code for each in several]
