"""Words that name every flag in full, with its values behind it, are read here as argparse would, at a part of its cost.

Anything else is left to argparse: it alone says what is wrong with a command line.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compiler.engines.sglang.arguments.actions import FlagAction


Reading = tuple[FlagAction, str, Any]
"""A flag, the option string it is named by, and its value, or its values."""


class _OddError(Exception):
    """Something that is argparse's to judge."""


def read_plainly(words: Sequence[str], known: Mapping[str, FlagAction]) -> list[Reading] | None:
    """What the words give, in their order; `None` when argparse has to be asked. Each word in `-` names a flag of `known`."""
    try:
        return list(_readings(words, known))
    except _OddError:
        return None
    except (argparse.ArgumentTypeError, TypeError, ValueError):
        # What argparse takes for a value that cannot be read.
        return None


def _readings(words: Sequence[str], known: Mapping[str, FlagAction]) -> Iterator[Reading]:
    at, end = 0, len(words)
    while at < end:
        name = words[at]
        at += 1
        values: Sequence[str] = ()
        action = known.get(name)
        if action is None:
            name, _, value = name.partition("=")
            action = known.get(name)
            values = (value,)
            if not value:
                raise _OddError
        if action is None:
            raise _OddError
        first = at
        while at < end and not words[at].startswith("-"):
            at += 1
        if values and at > first:
            raise _OddError
        yield action, name, _value(action, values or words[first:at])


def _value(action: FlagAction, words: Sequence[str]) -> object:
    """The value of so many words, where the flag takes just as many."""
    takes, several = action.nargs, len(words)
    if takes is None or takes == argparse.OPTIONAL:
        if several != 1:
            raise _OddError
        return _read(action, words[0])
    # Without a value the flags that take any number are argparse's to judge, too.
    if several != takes and not (several and takes in {"+", "*"}):
        raise _OddError
    return [_read(action, each) for each in words]


def _read(action: FlagAction, word: str) -> object:
    value = action.type(word) if callable(action.type) else word
    if action.choices is not None and value not in action.choices:
        raise _OddError
    return value
