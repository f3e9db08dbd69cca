"""A release's flags go in, a parser of Python's own `argparse` comes out that does with them what the release's parser does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from attrs import frozen

from compiler.engines.sglang.arguments.parsed import Refusal, RefusalKind
from compiler.engines.sglang.arguments.readers import reader_of
from compiler.facts import Action, Flag, Release


@frozen(kw_only=True)
class Met:
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


class FlagParser(argparse.ArgumentParser):
    """argparse with errors that are data."""

    def __init__(self, flags: Sequence[Flag]) -> None:
        """A parser of these flags; of two that write one setting, the default of the earlier counts."""
        # The width is asked of the terminal otherwise, once a flag.
        super().__init__(add_help=False, formatter_class=partial(argparse.HelpFormatter, width=80))
        self.names: dict[str, str] = {}
        self.add_argument("-h", "--help", action=_Help)
        for flag in flags:
            self.names |= dict.fromkeys(flag.spellings, flag.name)
            self.add_argument(
                flag.name,
                *flag.aliases,
                action=_ACTIONS.get(flag.effect, _Store),
                dest=flag.destination,
                flag=flag,
                **_keywords(flag),
            )

    def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]  # of Python 3.12
        """Raise `RefusedError` in place of ending the process."""
        raise RefusedError(self._refusal(message))

    def _refusal(self, message: str) -> Refusal:
        if message.startswith("ambiguous option: "):
            word = message.removeprefix("ambiguous option: ").partition(" could match ")[0]
            return Refusal(kind=RefusalKind.AMBIGUOUS, message=message, words=(word,))
        names = message.removeprefix("argument ").partition(": ")[0]
        flag = self.names.get(names.partition("/")[0])
        return Refusal(kind=RefusalKind.VALUE, message=message, flag=flag)


def flag_parser(release: Release) -> FlagParser:
    """The parser of a release.

    Flags on their way out come last: where they write the setting of another flag, that one's default counts.
    """
    flags = release.flags.values()
    return FlagParser(sorted(flags, key=lambda flag: flag.deprecated is not None))


def _keywords(flag: Flag) -> Mapping[str, Any]:
    """What `add_argument` is told of a flag's values."""
    if flag.effect in {Action.TRUE, Action.TRUE_OR_UNSET, Action.NOTHING, Action.REFUSE}:
        default = flag.default
        if flag.effect is Action.TRUE and default is None:
            default = False
        return {"nargs": 0, "default": default}
    default = list(flag.default) if isinstance(flag.default, tuple) else flag.default
    if flag.takes is None:  # a pair says by itself how many values it takes
        return (
            {"default": default} if flag.effect is Action.PAIR else {"nargs": 0, "default": default}
        )
    reader = reader_of(flag)
    return {
        "nargs": int(flag.nargs) if flag.nargs and flag.nargs.isdigit() else flag.nargs,
        "type": reader,
        "choices": _choices(flag, reader),
        "const": flag.const,
        "default": default,
    }


def _choices(flag: Flag, reader: Callable[[str], object]) -> list[object] | None:
    """The choices as the reader reads them: the parser compares values, not words."""
    return [reader(each) for each in flag.choices] if flag.choices else None


class _Recorded(argparse.Action):
    """Stores what a flag stores, and notes that it was met."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, *, flag: Flag, **rest: Any
    ) -> None:  # noqa: ANN401
        """`flag` is what the table says; the rest is argparse's."""
        super().__init__(option_strings, dest, **rest)
        self.flag = flag

    def __call__(  # type: ignore[explicit-override]  # `override` is of Python 3.12
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - argparse
        option_string: str | None = None,
    ) -> None:
        """What argparse calls when it meets the flag."""
        spelling = option_string or self.flag.name
        value = self.effect(values, spelling)
        if self.flag.effect is not Action.NOTHING:
            setattr(namespace, self.dest, value)
        if isinstance(namespace, Namespace):
            words = self.words(values)
            namespace.met_.append(Met(flag=self.flag, spelling=spelling, value=value, words=words))

    def effect(self, values: Any, spelling: str) -> object:  # noqa: ANN401, ARG002 - argparse
        """The value to store."""
        return values

    def words(self, values: Any) -> int | None:  # noqa: ANN401 - argparse
        """How many words made the values; `None` when a value may have stood there or not."""
        if self.nargs == argparse.OPTIONAL:
            return None
        if self.nargs == 0:
            return 0
        return 1 if self.nargs is None else len(values)


