"""What a checkpoint leaves unquantized goes in, and the name of a module; whether it is left out comes out.

Checkpoints of compressed-tensors write regular expressions behind `re:`. They are read from files of others, so that only
those are tried that cannot take long: a backtracking matcher takes 2^n steps where a repetition stands in another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import define


_REGULAR = "re:"
_LONGEST = 200
_MOST_UNBOUNDED = 4
"""Of the public ones none has more; each may try every length of a name of fifty characters."""
_MOST_CHOICES = 8
_MOST_REGULAR = 200
_SHOWN = 60
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?(?:[:=!]|<[=!]|P?<\w+>)?|(?P<repeat>[*+?][?+]?|\{\d*,?\d*\}[?+]?)|.",
    re.DOTALL,
)


@define
class _Group:
    """A group of a regular expression while it is read: whether it has several ways to match, and whether it has branches."""

    chooses: bool = False
    branches: bool = False


def matches(exception: str, module: str) -> bool:
    """Whether an exception covers a module; one that `fault_of` finds fault with covers none."""
    if exception.startswith(_REGULAR):
        if fault_of(exception) is not None:
            return False
        return re.match(exception.removeprefix(_REGULAR), module) is not None
    if "*" in exception:
        return _in_order(exception.split("*"), module)
    return bool(exception) and exception in module


def faults_of(exceptions: Iterable[str]) -> Iterator[str]:
    """What is wrong with them, each in words that name it."""
    regular = [each for each in dict.fromkeys(exceptions) if each.startswith(_REGULAR)]
    if len(regular) > _MOST_REGULAR:
        yield f"more than {_MOST_REGULAR} regular expressions say what is not quantized"
        return
    for each in regular:
        fault = fault_of(each)
        if fault is not None:
            yield f"`{each[:_SHOWN]}`, which says what is not quantized, is not tried: {fault}"


def fault_of(exception: str) -> str | None:
    """Why a regular expression is not tried; `None` for one that is, and for what is none."""
    if not exception.startswith(_REGULAR):
        return None
    pattern = exception.removeprefix(_REGULAR)
    if len(pattern) > _LONGEST:
        return f"it has more than {_LONGEST} characters"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return "it is no regular expression"
    return _too_many_ways(pattern)


def _in_order(parts: list[str], module: str) -> bool:
    """Whether the parts between stars stand in a name one behind the other, the first and the last at its ends."""
    first, *between, last = parts
    if not module.startswith(first):
        return False
    at = len(first)
    for part in between:
        at = module.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return module.endswith(last) and len(module) - len(last) >= at


def _too_many_ways(pattern: str) -> str | None:
    """A bound on the steps: no repetition around a choice, and few of either."""
    groups = [_Group()]
    closed: _Group | None = None
    unbounded = choices = 0
    for found in _TOKEN.finditer(pattern):
        piece, repeat = found[0], found["repeat"]
        if repeat is not None:
            is_once = repeat[0] == "?"
            if closed is not None and closed.chooses and not is_once:
                return "a repetition stands around a choice"
            groups[-1].chooses = True
            choices += 1
            unbounded += not is_once
        elif piece == "|":
            choices += not groups[-1].branches
            groups[-1].chooses = groups[-1].branches = True
        closed = None
        if piece.startswith("("):
            groups.append(_Group())
        elif piece == ")" and len(groups) > 1:
            closed = groups.pop()
            groups[-1].chooses |= closed.chooses
    if unbounded > _MOST_UNBOUNDED or choices > _MOST_CHOICES:
        return "it may match in too many ways"
    return None
