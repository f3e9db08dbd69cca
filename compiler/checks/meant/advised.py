"""What a release says to use in place of a flag that it is about to drop, read off its own words."""

from __future__ import annotations

import re

from compiler.checks.table import find_flag, value_fault
from compiler.facts import Flag, Release


_TOLD = re.compile(r"`(--[a-z0-9-]*)(?:\{([a-z,]+)\})?([a-z0-9-]*)(?:=([\w.]+))?`")
"""A flag in what a release says of another, perhaps several that differ in one word, perhaps with a value."""


def told_by(flag: Flag, release: Release) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The flags that a release says to use in place of one, each with its value where that is told; nothing it does not take."""
    told = [
        (f"{each[1]}{word}{each[3]}", (each[4],) if each[4] else ())
        for each in _TOLD.finditer(flag.deprecated or "")
        for word in (each[2] or "").split(",")
    ]
    for name, values in told:
        known = find_flag(release, name)
        if known is None or known.deprecated:
            return ()
        if values and value_fault(known, name, values, engine=release.engine) is not None:
            return ()
    return tuple(told)
