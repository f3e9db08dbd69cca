"""A verb that takes a command behind `--`, and says so where an option of the command is taken for one of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile

import click

from compiler.workspace import is_file


_DASHES = "--"
_SHOWN = 3
"""Words of the command: `python -m sglang.launch_server`."""


class TakesCommand(click.Command):
    """A verb whose last words are a command."""

    takes_file = False
    """Whether one word alone is a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does. Errors: `UsageError`, with the line to type, where `--` is missing."""
        given = list(args)  # click takes them out one by one
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as wrong:
            at = None if _DASHES in given else self._start(given)
            if at is None or self._is_of_file(given[at:]):
                raise
            own = " ".join((ctx.command_path, *self._before(given[:at]), _DASHES))
            line = f"{own} {shlex.join(_beginning(given[at:]))} ..."
            raise click.UsageError(
                f"`{wrong.option_name}` is no option of `{ctx.command_path}`; "
                f"a command and its options go behind `{_DASHES}`: `{line}`",
                ctx=ctx,
            ) from None

    def _start(self, words: Sequence[str]) -> int | None:
        """Where the command begins: at the first word that is no option of the verb, nor a value of one."""
        at = 0
        while at < len(words) and words[at].startswith("-") and words[at] != "-":
            name, equals, _ = words[at].partition("=")
            option = self._option(name)
            if option is None:
                return None
            at += 1 if option.is_flag or equals else 2
        return at if at < len(words) else None

    def _option(self, name: str) -> click.Option | None:
        options = (each for each in self.params if isinstance(each, click.Option))
        return next((each for each in options if name in each.opts), None)

    def _is_of_file(self, words: Sequence[str]) -> bool:
        """Whether it is a file with a slip in an option behind it."""
        if not self.takes_file or not (words[0] == "-" or is_file(words[0])):
            return False
        from compiler.engines.known import ENGINES  # noqa: PLC0415 - as above

        return all(each.find_launch(words) is None for each in ENGINES.values())

    def _before(self, words: Sequence[str]) -> Iterator[str]:
        """The verb's own options, and those that it cannot do without."""
        from compiler.secrecy import without_secrets  # noqa: PLC0415 - only a mistake pays for it

        yield from (shlex.quote(without_secrets(each, ())) for each in words)
        for each in self.params:
            if isinstance(each, click.Option) and each.required:
                names = {word.partition("=")[0] for word in words}
                if names.isdisjoint(each.opts):
                    yield f"{each.opts[0]} {each.metavar}"


class TakesFileOrCommand(TakesCommand):
    """A verb that takes a file as well."""

    takes_file = True


def _beginning(words: Sequence[str]) -> Sequence[str]:
    """The first words of a command, with no variable and no value of an option, which may be secrets."""
    named = list(takewhile(lambda each: not each.startswith("-") or each == "-m", words))
    return [each for each in named if "=" not in each][:_SHOWN]
