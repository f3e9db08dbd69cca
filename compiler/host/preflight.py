"""What the host must have before anything is written: users, files, GPUs, a port, limits, disk.

Each check takes the needs of a target and asks the probe; it gives findings, and says what it could not check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error
from compiler.host.needs import Needs, read_needs
from compiler.host.preflight_engine import (
    check_compiler,
    check_memory,
    check_packages,
    check_release,
)
from compiler.host.preflight_files import (
    check_account,
    check_disk,
    check_models,
    check_python,
    check_secrets,
)
from compiler.host.preflight_hardware import (
    check_gpus,
    check_memlock,
    check_port,
    check_shared_memory,
)
from compiler.host.preflight_probe import HostProbe
from compiler.host.situation import CheckResult, Situation, Skipped
from compiler.host.units import Scope
from compiler.value import Value
from compiler.writtenplan import PLAN, WrittenPlan


CHECKS: tuple[Callable[[Situation], Iterator[CheckResult]], ...] = (
    check_account,
    check_python,
    check_models,
    check_secrets,
    check_gpus,
    check_port,
    check_memlock,
    check_shared_memory,
    check_disk,
    check_memory,
    check_packages,
    check_release,
    check_compiler,
)


@frozen(kw_only=True, eq=False, repr=False)
class Preflight(Value):
    """What was found, and what could not be checked."""

    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]

    @property
    def refused(self) -> bool:
        """Whether any finding is an error."""
        return any(each.is_error for each in self.diagnostics)


def preflight(
    plan: WrittenPlan, folder: Path, *, scope: Scope, probe: HostProbe, target: str | None = None
) -> Preflight:
    """Check a host for a compiled target. Nothing is written; all checks are made, whatever the first ones find.

    Args:
        plan: what the profile's `plan.json` says.
        folder: the target's folder or a generation of it, with its unit and environment file.
        scope: the manager that will run it.
        probe: what the host is asked; `RealProbe()` is this host.
        target: its name, where that is not the folder's.

    Errors, in the result: `host-tree`, `host-user`, `host-python`, `host-model`, `host-secret`, `host-driver`,
    `host-gpu`, `host-port`, `host-shared-memory`, `host-disk`, `host-memory`, `host-package`, `host-release`; warnings are
    `host-memlock`, `host-compiler`, and `host-release` where another build of that release is there.
    """
    needs = _needs(plan, folder, folder.name if target is None else target)
    if isinstance(needs, str):
        return Preflight(diagnostics=(_no_tree(folder, needs),), skipped=())
    name = (needs.user or "root") if scope is Scope.SYSTEM else None
    situation = Situation(needs=needs, scope=scope, probe=probe, account=probe.account(name))
    found = [each for check in CHECKS for each in check(situation)]
    return Preflight(
        diagnostics=tuple(each for each in found if isinstance(each, Diagnostic)),
        skipped=tuple(each for each in found if isinstance(each, Skipped)),
    )


def _needs(plan: WrittenPlan, folder: Path, name: str) -> Needs | str:
    """What the target in a folder needs; or why that cannot be read."""
    facts, target = plan.facts, plan.targets.get(name, f"it has no target `{name}`")
    if isinstance(facts, str) or isinstance(target, str):
        return f"of its `{PLAN}`: {facts if isinstance(facts, str) else target}"
    try:
        return read_needs(facts, target, folder)
    except (OSError, LookupError, ValueError) as fault:
        return f"{type(fault).__name__}: {fault}"


def _no_tree(folder: Path, why: str) -> Diagnostic:
    return error(
        "host-tree",
        f"`{folder.name}` cannot be read as a compiled target",
        notes=(why,),
        help=("compile it again with this version: `poolproof compile`",),
    )
