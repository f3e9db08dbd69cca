"""A release's flags go in, a parser of Python's own `argparse` comes out that does with them what the release's parser does."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any, NoReturn

from compiler.engines.sglang.arguments.actions import (
    FlagAction,
    HelpAction,
    Met,
    Namespace,
    RefusedError,
)
from compiler.engines.sglang.arguments.parsed import Refusal, RefusalKind
from compiler.engines.sglang.arguments.plainly import read_plainly
from compiler.engines.sglang.arguments.readers import reader_of
from compiler.facts import Action, Flag, Release


_VALUELESS = frozenset(
    {Action.TRUE, Action.TRUE_OR_UNSET, Action.PAIR, Action.NOTHING, Action.REFUSE}
)


class WholeParser(argparse.ArgumentParser):
    """argparse with errors that are data; of two flags that write one setting, the default of the earlier counts."""

    def __init__(self, flags: Sequence[Flag]) -> None:
        # argparse formats every flag when it is added, and would ask the terminal for its width each time.
        super().__init__(add_help=False, formatter_class=partial(argparse.HelpFormatter, width=80))
        self.add_argument("-h", "--help", action=HelpAction, nargs=0, default=argparse.SUPPRESS)
        self._names: dict[str, str] = {}
        for flag in flags:
            self._names |= dict.fromkeys(flag.spellings, flag.name)
            action = self.add_argument(*_option_strings(flag), action=FlagAction, **_keywords(flag))
            if isinstance(action, FlagAction):
                action.flag = flag

    def error(self, message: str) -> NoReturn:
        """Raise `RefusedError` in place of ending the process."""
        if message.startswith("ambiguous option: "):
            word = message.removeprefix("ambiguous option: ").partition(" could match ")[0]
            raise RefusedError(Refusal(kind=RefusalKind.AMBIGUOUS, message=message, words=(word,)))
        names = message.removeprefix("argument ").partition(": ")[0]
        flag = self._names.get(names.partition("/")[0])
        raise RefusedError(Refusal(kind=RefusalKind.VALUE, message=message, flag=flag))

    def only(self, names: Collection[str]) -> argparse.ArgumentParser:
        """The same with the flags of these option strings alone."""
        narrow = copy(self)
        named = {name: self._option_string_actions[name] for name in names}
        narrow._option_string_actions = named  # noqa: SLF001 - our own
        narrow._actions = list(dict.fromkeys(named.values()))  # noqa: SLF001 - our own
        return narrow


class FlagParser:
    """Reads as argparse would, and asks it only where it has to.

    argparse looks at every flag it has for every command line, and a release has hundreds. Where each word that may be a
    flag is one in full, a parser of these alone does the same, and none is asked when they have the values they take.
    """

    def __init__(self, flags: Sequence[Flag]) -> None:
        """A parser of these flags; of two that write one setting, the default of the earlier counts."""
        self._flags = flags
        self._required = [flag for flag in flags if flag.required]
        self._spelled = {form: flag for flag in flags for form in _option_strings(flag)}
        self._actions: dict[str, FlagAction] = {}

    @cached_property
    def whole(self) -> WholeParser:
        """The parser of all flags, which takes longer to make than a hundred commands take to read."""
        return WholeParser(self._flags)

    @cached_property
    def unset(self) -> dict[str, object]:
        """What all settings are when no flag is given, as argparse reads them."""
        return vars(self.whole.parse_known_args([])[0])

    def read(self, words: Sequence[str], namespace: Namespace) -> list[str]:
        """Parse words into a namespace; what no flag takes comes back. Raises `RefusedError`.

        Settings that no word is about may be left out of the namespace: `unset` has them.
        """
        named = self._named(words)
        if named is None:
            return self.whole.parse_known_args(words, namespace)[1]
        readings = read_plainly(words, named)
        if readings is not None:
            for flag, name, value in readings:
                flag.meet(namespace, value, spelling=name)
            return []
        for action in named.values():
            setattr(namespace, action.dest, self.unset[action.dest])
        return self.whole.only(named).parse_known_args(words, namespace)[1]

    def _named(self, words: Sequence[str]) -> dict[str, FlagAction] | None:
        """The flags that words name in full; `None` when one may be an abbreviation, or no flag at all."""
        named: dict[str, FlagAction] = {}
        for word in words:
            if not word.startswith("-"):
                continue
            name = word if word in self._spelled else word.partition("=")[0]
            if name not in self._spelled:
                return None
            named[name] = self._action(self._spelled[name])
        return named

    def _action(self, flag: Flag) -> FlagAction:
        action = self._actions.get(flag.name)
        if action is None:
            action = FlagAction(_option_strings(flag), **_keywords(flag))
            action.flag = flag
            self._actions[flag.name] = action
        return action

    def missing(self, met: Sequence[Met]) -> Refusal | None:
        """The refusal for flags that must be given and were not met, in argparse's words."""
        seen = {each.flag.name for each in met}
        lacking = [flag for flag in self._required if flag.name not in seen]
        if not lacking:
            return None
        names = ", ".join("/".join(flag.spellings) for flag in lacking)
        message = f"the following arguments are required: {names}"
        return Refusal(kind=RefusalKind.REQUIRED, message=message, flag=lacking[0].name)


def flag_parser(release: Release) -> FlagParser:
    """The parser of a release.

    Flags on their way out come last: where one writes the setting of another flag, that one's default counts.
    """
    flags = release.flags.values()
    return FlagParser(sorted(flags, key=lambda flag: flag.deprecated is not None))


def _option_strings(flag: Flag) -> list[str]:
    """All names, the `--no-` form of each behind it, as argparse has them."""
    names = (flag.name, *flag.aliases)
    if flag.effect is not Action.PAIR:
        return list(names)
    return [form for each in names for form in (each, f"--no-{each[2:]}")]


def _keywords(flag: Flag) -> Mapping[str, Any]:
    """What `add_argument` is told beside the names."""
    default: object = list(flag.default) if isinstance(flag.default, tuple) else flag.default
    if flag.effect is Action.TRUE and default is None:
        default = False
    said: dict[str, object] = {"dest": flag.destination, "default": default}
    if flag.takes is None or flag.effect in _VALUELESS:
        return {**said, "nargs": 0}
    reader = reader_of(flag)
    return {
        **said,
        "nargs": int(flag.nargs) if flag.nargs and flag.nargs.isdigit() else flag.nargs,
        "type": reader,
        # The parser compares values that were read, not words.
        "choices": [reader(each) for each in flag.choices] or None,
        "const": flag.const,
    }
