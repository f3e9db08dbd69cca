"""A profile that was not read from a file goes in; the settings that are out of their bounds come out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isfinite

from attrs import fields

from compiler.diagnostics import Diagnostic, error
from compiler.profile import Memory, Parallel, Profile, Serve, Speculative


_TABLES: dict[str, type] = {
    "parallel": Parallel,
    "serve": Serve,
    "memory": Memory,
    "speculative": Speculative,
}


def beyond_bounds(profile: Profile) -> Iterator[tuple[str, float, str]]:
    """Each setting out of its bounds, its value, and what was expected: `parallel.tensor`, 0, `at least 1`.

    A profile's file is held to them when it is read; a launch command's numbers come from elsewhere.
    """
    for table, bounds in _bounds():
        settings = getattr(profile, table)
        for name, least, most in bounds:
            value = getattr(settings, name, None)
            if type(value) is not int:
                continue
            if value < least:
                yield f"{table}.{name}", value, f"at least {least}"
            elif most is not None and value > most:
                yield f"{table}.{name}", value, f"at most {most}"
    for name, given in profile.flags.items():
        if type(given) is float and not isfinite(given):
            yield f"flags.{name}", given, "a finite number"


def senseless(profile: Profile) -> Iterator[Diagnostic]:
    """The same as findings: `bad-value`."""
    for setting, value, expected in beyond_bounds(profile):
        yield error("bad-value", f"`{setting}`: expected {expected}, found {value}", path=setting)


@cache
def _bounds() -> tuple[tuple[str, tuple[tuple[str, int, int | None], ...]], ...]:
    return tuple((table, tuple(_of(kind))) for table, kind in _TABLES.items())


def _of(kind: type) -> Iterator[tuple[str, int, int | None]]:
    for each in fields(kind):
        least, most = each.metadata.get("at_least"), each.metadata.get("at_most")
        if least is not None:
            yield each.name, least, most
