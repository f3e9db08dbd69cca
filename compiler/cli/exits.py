"""The exit codes, and which of them findings come to."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    # The way in has to end well before anything of ours is loaded.
    from compiler.diagnostics import Diagnostic


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


MACHINE_CODES = frozenset(
    {
        "boot-unwritable",
        "edit-unwritable",
        "host-busy",
        "host-unreadable",
        "host-unwritable",
        "log-unreadable",
        "out-busy",
        "out-unreadable",
        "out-unwritable",
        "server-silent",
        "systemd-refused",
        "systemd-silent",
    }
)
"""Findings about the machine, not about what was asked for."""


def exit_of(found: Iterable[Diagnostic]) -> Exit:
    """What a run with these findings ends with; warnings are none of its business."""
    codes = {each.code for each in found if each.is_error}
    if not codes:
        return Exit.OK
    return Exit.REFUSED if MACHINE_CODES.isdisjoint(codes) else Exit.MACHINE
