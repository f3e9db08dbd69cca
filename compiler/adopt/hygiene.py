"""What is wrong with a unit that somebody wrote, whatever it starts. Rules judge, they never repair.

Each function takes a unit and gives findings. Facts about systemd were measured on 252.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from compiler.adopt.systemdtime import FOREVER, seconds
from compiler.adopt.target import waits_for_start
from compiler.adopt.unitsheet import Assigned, UnitSheet
from compiler.diagnostics import Diagnostic, Label, Severity, error, present, warning


# systemd-system.conf(5): DefaultRestartSec=, DefaultStartLimitIntervalSec=, DefaultStartLimitBurst=.
_RESTART_S, _LIMIT_S, _LIMIT_BURST = 0.1, 10.0, 5
_OLD_INTERVAL = "StartLimitInterval"
_INTERVAL = "StartLimitIntervalSec"
_YES = frozenset({"1", "yes", "true", "on"})
_KILLS = re.compile(
    r"\b(pkill|killall)\b|\bfuser\s+(-\w*k|--kill)|\bkill\b[^;|&]*\$\(|\bxargs\b[^;|&]*\bkill\b"
)
_VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")
_BEFORE_START = ("ExecCondition", "ExecStartPre")
_DEPENDENCIES = ("Requires", "Requisite", "BindsTo", "Wants", "After")
_SYSTEM_ONLY = frozenset({"docker.service", "nvidia-persistenced.service", "containerd.service"})


def judge_unit(sheet: UnitSheet) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with it, rule by rule."""
    return tuple(found for rule in _RULES for found in rule(sheet))


