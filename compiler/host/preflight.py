"""What the host must have before anything is written: files, GPUs, a port, limits, disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.host.preflight_probe import HostProbe
from compiler.host.units import Scope
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Skipped(Value):
    """A check that could not be made, and why."""

    what: str
    why: str


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
    plan: Mapping[str, Any], folder: Path, *, scope: Scope, probe: HostProbe
) -> Preflight:
    """Check a host for a compiled target.

    Args:
        plan: the content of the profile's `plan.json`.
        folder: the target's folder, with its unit and environment file.
        scope: the manager that will run it.
        probe: what the host is asked; `RealProbe()` is this host.
    """
    raise NotImplementedError
