"""The exit codes."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a caller can tell apart. 2 is click's, for a command line it cannot read."""

    OK = 0
    REFUSED = 1
    """The input is wrong, or a promise is broken."""
    STALE = 3
    """`out/` is not what the profiles give."""
    DIFFERENT = 4
    """Differences, where they were asked for."""
    MACHINE = 5
    """The machine would not: unwritable, full."""
    BUG = 70
    """A bug in Poolproof."""
    INTERRUPTED = 130