def loops(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """A unit that restarts more slowly than its limit counts is restarted for ever."""
    restart = sheet.last("Service", "Restart")
    if restart is None or restart.value in {"no", "on-success"}:
        return
    told = sheet.last("Service", "RestartSec")
    pause = _time(told, _RESTART_S)
    interval_at = (
        sheet.last("Unit", _INTERVAL)
        or sheet.last("Unit", _OLD_INTERVAL)
        or sheet.last("Service", _OLD_INTERVAL)
    )
    burst_at = sheet.last("Unit", "StartLimitBurst") or sheet.last("Service", "StartLimitBurst")
    interval = _time(interval_at, _LIMIT_S)
    burst = (
        int(burst_at.value) if burst_at is not None and burst_at.value.isdecimal() else _LIMIT_BURST
    )
    if interval and burst and (burst * pause < interval or interval == FOREVER):
        return
    reason = (
        "the limit is switched off"
        if not (interval and burst)
        else f"{burst} pauses of {pause:g} s take {burst * pause:g} s, longer than the {interval:g} s in which {burst} starts are counted"
    )
    yield warning(
        "restart-loops-forever",
        "a server that fails is started again for ever",
        Label(restart.span, "restarts it"),
        secondary=present(
            _label(told, "this long after each failure"),
            _label(interval_at, "counts starts over this time"),
            _label(burst_at, "allows so many"),
        ),
        notes=(
            reason,
            *(() if interval_at or burst_at else ("systemd's own limit is 5 starts in 10 s",)),
        ),
        help=(
            f"set `StartLimitBurst=3` and `{_INTERVAL}=` in `[Unit]`, longer than four loads with their pauses; a unit that Poolproof writes has both",
        ),
    )


def misplaced_limit(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """Only its old name is read in `[Service]`."""
    for each in sheet.of("Service", _INTERVAL):
        yield warning(
            "start-limit-misplaced",
            f"`{_INTERVAL}=` is ignored in `[Service]`",
            Label(each.span, "has no effect here"),
            notes=("systemd reads it in `[Unit]` only, and says so once in the journal",),
            help=("move the line to `[Unit]`",),
        )


def no_template(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """An instance's name is empty in a unit that is no template."""
    # One that a page shows has no name.
    if "@" in sheet.name or "." not in sheet.name:
        return
    for each in sheet.assigned:
        found = re.search(r"(?<!%)(?:%%)*%[iI]", each.raw)
        if found is not None:
            yield warning(
                "instance-not-template",
                f"`%i` in `{each.key}=` is empty: `{sheet.name}` is no template",
                Label(each.span, "says less than it seems to"),
                notes=("`%i` is what stands behind `@` in a unit's name",),
                help=(
                    f"name the file `{sheet.name.rpartition('.')[0]}@.service`, or write the value itself",
                ),
            )


def network_not_wanted(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """`After=` alone orders what nobody starts."""
    online = "network-online.target"
    after = next((each for each in sheet.of("Unit", "After") if online in each.value.split()), None)
    wanted = any(
        online in each.value.split()
        for key in ("Wants", "Requires", "BindsTo")
        for each in sheet.of("Unit", key)
    )
    if after is not None and not wanted:
        yield warning(
            "network-not-wanted",
            f"nothing starts `{online}`, so that `After=` may wait for nothing",
            Label(after.span, "orders only"),
            help=(f"add `Wants={online}` beside it",),
        )


def hidden_gpu(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """Sandboxing that takes away what a GPU server needs."""
    for key, why in (
        ("PrivateDevices", "the service sees no `/dev/nvidia*`, and CUDA finds no device"),
        (
            "MemoryDenyWriteExecute",
            "kernels are compiled while the server runs, which needs memory that is written and executed",
        ),
    ):
        told = sheet.last("Service", key)
        if told is not None and told.value.lower() in _YES:
            yield error(
                "sandbox-hides-gpu",
                f"`{key}={told.value}` keeps the server from its GPU",
                Label(told.span, "not with a GPU"),
                notes=(why,),
                help=("remove the line",),
            )


def hidden_home(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """A home folder that is not there cannot hold the model, nor the cache of kernels."""
    told = sheet.last("Service", "ProtectHome")
    if told is None or told.value.lower() not in {*_YES, "tmpfs"}:
        return
    named = next(
        (
            each
            for each in sheet.assigned
            if each.section == "Service"
            and re.search(r"(?:^|[\s=\"':])/(?:home|root)/", each.value)
        ),
        None,
    )
    if named is not None:
        yield error(
            "sandbox-hides-home",
            f"`ProtectHome={told.value}` hides the folder that `{named.key}=` names",
            Label(told.span, "hides `/home` and `/root`"),
            secondary=(Label(named.span, "a path in there"),),
            help=("remove `ProtectHome=`, or keep model, caches, and Python elsewhere",),
        )


def kills_others(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """A command before the start that ends processes by their name or their GPU ends other people's, too."""
    for key in _BEFORE_START:
        for each in sheet.of("Service", key):
            found = _KILLS.search(each.value)
            if found is not None:
                yield warning(
                    "start-kills-others",
                    f"`{key}=` ends processes that this unit did not start",
                    Label(each.span, "whoever they belong to"),
                    notes=(
                        "another server on the same machine is ended as well, each time this one starts",
                    ),
                    help=("remove the line: systemd ends what is left of the unit itself",),
                )


def unbounded_load(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """With `Type=simple` a start is over before the model loads."""
    if sheet.is_quadlet:
        # Podman makes it `Type=notify`, and its manual has the setting for slow pulls: podman-systemd.unit(5).
        return
    told = sheet.last("Service", "TimeoutStartSec")
    if told is None or waits_for_start(sheet) or seconds(told.value) in {None, 0.0, FOREVER}:
        return
    kind = sheet.last("Service", "Type")
    name = kind.value if kind is not None else "simple"
    yield warning(
        "start-timeout-unbinding",
        f"`TimeoutStartSec={told.value}` does not bound the load of the model",
        Label(told.span, "bounds `ExecStartPre=` only"),
        secondary=present(_label(kind, "started means forked")),
        notes=(
            f"with `Type={name}` systemd takes the service for started before its first log line",
        ),
        help=(
            "adopt it: a unit that Poolproof writes is started when the server answers, within `start_timeout`",
        ),
    )


def literal_variable(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """`$` is a plain character in `Environment=`."""
    for each in sheet.of("Service", "Environment"):
        found = _VARIABLE.search(each.value)
        if found is not None:
            yield warning(
                "variable-not-expanded",
                f"`{found[0]}` stays as it is: `Environment=` expands no variables",
                Label(each.span, "taken literally"),
                help=("write the value itself",),
            )


def system_unit(sheet: UnitSheet) -> Iterator[Diagnostic]:
    """A user's manager knows no units of the system."""
    if not sheet.is_user:
        return
    for key in _DEPENDENCIES:
        for each in sheet.of("Unit", key):
            named = next((name for name in each.value.split() if name in _SYSTEM_ONLY), None)
            if named is not None:
                fails = key in {"Requires", "Requisite", "BindsTo"}
                yield Diagnostic(
                    code="user-unit-needs-system",
                    severity=Severity.ERROR if fails else Severity.WARNING,
                    summary=f"`{named}` is a unit of the system, which a user's manager does not know",
                    primary=Label(
                        each.span, "the unit does not start" if fails else "has no effect"
                    ),
                    help=("remove it, or install the unit for the system",),
                )


_RULES: tuple[Callable[[UnitSheet], Iterator[Diagnostic]], ...] = (
    loops,
    misplaced_limit,
    no_template,
    network_not_wanted,
    hidden_gpu,
    hidden_home,
    kills_others,
    unbounded_load,
    literal_variable,
    system_unit,
)


def _time(told: Assigned | None, default: float) -> float:
    time = seconds(told.value) if told is not None else None
    return default if time is None else time


def _label(told: Assigned | None, text: str) -> Label | None:
    return None if told is None else Label(told.span, text)
