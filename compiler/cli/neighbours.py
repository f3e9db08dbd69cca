"""The profiles that may run on a host of one that is asked about, and what is asked about judged beside them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from compiler.cli.session import Session
from compiler.diagnostics import printable
from compiler.inputs import Inputs
from compiler.judged import Checked
from compiler.language.load import load_once, name_fault
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
    hosts = frozenset[str]().union(*(_targets(name, inputs) for name in asked))
    return names_on(hosts, inputs, without=asked)


def names_on(
    hosts: frozenset[str], inputs: Inputs, *, without: Sequence[str] = ()
) -> tuple[str, ...]:
    """The profiles that have one of these targets, and those that nobody can read which name such a host.

    Targets stand in a profile's own file, since nothing that has one can be extended: only files that hold the name of such a
    host are parsed, so that one service of a large tree is judged as fast as one of a small.
    """
    if not hosts:
        return ()
    try:
        names = inputs.reader.names()
    except OSError:
        return ()  # whoever checks the tree is told
    others = (each for each in names if each not in without and _may_name(each, hosts, inputs))
    return tuple(each for each in others if _has(each, hosts, inputs))


def _may_name(name: str, hosts: frozenset[str], inputs: Inputs) -> bool:
    """Whether a host's name stands in the file, or may: TOML lets a key be written with escapes."""
    try:
        text = b"" if name_fault(name) else inputs.reader.read(name) or b""
    except OSError:
        return False  # whoever checks the tree is told
    return b"\\u" in text or b"\\U" in text or any(each.encode() in text for each in hosts)


def _has(name: str, hosts: frozenset[str], inputs: Inputs) -> bool:
    document, _ = load_once(inputs.reader, name, inputs.documents)
    return document is None or not hosts.isdisjoint(document.directives.targets)


def _targets(name: str, inputs: Inputs) -> frozenset[str]:
    document, _ = load_once(inputs.reader, name, inputs.documents)
    return frozenset() if document is None else document.directives.targets
