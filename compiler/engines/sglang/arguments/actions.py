"""What a flag does when the parser meets it, one function a kind, and the `argparse` action that calls it and takes note."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from compiler.engines.sglang.arguments.parsed import Refusal, RefusalKind
from compiler.engines.sglang.arguments.readers import reader_of
from compiler.facts import Action, Flag
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Met(Value):
    """A flag the parser met.

    Attributes:
        spelling: the option string it was taken for, in full.
        value: what it stores.
        words: how many words behind it are its value, when none stands behind `=`; `None` when only the next one tells.
    """

    flag: Flag
    spelling: str
    value: object
    words: int | None


class Namespace(argparse.Namespace):
    """What the parser writes to: the settings, and in `met_` each flag in turn."""

    def __init__(self) -> None:
        """Nothing is met yet."""
        super().__init__()
        self.met_: list[Met] = []

    def settings(self) -> dict[str, object]:
        """The settings alone."""
        return {name: value for name, value in vars(self).items() if name != "met_"}


class RefusedError(Exception):
    """Carries a refusal out of `argparse`; never leaves this package."""

    def __init__(self, refusal: Refusal) -> None:
        """What is refused."""
        super().__init__(refusal.message)
        self.refusal = refusal


class FlagAction(argparse.Action):
    """Stores what a flag stores, and notes that it was met."""

    flag: Flag

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse calls it so
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - argparse calls it so
        option_string: str | None = None,
    ) -> None:
        """What argparse calls when it meets the flag; raises `RefusedError` where the engine stops."""
        self.meet(namespace, values, spelling=option_string or self.flag.name)

    def meet(self, namespace: argparse.Namespace, values: Any, *, spelling: str) -> None:  # noqa: ANN401 - as above
        """Store what the flag stores; raises `RefusedError` where the engine stops."""
        value = _EFFECTS[self.flag.effect](self.flag, spelling, values)
        if self.flag.effect is not Action.NOTHING:
            setattr(namespace, self.dest, value)
        if isinstance(namespace, Namespace):
            words = self._words(values)
            namespace.met_.append(Met(flag=self.flag, spelling=spelling, value=value, words=words))

    def _words(self, values: list[object]) -> int | None:
        if self.nargs == argparse.OPTIONAL:
            return None
        return self.nargs if isinstance(self.nargs, int) else (len(values) if self.nargs else 1)


class HelpAction(argparse.Action):
    """Ends the run, as the parser's help does."""

    def __call__(self, *_: object) -> None:
        """Raises `RefusedError`."""
        raise RefusedError(HELP)


HELP = Refusal(kind=RefusalKind.HELP, message="prints its help and ends, and starts no server")


def _lora_names(_: Flag, _spelling: str, values: list[str]) -> object:
    """A word without a name stands for itself."""
    pairs = ((each, each.partition("=")) for each in values)
    return {name: path if equals else word for word, (name, equals, path) in pairs}


def _lora_list(flag: Flag, spelling: str, values: list[str]) -> object:
    return [_lora(flag, spelling, each.strip()) for each in values]


def _lora(flag: Flag, spelling: str, word: str) -> object:
    """A path, or an object; one that the engine cannot use ends in a traceback there."""
    if not (word.startswith("{") and word.endswith("}")):
        return word
    try:
        read = json.loads(word)
    except json.JSONDecodeError as fault:
        message = f"`{spelling}` takes JSON in braces, and this is none: {fault}"
        raise _refused(RefusalKind.VALUE, message, flag) from None
    if "lora_path" not in read or "lora_name" not in read:
        message = f"`{spelling}` needs `lora_name` and `lora_path` in braces"
        raise _refused(RefusalKind.VALUE, message, flag)
    return read


def _refuse(flag: Flag, spelling: str, _: object) -> object:
    message = f"`{spelling}` is only there to stop the server: {flag.deprecated}"
    raise _refused(RefusalKind.RETIRED, message, flag)


def _refused(kind: RefusalKind, message: str, flag: Flag) -> RefusedError:
    return RefusedError(Refusal(kind=kind, message=message, flag=flag.name))


_EFFECTS: Mapping[Action, Callable[[Flag, str, Any], object]] = {
    Action.STORE: lambda _, _spelling, values: values,
    Action.TRUE: lambda _, _spelling, _values: True,
    Action.TRUE_OR_UNSET: lambda _, _spelling, _values: True,
    Action.CONST: lambda flag, _spelling, _values: flag.const,
    Action.PAIR: lambda _, spelling, _values: not spelling.startswith("--no-"),
    Action.LORA_NAMES: _lora_names,
    Action.LORA_LIST: _lora_list,
    Action.NOTHING: lambda _, _spelling, _values: None,
    Action.REFUSE: _refuse,
}


def misread(flag: Flag, word: str) -> str | None:
    """Why a word of a flag's value cannot be read, a clause; `None` when it can."""
    try:
        read = reader_of(flag)(word)
        _EFFECTS[flag.effect](flag, flag.name, [read] if flag.nargs in {"+", "*"} else read)
    except RefusedError as fault:
        return fault.refusal.message
    except (argparse.ArgumentTypeError, ValueError) as fault:
        return str(fault)
    return None
