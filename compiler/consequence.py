"""What new files change for the running service: nothing, what a reload applies, or what needs a restart.

Decided from what the files mean, not from their bytes: comments, blanks and an order that says nothing are no change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from attrs import frozen

from compiler.quoting.shellfile import read_env_file
from compiler.quoting.unitfile import read_unit
from compiler.quoting.unitvalue import (
    CommandLine,
    read_command_line,
    read_environment,
    read_environment_file,
    read_text,
)
from compiler.secrecy import is_secret
from compiler.value import Value
from compiler.writtenplan import PLAN, engine_in


# Settings that systemd looks up when it needs them, so that the running server goes on under the new value.
_RELOADED: Final = {
    "Unit": frozenset(
        {
            "After",
            "Before",
            "Description",
            "Documentation",
            "StartLimitBurst",
            "StartLimitIntervalSec",
            "Wants",
        }
    ),
    "Service": frozenset(
        {
            "ExecStartPost",
            "ExecStop",
            "ExecStopPost",
            "KillMode",
            "KillSignal",
            "Restart",
            "RestartForceExitStatus",
            "RestartPreventExitStatus",
            "RestartSec",
            "SuccessExitStatus",
            "TimeoutStartSec",
            "TimeoutStopSec",
        }
    ),
}
_PROBE: Final = "ready.py"
_LONGEST_SHOWN: Final = 80


class Action(StrEnum):
    """What has to be done so that a change takes effect, from the least."""

    NOTHING = "nothing"
    RELOAD = "reload"
    RESTART = "restart"


@frozen(kw_only=True, eq=False, repr=False)
class Consequence(Value):
    """What has to be done, and why.

    Attributes:
        reasons: sentences without a full stop, those that need a restart first; no secret is in them.
    """

    action: Action
    reasons: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class _Difference(Value):
    """One thing that differs, in words, and what it takes to apply it."""

    action: Action
    text: str


def decide(old: Mapping[str, bytes] | None, new: Mapping[str, bytes], *, unit: str) -> Consequence:
    """Compare the files of two generations of a unit, by their names in the target's folder.

    `old` is what the running service was started from; `None` when there is nothing.

    Raises:
        KeyError: when the new files have no unit.
    """
    name = unit.removesuffix(".service")
    if old is None or f"{name}.service" not in old:
        return Consequence(action=Action.RESTART, reasons=("it is not installed yet",))
    differences = [
        *_engine_differences(old.get(PLAN, b""), new.get(PLAN, b"")),
        *_unit_differences(_text(old, f"{name}.service"), _text(new, f"{name}.service")),
        *_variable_differences(_text(old, f"{name}.env"), _text(new, f"{name}.env")),
        *_probe_differences(old.get(_PROBE, b""), new.get(_PROBE, b"")),
    ]
    order = list(Action)
    differences.sort(key=lambda each: -order.index(each.action))
    return Consequence(
        action=differences[0].action if differences else Action.NOTHING,
        reasons=tuple(dict.fromkeys(each.text for each in differences)),
    )


def _engine_differences(old: bytes, new: bytes) -> Iterator[_Difference]:
    """Another engine behind the same command line: the process that runs is the one it was started from."""
    before, after = engine_in(old), engine_in(new)
    if None not in (before, after) and before != after:
        yield _Difference(
            action=Action.RESTART,
            text=f"the engine changed from `{before}` to `{after}`; the one that is installed is what starts",
        )


def _text(files: Mapping[str, bytes], name: str) -> str:
    return files.get(name, b"").decode("utf-8", "surrogateescape")


def _unit_differences(old: str, new: str) -> Iterator[_Difference]:
    before, after = read_unit(old), read_unit(new)
    if before.fault is not None or after.fault is not None:
        if old != new:
            yield _Difference(action=Action.RESTART, text="a unit file cannot be read whole")
        return
    keys = dict.fromkeys(
        (each.section, each.key) for each in (*before.assignments, *after.assignments)
    )
    for section, key in keys:
        if section.startswith("X-") or key.startswith("X-"):
            continue  # systemd keeps these for others, and ignores them
        texts = [_reset(each.values(section, key=key)) for each in (before, after)]
        if texts[0] == texts[1]:
            continue
        if key.startswith("Exec"):
            found = _command_differences(key, *map(_commands, texts))
        elif key == "Environment":
            found = _mapping_differences(*map(_pairs, texts))
        else:
            found = _value_differences(
                key, *(tuple(_meaning(key, each) for each in text) for text in texts)
            )
        action = _needed(section, key)
        yield from (_Difference(action=action, text=text) for text in found)


def _needed(section: str, key: str) -> Action:
    """What applies a changed setting; one that nobody listed needs a restart."""
    if section == "Install" or key in _RELOADED.get(section, ()):
        return Action.RELOAD
    return Action.RESTART


def _reset(values: Sequence[str]) -> tuple[str, ...]:
    """The values that count: an empty one takes back those before it."""
    last = max((at for at, value in enumerate(values) if not value), default=-1)
    return tuple(values[last + 1 :])


def _meaning(key: str, value: str) -> str:
    if key == "EnvironmentFile":
        read = read_environment_file(value)
        return f"{'-' if read.optional else ''}{read.path}"
    return read_text(value).text


def _pairs(values: Iterable[str]) -> dict[str, str]:
    return dict(pair for value in values for pair in read_environment(value).pairs)


def _commands(values: Iterable[str]) -> tuple[CommandLine, ...]:
    return tuple(read_command_line(value) for value in values)


def _value_differences(key: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    if old != new:
        yield _changed(key, old=" ".join(old) if old else None, new=" ".join(new) if new else None)


def _mapping_differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield _changed(name, old=old.get(name), new=new.get(name))


def _variable_differences(old: str, new: str) -> Iterator[_Difference]:
    """The environment file; the server has its variables from when it was started."""
    texts = _mapping_differences(read_env_file(old).values, read_env_file(new).values)
    yield from (_Difference(action=Action.RESTART, text=text) for text in texts)


def _probe_differences(old: bytes, new: bytes) -> Iterator[_Difference]:
    """The readiness probe; it is read anew at each start."""
    if old != new and _program(old) != _program(new):
        yield _Difference(
            action=Action.RELOAD, text=f"`{_PROBE}` changed; the next start runs the new one"
        )


def _program(source: bytes) -> str:
    """What a Python file does, without its comments and layout."""
    try:
        return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError):
        return repr(source)


def _command_differences(
    key: str, old: tuple[CommandLine, ...], new: tuple[CommandLine, ...]
) -> Iterator[str]:
    """What differs in an `Exec...=` setting, flag by flag where each side is one command."""
    before, after = ([each for line in lines for each in line.commands] for lines in (old, new))
    is_unread = any(line.fault or line.remarks for line in (*old, *new))
    if before == after and not is_unread:
        return
    if is_unread or len(before) != 1 or len(after) != 1:
        yield f"the commands of `{key}` changed"
        return
    (first,), (second,) = before, after
    if (first.prefix, first.program) != (second.prefix, second.program):
        yield _changed(
            key, old=f"{first.prefix}{first.program}", new=f"{second.prefix}{second.program}"
        )
    yield from _word_differences(key, _options(first.argv[1:]), _options(second.argv[1:]))


_Options = Mapping[str, tuple[tuple[str, ...], ...]]


def _options(words: Sequence[str]) -> _Options:
    """Each flag with its values, once for each time it is given; what stands before the first flag has no name.

    The order of different flags says nothing; of one that is given twice it does.
    """
    options: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            options.append((flag, [value] if equals else []))
        else:
            options[-1][1].append(word)
    given: dict[str, tuple[tuple[str, ...], ...]] = {}
    for flag, values in options:
        given[flag] = (*given.get(flag, ()), tuple(values))
    return given


def _word_differences(key: str, old: _Options, new: _Options) -> Iterator[str]:
    for flag in dict.fromkeys([*old, *new]):
        if old.get(flag) != new.get(flag):
            name = flag or f"the words of `{key}`"
            yield _changed(name, old=_joined(old.get(flag)), new=_joined(new.get(flag)))


def _joined(given: tuple[tuple[str, ...], ...] | None) -> str | None:
    return None if given is None else ", ".join(" ".join(values) for values in given)


def _changed(name: str, *, old: str | None, new: str | None) -> str:
    """One difference as a sentence; a secret is never in it."""
    shown = name if name.startswith("the ") else f"`{name}`"
    if any(value is not None and is_secret(name.lstrip("-"), value) for value in (old, new)):
        return f"{shown} changed; it looks like a secret and is not shown"
    if old is None:
        return f"{shown} is new: {_quoted(new)}" if new else f"{shown} is new"
    if new is None:
        return f"{shown} is gone"
    return f"{shown} changed from {_quoted(old)} to {_quoted(new)}"


def _quoted(text: str | None) -> str:
    if not text:
        return "nothing"
    printable = "".join(each if each.isprintable() else " " for each in text)
    return (
        f"`{printable if len(printable) <= _LONGEST_SHOWN else printable[:_LONGEST_SHOWN] + '...'}`"
    )
