"""Names that a profile chooses freely: of variables, of the engine's flags, of hosts; and why one cannot be what it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping


_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FLAG_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_TARGET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")  # RFC 1035 2.3.4


def flag_name(name: str) -> str | None:
    """How a name under `[flags]` is spelt there; `None` where it can be no flag's."""
    bare = name.lstrip("-").replace("_", "-").lower()
    return bare if _FLAG_NAME.fullmatch(bare) else None


def _env_fault(name: str) -> str | None:
    if _ENV_NAME.fullmatch(name):
        return None
    return "expected a variable's name of letters, digits, and `_`, without a digit first"


def _flag_fault(name: str) -> str | None:
    if _FLAG_NAME.fullmatch(name):
        return None
    if flag_name(name) is not None:
        return (
            "a flag is named in small letters, without dashes in front, and with `-` between words"
        )
    return "expected a flag's name of small letters, digits, and `-`"


def _target_fault(name: str) -> str | None:
    if _TARGET_NAME.fullmatch(name):
        return None
    return "expected a host's name of small letters, digits, `.`, and `-`"


NAME_FAULTS: Mapping[str, Callable[[str], str | None]] = {
    "env": _env_fault,
    "flags": _flag_fault,
    "targets": _target_fault,
}
"""By table, what says why a key there names nothing; `None` for one that does."""
