"""`poolproof schema`: the JSON schema of profiles, for editors."""

from __future__ import annotations

import click

from compiler.cli.exits import Exit
from compiler.cli.session import print_json
from compiler.schema import boot_schema, profile_schema


@click.command(name="schema")
@click.option("--boot", is_flag=True, help="Print the schema of recorded boots instead.")
def command(*, boot: bool) -> int:
    """Print the JSON schema of profiles, so that an editor completes and checks them.

    Save it as profiles/schema.json. An editor with a TOML language server (Even Better TOML, taplo) then reads it for each
    file that begins with the line `#:schema ./schema.json`, or `#:schema ../schema.json` in a folder below.
    """
    print_json(boot_schema() if boot else profile_schema())
    return Exit.OK
