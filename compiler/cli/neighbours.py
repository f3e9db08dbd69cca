"""The profiles that may run on a host of one that is asked about, and what is asked about judged beside them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from compiler.cli.session import Session
from compiler.diagnostics import printable
from compiler.inputs import Inputs, hosts_of, names_on
from compiler.judged import Checked
from compiler.pipeline import check_profiles


def check_asked(session: Session) -> Checked:
    """The whole tree, judged; or what was asked for by name, beside what runs on its hosts."""
    beside = names_beside(session.names, session.inputs) if session.named else ()
    return check_profiles(session.names, session.inputs, whole=not session.named, beside=beside)


def tell_unseen(names: Sequence[str]) -> None:
    """Say which neighbours were not looked at."""
    for name in names:
        click.echo(
            f"`{printable(name)}` names the same host and cannot be planned, so what the two do to each other was not looked at: "
            f"`poolproof check {printable(name)}` says why",
            err=True,
        )


def names_beside(asked: Sequence[str], inputs: Inputs) -> tuple[str, ...]:
    """The other profiles that have a target in common with one of these: what may run beside them."""
    return names_on(hosts_of(asked, inputs), inputs, without=asked)
