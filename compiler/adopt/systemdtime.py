"""A time as systemd writes it goes in; seconds come out (systemd.time(7))."""

from __future__ import annotations

import re


FOREVER = float("inf")

_UNITS = {
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


def seconds(text: str) -> float | None:
    """Seconds; `None` for what is no time."""
    rest = text.strip()
    if rest == "infinity":
        return FOREVER
    total, at = 0.0, 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None or match[2] not in {"", *_UNITS}:
            return None
        total += float(match[1]) * _UNITS.get(match[2], 1.0)
        at = match.end()
    return total if rest else None
