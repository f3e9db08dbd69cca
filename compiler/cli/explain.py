"""`poolproof explain`: the page of one code."""

from __future__ import annotations

import sys

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.explain import codes, page
from compiler.near import near


@click.command(name="explain")
@click.argument("code", required=False, shell_complete=completing.codes)
def command(code: str | None) -> int:
    """Say what a finding means and how to mend it; without a CODE, list them all."""
    if code is None:
        sys.stdout.writelines(f"{each}\n" for each in codes())
        return Exit.OK
    text = page(code)
    if text is None:
        similar = near(code, codes())
        hint = (
            f"; a code with a similar name exists: `{similar}`"
            if similar
            else "; `poolproof explain` lists all"
        )
        click.echo(f"no finding has the code `{code}`{hint}", err=True)
        return Exit.REFUSED
    sys.stdout.write(text)
    return Exit.OK
