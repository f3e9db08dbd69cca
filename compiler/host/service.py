"""What plan.json says of a service: the unit, its manager, the folder of its generations, and its times."""

from __future__ import annotations

import re

from attrs import frozen

from compiler.host.units import Scope
from compiler.value import Value
from compiler.writtenplan import PLAN, WrittenPlan


REVIEW = "PLAN.md"

_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,240}\.service")
_LONGEST_PATH = 2048  # of PATH_MAX's 4096 bytes, so that what is below fits as well
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


def service_of(plan: WrittenPlan, target: str) -> Service | str:
    """What a plan says of a target; or why it cannot be run, as a sentence."""
    each = plan.targets.get(target, f"it has no target `{target}`")
    if isinstance(each, str):
        return f"of its `{PLAN}`: {each}"
    if each.kind != "systemd":
        return f"its kind is `{each.kind}`, and a switch knows `systemd`"
    if each.manager not in list(Scope) or not is_unit_name(each.unit):
        return f"`{each.unit}` of the `{each.manager}` manager is no unit that can be switched"
    if not _is_state_dir(each.state_dir):
        return f"`{each.state_dir}` is no folder for generations"
    return Service(
        unit=each.unit,
        scope=Scope(each.manager),
        state_dir=each.state_dir,
        engine=None if plan.engine is None else plan.engine.name,
        start_timeout_s=each.start_timeout_s,
        stop_timeout_s=each.stop_timeout_s,
        restarts_itself=each.on_change != "manual",
    )


def is_unit_name(name: object) -> bool:
    """Whether it is a whole name of a service, and one that leads nowhere else as a file's."""
    return isinstance(name, str) and _UNIT.fullmatch(name) is not None


def _is_state_dir(path: str) -> bool:
    names = path.split("/")[1:]
    plain = all(name not in ("", ".", "..") for name in names)
    sizes = len(path.encode()) <= _LONGEST_PATH and len(names) >= _LEAST_DEPTH
    return path.startswith("/") and plain and sizes and path.isprintable()
