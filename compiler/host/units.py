"""What systemd is asked and told: one function a question, each within a time of its own.

Questions go through `ask` and change nothing; what changes a unit goes through the `Machine`, so that a test can stop
before it. Units are named with or without `.service`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from attrs import frozen

from compiler.host.machine import Finished, Machine, ask
from compiler.value import Value


ASK_S: Final = 10.0
"""For a question; systemd answers in milliseconds, or it is stuck."""

RELOAD_S: Final = 120.0
"""For a manager to read every unit and run its generators, for which it allows them 90 s itself."""

QUEUE_S: Final = 25.0
"""To have a job queued without waiting for it; what D-Bus allows a call."""

_PROPERTIES: Final = (
    "ActiveState",
    "DropInPaths",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecStartPost",
    "FragmentPath",
    "InactiveExitTimestampMonotonic",
    "InvocationID",
    "Job",
    "LoadState",
    "MainPID",
    "NRestarts",
    "Result",
    "SubState",
)
# `{ path=... ; argv[]=... ; ... ; code=exited ; status=4 }`: the words before may hold anything, so only the end counts.
_PROBE_END: Final = re.compile(r"; code=exited ; status=(\d+)(?:/[A-Z0-9]+)? \}\Z")


class Scope(StrEnum):
    """Which of systemd's managers runs the unit."""

    SYSTEM = "system"
    USER = "user"

    @property
    def option(self) -> str:
        """How `systemctl` is told."""
        return f"--{self.value}"


@frozen(kw_only=True, eq=False, repr=False)
class UnitState(Value):
    """A unit as systemd has it in memory, which may differ from the file on disk until it is reloaded.

    Attributes:
        load_state: `loaded`, `not-found`, `masked`, `bad-setting`, `error`.
        active: `active`, `inactive`, `activating`, `deactivating`, `failed`, `reloading`, `maintenance`.
        sub: the finer state: `start`, `start-post`, `running`, `auto-restart`, `dead`, and so on.
        result: how the last start ended: `success`, `exit-code`, `signal`, `timeout`, `start-limit-hit`, and so on.
        main_pid: the main process; `None` when there is none.
        n_restarts: how often systemd has restarted it by itself.
        fragment_path: the unit file, links in it not followed; `None` when there is none.
        drop_ins: files that change it, an operator's for instance.
        exec_main_code: how the main process ended, as wait(2) counts: 1 exited, 2 killed, 3 dumped; 0 not yet.
        exec_main_status: its exit code, or the number of the signal.
        probe_status: the exit code of the last `ExecStartPost=`; `None` when it has not ended by itself, or
            systemd has read its units again since.
        invocation: the id of the current or last start, another one for each; `None` when it was never started.
        started_us: when that start began, microseconds of the monotonic clock; 0 when it was never started.
        has_job: whether a start or stop is queued or under way.
    """

    load_state: str
    active: str
    sub: str
    result: str
    main_pid: int | None = None
    n_restarts: int = 0
    fragment_path: str | None = None
    drop_ins: tuple[str, ...] = ()
    exec_main_code: int = 0
    exec_main_status: int = 0
    probe_status: int | None = None
    invocation: str | None = None
    started_us: int = 0
    has_job: bool = False

    @property
    def exists(self) -> bool:
        """Whether there is a unit file, though it may be masked or broken."""
        return self.load_state != "not-found"

    @property
    def is_masked(self) -> bool:
        """Whether an operator forbade to start it (`systemctl mask`)."""
        return self.load_state == "masked"

    @property
    def is_running(self) -> bool:
        """Whether it is up, coming up, or going down, so that a process of it may be there."""
        return self.active in {"active", "activating", "deactivating", "reloading"}


def service_name(unit: str) -> str:
    """The whole name of a unit."""
    return f"{unit.removesuffix('.service')}.service"


def show(unit: str, *, scope: Scope) -> UnitState | None:
    """The state of a unit, by one call. `None` when systemd does not answer; a unit that is not there has a state."""
    properties = f"--property={','.join(_PROPERTIES)}"
    asked = ask(_systemctl("show", properties, service_name(unit), scope=scope), timeout_s=ASK_S)
    return read_state(asked.stdout) if asked.fine else None


def read_state(text: str) -> UnitState:
    """The state in what `systemctl show` prints."""
    told = dict(line.partition("=")[::2] for line in text.split("\n") if "=" in line)
    return UnitState(
        load_state=told.get("LoadState", ""),
        active=told.get("ActiveState", ""),
        sub=told.get("SubState", ""),
        result=told.get("Result", ""),
        main_pid=_number(told, "MainPID") or None,
        n_restarts=_number(told, "NRestarts"),
        fragment_path=told.get("FragmentPath") or None,
        drop_ins=tuple(told.get("DropInPaths", "").split()),
        exec_main_code=_number(told, "ExecMainCode"),
        exec_main_status=_number(told, "ExecMainStatus"),
        probe_status=_probe_status(told.get("ExecStartPost", "")),
        invocation=told.get("InvocationID") or None,
        started_us=_number(told, "InactiveExitTimestampMonotonic"),
        has_job=_number(told, "Job") > 0,
    )


def _number(told: Mapping[str, str], name: str) -> int:
    text = told.get(name, "")
    return int(text) if text.isdecimal() else 0


def _probe_status(text: str) -> int | None:
    found = _PROBE_END.search(text)
    return int(found[1]) if found else None


def reachable(scope: Scope) -> str | None:
    """Why this manager does not answer, as systemd says it; `None` when it does."""
    if shutil.which("systemctl") is None:
        return "`systemctl` is not installed"
    asked = ask(_systemctl("show", "--property=Version", scope=scope), timeout_s=ASK_S)
    if asked.fine:
        return None
    return " ".join(asked.stderr.split()) or f"`systemctl` ended with {asked.code}"


def reload(machine: Machine, *, scope: Scope) -> Finished:
    """Have the manager read all unit files again."""
    return machine.run(_systemctl("daemon-reload", scope=scope), timeout_s=RELOAD_S)


def stop(machine: Machine, unit: str, *, scope: Scope, timeout_s: float) -> Finished:
    """Stop a unit and wait until its processes are gone; fine when it does not run."""
    return _tell(machine, "stop", unit=unit, scope=scope, timeout_s=timeout_s)


def begin_restart(
    machine: Machine, unit: str, *, scope: Scope, timeout_s: float = QUEUE_S
) -> Finished:
    """Queue a restart and return, so that `watch` can show how it goes; starts a unit that does not run."""
    return _tell(machine, "restart", "--no-block", unit=unit, scope=scope, timeout_s=timeout_s)


def reset_failed(
    machine: Machine, unit: str, *, scope: Scope, timeout_s: float = ASK_S
) -> Finished:
    """Forget that a unit failed, and how often it was started, so that its start limit counts from nothing again."""
    return _tell(machine, "reset-failed", unit=unit, scope=scope, timeout_s=timeout_s)


def _tell(machine: Machine, *words: str, unit: str, scope: Scope, timeout_s: float) -> Finished:
    return machine.run(_systemctl(*words, service_name(unit), scope=scope), timeout_s=timeout_s)


def _systemctl(*words: str, scope: Scope) -> tuple[str, ...]:
    """A command to one of the managers, which never asks for a password and never pages."""
    return ("systemctl", scope.option, "--no-ask-password", "--no-pager", *words)
