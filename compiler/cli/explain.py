"""`poolproof explain`: the page of one code."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import width
from compiler.explain import codes, meanings, page
from compiler.near import near
from compiler.report.prose import broken, refilled


@click.command(name="explain")
@click.argument("code", required=False, shell_complete=completing.codes)
def command(code: str | None) -> int:
    """Say what a finding means and how to mend it; without a CODE, list them all, each with a line of what it means."""
    if code is None:
        wide = width() if sys.stdout.isatty() else None
        sys.stdout.writelines(f"{line}\n" for line in index_lines(width=wide))
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
    if sys.stdout.isatty():
        sys.stdout.writelines(f"{line}\n" for line in refilled(text, width=width()))
    else:
        sys.stdout.write(text)
    return Exit.OK


def index_lines(*, width: int | None) -> Iterator[str]:
    """Every code with what it means, in so many columns; a line for each where nothing bounds it."""
    known = meanings()
    longest = max(map(len, known))
    for code, meaning in known.items():
        line = f"{code.ljust(longest)}  {meaning}"
        yield from (line,) if width is None else broken(line, room=width)
