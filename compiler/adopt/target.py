"""A unit goes in; the settings of a target come out, and each of its lines that no setting carries."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from compiler.adopt.launch import Change, Setting
from compiler.adopt.systemdtime import FOREVER, seconds
from compiler.adopt.unitsheet import CLOSE, CONTAINER, OPEN, Assigned, UnitSheet
from compiler.engines.adopting import ChangeKind
from compiler.quantities import Duration


TARGET = "*"
"""Stands in a path for the target's name."""
DEFAULT_TARGET = "host"
"""What a target is called that nobody named."""

_TIMES = {
    "TimeoutStartSec": "start_timeout",
    "TimeoutStopSec": "stop_timeout",
    "RestartSec": "restart_delay",
}
_HOME = re.compile(r"(?P<home>/home/[^/]+)/\.config/")
# podman-systemd.unit(5), `Notify=`: else the service counts as started with its container.
_NOTIFIES = frozenset({"true", "yes", "on", "1", "healthy"})
_WAITS_FOR_START = frozenset({"notify", "notify-reload", "forking", "oneshot", "dbus"})
# What the unit that is written has, too, or what was looked at elsewhere.
_COVERED = frozenset(
    {
        ("Unit", "Description"),
        ("Unit", "StartLimitIntervalSec"),
        ("Unit", "StartLimitInterval"),
        ("Service", "StartLimitInterval"),
        ("Service", "Type"),
        ("Service", "ExecStart"),
        ("Service", "Environment"),
        ("Service", "EnvironmentFile"),
        ("Service", "UnsetEnvironment"),
        ("Service", "PassEnvironment"),
        ("Service", "User"),
        ("Install", "WantedBy"),
    }
)
_SAME = frozenset(
    {
        ("Unit", "After", "network-online.target"),
        ("Unit", "After", "network.target"),
        ("Unit", "Wants", "network-online.target"),
        ("Service", "Restart", "on-failure"),
        ("Service", "LimitMEMLOCK", "infinity"),
        ("Service", "LimitNOFILE", "65536"),
        ("Service", "KillMode", "mixed"),
        ("Service", "StandardOutput", "journal"),
        ("Service", "StandardError", "journal"),
        ("Service", "WorkingDirectory", "/"),
    }
)


def target_settings(sheet: UnitSheet) -> tuple[Setting, ...]:
    """The target of a unit, its name left open, and the profile's description."""
    return (*_description(sheet), *_target(sheet))


def target_changes(sheet: UnitSheet) -> tuple[Change, ...]:
    """The lines of a unit that no setting carries."""
    return tuple(_not_carried(sheet))


def _description(sheet: UnitSheet) -> Iterator[Setting]:
    told = sheet.last("Unit", "Description")
    if told is not None and _plain(told):
        text = " ".join(told.value.replace("%%", "%").split())
        yield Setting(path=("description",), value=text, span=told.span)


def _target(sheet: UnitSheet) -> Iterator[Setting]:
    yield Setting(path=("targets", TARGET, "kind"), value="systemd")
    # One that a page shows has no name.
    name = sheet.name.rpartition(".")[0]
    if name:
        yield Setting(path=("targets", TARGET, "unit"), value=name)
    user = sheet.last("Service", "User")
    if sheet.is_user:
        yield Setting(path=("targets", TARGET, "manager"), value="user")
        yield from _state_dir(sheet)
    elif user is not None and _plain(user):
        yield Setting(path=("targets", TARGET, "user"), value=user.value, span=user.span)
    for key, setting in _TIMES.items():
        told = sheet.last("Service", key)
        value = _duration(told, sheet) if told is not None else None
        if told is not None and value is not None:
            yield Setting(path=("targets", TARGET, setting), value=value, span=told.span)
    burst = sheet.last("Unit", "StartLimitBurst") or sheet.last("Service", "StartLimitBurst")
    if burst is not None and burst.value.isdecimal() and int(burst.value) > 0:
        yield Setting(path=("targets", TARGET, "restarts"), value=int(burst.value), span=burst.span)


def _state_dir(sheet: UnitSheet) -> Iterator[Setting]:
    """Where a user's service may write, for a unit that lies in a user's home."""
    home = next((_HOME.match(each) for each in sheet.sources), None)
    if home is not None:
        unit = sheet.name.rpartition(".")[0]
        value = f"{home['home']}/.local/state/poolproof/{unit}"
        yield Setting(path=("targets", TARGET, "state_dir"), value=value)


def _duration(told: Assigned, sheet: UnitSheet) -> str | None:
    """A time that a setting can hold; a bound on a start that the unit's type does not have is none."""
    if told.key == "TimeoutStartSec" and not waits_for_start(sheet):
        return None
    time = seconds(told.value)
    if time is None or time == FOREVER or time < 1:
        return None
    return str(Duration(math.ceil(time)))


def waits_for_start(sheet: UnitSheet) -> bool:
    """Whether the type of a unit makes `TimeoutStartSec=` bound the load of a model."""
    if sheet.is_quadlet:
        ready = sheet.last(CONTAINER, "Notify")
        return ready is not None and ready.value.lower() in _NOTIFIES
    kind = sheet.last("Service", "Type")
    return kind is not None and kind.value in _WAITS_FOR_START


def _not_carried(sheet: UnitSheet) -> Iterator[Change]:
    carried = {each.span for each in _target(sheet) if each.span is not None}
    for each in sheet.assigned:
        if (each.section, each.key) in _COVERED or (each.section, each.key, each.value) in _SAME:
            continue
        if each.section not in {"Unit", "Service", "Install"} or each.key.startswith("X-"):
            continue
        if each.span in carried or not each.value:
            continue
        text = f"`{each.key}={each.raw}` is not carried{_instead(each, sheet)}"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=each.span)


def _instead(each: Assigned, sheet: UnitSheet) -> str:
    """What the unit that is written has in its place."""
    if each.key == "TimeoutStartSec" and sheet.is_quadlet:
        return ": it bounds the pull of the image there; set `start_timeout` to bound the load"
    if each.key == "Restart":
        return ": the unit that is written has `Restart=on-failure`"
    if each.key == "WorkingDirectory":
        return ": the server is started in `/`, so that relative paths lead elsewhere"
    if each.key == "TimeoutStartSec":
        return ": it did not bound the load here; set `start_timeout` to bound it"
    return ""


def _plain(told: Assigned) -> bool:
    return OPEN not in told.value and CLOSE not in told.value and "\\" not in told.value
