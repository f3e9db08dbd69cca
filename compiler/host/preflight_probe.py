"""What a host is asked before a switch; it only reads."""

from __future__ import annotations

from typing import Protocol


class HostProbe(Protocol):
    """A host, as far as preflight asks it."""


class RealProbe:
    """This host."""
