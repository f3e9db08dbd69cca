"""Where things are on the host: the folder of a unit's generations, and the manager's folder of units.

A path of the host is a string, as units and links have it; where it is on this disk, below `--root`, is a `Path`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from compiler.host.units import Scope
from compiler.value import Value


CURRENT = "current"
NEW_CURRENT = ".current.new"
NEW = ".new"
"""A generation before it has a number."""

OLD = ".old-"
"""Begins the name of a generation that is being deleted."""

RECORD = "record.json"
NEW_RECORD = ".record.new"
MANIFEST = "MANIFEST"
GENERATION = "gen-"

SYSTEM_UNITS = "/etc/systemd/system"
SHADOWED: Mapping[Scope, tuple[str, ...]] = {
    # systemd.unit(5): the folders after ours, where a unit of the same name would be hidden
    Scope.SYSTEM: (
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
    ),
    Scope.USER: ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"),
}


@frozen(kw_only=True, eq=False, repr=False)
class Places(Value):
    """The places of one unit.

    Attributes:
        root: `/` on a host; the folder of an image with `--root`.
        state_dir: the folder of its generations, a path of the host.
        unit: its name with `.service`.
    """

    root: Path
    scope: Scope
    state_dir: str
    unit: str

    @property
    def state(self) -> Path:
        """The folder of the generations, on this disk."""
        return below(self.root, self.state_dir)

    @property
    def link_text(self) -> str:
        """What every link to the unit says: through `current`, so that a switch changes them all at once."""
        return f"{self.state_dir}/{CURRENT}/{self.unit}"

    @property
    def units(self) -> Path:
        """The manager's folder of units, on this disk."""
        return below(self.root, unit_folder(self.scope))

    @property
    def unit_path(self) -> Path:
        """Where the manager looks for the unit."""
        return self.units / self.unit

    @property
    def is_host(self) -> bool:
        """Whether this is the running system, not an image of one."""
        return self.root == Path("/")

    def generation(self, number: int) -> Path:
        """The folder of a generation."""
        return self.state / f"{GENERATION}{number}"

    def on_host(self, path: Path) -> str:
        """A path of this disk, as the host will know it."""
        return f"/{path.relative_to(self.root)}"

    def is_ours(self, link: Path) -> bool:
        """Whether a link points into our own tree. What it says decides, not what it leads to."""
        try:
            text = str(link.readlink())
        except OSError:
            return False
        meant = posixpath.normpath(posixpath.join(self.on_host(link.parent), text))
        return meant.startswith(f"{self.state_dir}/")


def below(root: Path, path: str) -> Path:
    """Where a path of the host is on this disk."""
    return root / path.lstrip("/")


def unit_folder(scope: Scope) -> str:
    """The manager's folder for the units that an administrator, or the user, adds."""
    if scope is Scope.SYSTEM:
        return SYSTEM_UNITS
    config = os.environ.get("XDG_CONFIG_HOME") or f"{Path.home()}/.config"  # systemd.unit(5)
    return f"{config}/systemd/user"


def leads_out(places: Places) -> Path | None:
    """The place that a symlink in an image takes out of it, so that a file of this host would be written."""
    root = places.root.resolve()
    several = (places.state, places.units)
    return next((each for each in several if not each.resolve().is_relative_to(root)), None)
