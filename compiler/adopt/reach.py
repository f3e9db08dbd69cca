"""A launch in a container goes in; whether what is published of it reaches the server comes out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from compiler.adopt.adopted import Adopted
from compiler.adopt.form import Form
from compiler.adopt.launchfaults import entry_span
from compiler.diagnostics import Diagnostic, Label, warning


_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST: Final = ("serve", "host")


def unreached(adopted: Adopted) -> Iterator[Diagnostic]:
    """A server that listens to its own container alone, of which a port is published, or asked by a probe.

    A launch that says no address has the engine's default, `127.0.0.1`.
    """
    command = adopted.launch.command
    if not command.form.has_own_network or command.is_hosts_network or not command.ports:
        return
    profile, told = adopted.profile, next((e for e in adopted.settings if e.path == _HOST), None)
    behind = command.words[adopted.launch.found.arguments :]
    if profile is None or (told is None and any(each.unknown for each in behind)):
        return
    if profile.serve.host not in _LOOPBACK or _is_open(adopted):
        return
    span = told.span if told is not None else entry_span(adopted.launch)
    what = "pod" if command.form is Form.POD else "container"
    by = "a probe or a Service" if command.form is Form.POD else "a published port"
    yield warning(
        "container-loopback",
        f"the server listens to its own {what} alone, where {by} does not reach it",
        Label(span, "its own loopback" if told is not None else "says no address: `127.0.0.1`")
        if span is not None
        else None,
        notes=(f"a {what} has a loopback of its own",),
        help=(
            "set `--host 0.0.0.0`, and close the port to others where it is published"
            if command.form is not Form.POD
            else "set `--host 0.0.0.0`, and let only its clients reach it, by a NetworkPolicy",
        ),
    )


def _is_open(adopted: Adopted) -> bool:
    """Whether the address is known at start only."""
    words = adopted.launch.command.words
    return any(
        word.unknown and (before.text == "--host" or word.text.startswith("--host="))
        for before, word in pairwise(words)
    )
