"""`poolproof completion`: the script that makes a shell complete verbs, options, and profiles."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from compiler.cli.exits import Exit


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    For bash, in ~/.bashrc: eval "$(poolproof completion bash)"
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    from compiler.cli.commands import poolproof  # noqa: PLC0415 - it names this module

    script = found(poolproof, {}, "poolproof", "_POOLPROOF_COMPLETE").source()
    sys.stdout.write(f"{script.strip()}\n")
    return Exit.OK
