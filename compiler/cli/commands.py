"""The verbs and where each one is; a verb's module is imported when the verb is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from compiler import __version__


VERBS: Mapping[str, str] = {
    "check": "compiler.cli.check",
    "compile": "compiler.cli.compile",
    "predict": "compiler.cli.predict",
    "measure": "compiler.cli.measure",
    "verify": "compiler.cli.verify",
    "fit": "compiler.cli.fit",
    "fmt": "compiler.cli.fmt",
    "schema": "compiler.cli.schema",
    "diff": "compiler.cli.diff",
    "why": "compiler.cli.why",
    "show": "compiler.cli.show",
    "affected": "compiler.cli.affected",
    "adopt": "compiler.cli.adopt",
    "explain": "compiler.cli.explain",
    "catalog": "compiler.cli.catalog",
    "switch": "compiler.cli.switch",
    "rollback": "compiler.cli.rollback",
    "generations": "compiler.cli.generations",
    "gc": "compiler.cli.collect",
    "retire": "compiler.cli.retire",
    "status": "compiler.cli.status",
    "report": "compiler.cli.report",
    "init": "compiler.cli.init",
    "completion": "compiler.cli.completion",
}


GROUPS: Mapping[str, tuple[str, ...]] = {
    "A start": ("init", "adopt", "predict"),
    "Judging": ("check", "fit", "explain"),
    "Writing": ("compile", "fmt", "schema"),
    "Reviewing": ("diff", "show", "why", "affected", "report"),
    "On the host": ("switch", "rollback", "generations", "status", "gc", "retire"),
    "A running server": ("verify", "measure"),
    "Facts, and the shell": ("catalog", "completion"),
}
"""What each verb is for, in the order of a first day; `--help` lists them so."""

_LONGEST_HELP = 200


def load_verb(words: Sequence[str]) -> None:
    """Import the verb that a command line names, while few calls are open.

    Python 3.11 keeps frames in chunks of 16 KiB. Below click's calls a verb's imports nest past the end of one, and each of
    hundreds of calls there takes a chunk from the system and gives it back: a twentieth of a cold `check`.
    """
    verb = next((each for each in words if not each.startswith("-")), "")
    if verb in VERBS:
        import_module(VERBS[verb])


class _Verbs(click.Group):
    """A group that imports a verb only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [verb for verbs in GROUPS.values() for verb in verbs]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, verbs in GROUPS.items():
            known = {verb: self.get_command(ctx, verb) for verb in verbs}
            rows = [
                (verb, command.get_short_help_str(_LONGEST_HELP))
                for verb, command in known.items()
                if command is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        command = import_module(VERBS[cmd_name]).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_slip = args and args[0] not in VERBS and not args[0].startswith("-")
        if is_slip and not ctx.resilient_parsing:  # a shell that completes a word wants no answer
            from compiler.near import near  # noqa: PLC0415 - only a mistake pays for it

            similar = near(args[0], VERBS)
            hint = (
                f"; a similar verb exists: `{similar}`"
                if similar
                else f"; there are {', '.join(VERBS)}"
            )
            raise click.UsageError(f"no verb is called `{args[0]}`{hint}", ctx=ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="poolproof %(version)s")
@click.option("--debug", is_flag=True, help="Print a traceback when Poolproof itself fails.")
def poolproof(**options: Any) -> None:  # noqa: ANN401 - click's own
    """Prove that an LLM server's KV pool holds what is promised, and write the units a team reviews."""
    del options
