"""What plan.json says of a service: the unit, its manager, the folder of its generations, and its times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from compiler.host.units import Scope
from compiler.value import Value


PLAN = "plan.json"
REVIEW = "PLAN.md"
SCHEMA = 1

_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,240}\.service")
_LONGEST_PATH = 2048  # of PATH_MAX's 4096 bytes, so that what is below fits as well
_LONGEST_S = 366 * 86400
_LEAST_DEPTH = 2  # `/srv` alone is nobody's folder of generations


@frozen(kw_only=True, eq=False, repr=False)
class Service(Value):
    """One target of a plan.

    Attributes:
        engine: whose log lines tell how a load goes; `None` when unknown.
        restarts_itself: whether a switch may restart it; else a person does.
    """

    unit: str
    scope: Scope
    state_dir: str
    engine: str | None
    start_timeout_s: int
    stop_timeout_s: int
    restarts_itself: bool


def parse_plan(content: bytes) -> Mapping[str, Any] | None:
    """A plan.json; `None` where it is none that is read here."""
    try:
        plan = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
        return None
    return plan if isinstance(plan.get("targets"), dict) else None


def engine_in(content: bytes) -> str | None:
    """The engine that a plan.json is for, as a person writes it; `None` where it does not say."""
    plan = parse_plan(content)
    engine = None if plan is None else plan.get("engine")
    if not isinstance(engine, dict) or not {"name", "version"} <= engine.keys():
        return None
    build = f" with {engine['build']}" if engine.get("build") else ""
    return f"{engine['name']} {engine['version']}{build}"


def read_service(plan: Mapping[str, Any], target: str) -> Service | str:
    """What a plan says of a target; or why it cannot be run, as a sentence."""
    try:
        each = plan["targets"][target]
        kind, manager, unit, state_dir, on_change = (
            str(each[key]) for key in ("kind", "manager", "unit", "state_dir", "on_change")
        )
        start_s, stop_s = _seconds(each["start_timeout_s"]), _seconds(each["stop_timeout_s"])
    except KeyError as missing:
        return f"its `{PLAN}` does not say `{missing.args[0]}`: an older Poolproof wrote it"
    except (TypeError, ValueError):
        return f"its `{PLAN}` is not as a compile writes it"
    if kind != "systemd":
        return f"its kind is `{kind}`, and a switch knows `systemd`"
    if manager not in list(Scope) or not is_unit_name(unit):
        return f"`{unit}` of the `{manager}` manager is no unit that can be switched"
    if not _is_state_dir(state_dir):
        return f"`{state_dir}` is no folder for generations"
    engine = plan.get("engine")
    return Service(
        unit=unit,
        scope=Scope(manager),
        state_dir=state_dir,
        engine=str(engine["name"]) if isinstance(engine, dict) and "name" in engine else None,
        start_timeout_s=start_s,
        stop_timeout_s=stop_s,
        restarts_itself=on_change != "manual",
    )


def is_unit_name(name: object) -> bool:
    """Whether it is a whole name of a service, and one that leads nowhere else as a file's."""
    return isinstance(name, str) and _UNIT.fullmatch(name) is not None


def _seconds(value: object) -> int:
    if type(value) is int and 0 <= value <= _LONGEST_S:
        return value
    raise ValueError


def _is_state_dir(path: str) -> bool:
    names = path.split("/")[1:]
    plain = all(name not in ("", ".", "..") for name in names)
    sizes = len(path.encode()) <= _LONGEST_PATH and len(names) >= _LEAST_DEPTH
    return path.startswith("/") and plain and sizes and path.isprintable()
