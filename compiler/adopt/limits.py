"""A limit that a launch is given goes in; whether the unit has it anyhow comes out."""

from __future__ import annotations

import re
from collections.abc import Sequence


UNIT_FILES = 65_536
"""`LimitNOFILE` of every unit."""
_OF_FILES, _OF_LOCKED = frozenset({"nofile", "-n", "-Sn", "-Hn"}), frozenset({"memlock", "-l"})


def in_unit(name: str, value: str) -> bool:
    """Whether a limit is no more than that of the unit; memory may be locked there without one."""
    if name in _OF_LOCKED:
        return True
    numbers = re.findall(r"-?\d+|unlimited|infinity", value)
    return (
        name in _OF_FILES
        and bool(numbers)
        and all(each.isdigit() and int(each) <= UNIT_FILES for each in numbers)
    )


def command_in_unit(words: Sequence[str]) -> bool:
    """Whether a shell's `ulimit` asks for what the unit has."""
    first, *rest = words
    return first == "ulimit" and len(rest) == 2 and in_unit(rest[0], rest[1])  # noqa: PLR2004 - a kind and a number


def option_in_unit(option: str, value: str) -> bool:
    """Whether an option of a container runner does."""
    name, _, limit = value.partition("=")
    return option == "--ulimit" and in_unit(name, limit)


def table_in_unit(key: str, shown: str) -> bool:
    """Whether all limits of a compose service's table do, as the file shows them on one line."""
    if key != "ulimits":
        return False
    found = re.findall(r"(\w+):\s*(\{[^}]*\}|[^\s{]\S*)", shown)
    return bool(found) and all(in_unit(name, value) for name, value in found)