class _Store(_Recorded):
    """Stores the values."""


class _True(_Recorded):
    """Stores true."""

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401, ARG002
        """True."""
        return True


class _Const(_Recorded):
    """Stores the constant, whatever follows."""

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401, ARG002
        """The constant of the table."""
        return self.flag.const


class _Pair(_Recorded):
    """Stores true, or false for the `--no-` form."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:  # noqa: ANN401 - argparse
        """Both forms of each name, in argparse's own order."""
        names = [
            form
            for each in option_strings
            for form in ((each, f"--no-{each[2:]}") if each.startswith("--") else (each,))
        ]
        super().__init__(names, dest, nargs=0, **rest)

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401, ARG002
        """Which of the two it was."""
        return not spelling.startswith("--no-")


class _LoraNames(_Recorded):
    """Stores paths by name."""

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401, ARG002
        """A word without a name stands for itself."""
        pairs = (each.split("=", 1) if "=" in each else (each, each) for each in values)
        return dict(pairs)


class _LoraList(_Recorded):
    """Stores paths, and objects for words in braces."""

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401
        """Raises `RefusedError` for an object that the engine cannot use: it ends with a traceback there."""
        return [self._one(each.strip(), spelling) for each in values or ()]

    def _one(self, word: str, spelling: str) -> object:
        if not (word.startswith("{") and word.endswith("}")):
            return word
        try:
            read = json.loads(word)
        except json.JSONDecodeError as fault:
            raise _refused(
                self.flag, f"`{spelling}` takes JSON in braces, and this is none: {fault}"
            ) from None
        if "lora_path" not in read or "lora_name" not in read:
            raise _refused(self.flag, f"`{spelling}` needs `lora_name` and `lora_path` in braces")
        return read


class _Refuse(_Recorded):
    """Stops the server."""

    def effect(self, values: Any, spelling: str) -> object:  # type: ignore[explicit-override]  # noqa: ANN401, ARG002
        """Raises `RefusedError`."""
        message = f"`{spelling}` is only there to stop the server: {self.flag.deprecated}"
        raise RefusedError(Refusal(kind=RefusalKind.RETIRED, message=message, flag=self.flag.name))


class _Help(argparse.Action):
    """Ends the run, as the parser's help does."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:  # noqa: ANN401 - argparse
        """Takes no value, and leaves no setting."""
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, *_: object) -> None:  # type: ignore[explicit-override]  # `override` is of Python 3.12
        """Raise `RefusedError`."""
        raise RefusedError(
            Refusal(kind=RefusalKind.HELP, message="prints its help and ends, and starts no server")
        )


def _refused(flag: Flag, message: str) -> RefusedError:
    return RefusedError(Refusal(kind=RefusalKind.VALUE, message=message, flag=flag.name))


_ACTIONS: Mapping[Action, type[argparse.Action]] = {
    Action.TRUE: _True,
    Action.TRUE_OR_UNSET: _True,
    Action.CONST: _Const,
    Action.PAIR: _Pair,
    Action.LORA_NAMES: _LoraNames,
    Action.LORA_LIST: _LoraList,
    Action.NOTHING: _True,
    Action.REFUSE: _Refuse,
}


def missing(parser: FlagParser, met: Iterator[Met], flags: Sequence[Flag]) -> Refusal | None:
    """The refusal for flags that must be given and are not, in the parser's words."""
    seen = {each.flag.name for each in met}
    names = ["/".join(each.spellings) for each in flags if each.required and each.name not in seen]
    if not names:
        return None
    message = f"the following arguments are required: {', '.join(names)}"
    return Refusal(kind=RefusalKind.REQUIRED, message=message, flag=parser.names.get(names[0]))
