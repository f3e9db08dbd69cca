"""Addresses with a port that the engine's parser takes as any text: where ranks meet, and where others are reached."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, refusal
from compiler.most import LAST_PORT
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_MEETING = ("dist-init-addr", "nccl-init-addr")
_URLS = (
    "decoupled-spec-bind-endpoint",
    "decoupled-spec-connect-endpoints",
    "encoder-register-urls",
    "encoder-urls",
    "load-publish-endpoint",
    "oltp-traces-endpoint",
    "otlp-traces-endpoint",
    "pdlb-url",
)
_USUAL = 5000
_PORT = re.compile(r":([0-9]+)(?![0-9:\]])")
_OPEN = "$"
"""What a shell puts in before the server reads it is not judged."""


@rule("flag-value", flags=_MEETING)
def ranks_meet_at_a_port(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Ranks meet at `tcp://HOST:PORT`, node 0 listening there (0.4.6 model_runner.py to 0.5.23, `init_torch_distributed`).

    From 0.5.11 on utils/network.py, `NetworkAddress.parse`, reads the text first. Several nodes and no colon at all is
    `dist-init-missing`.
    """
    given = given_by(plan)
    address = given.word(*_MEETING)
    if not address or _OPEN in address:
        return
    if ":" not in address and (given.whole("nnodes") or 1) > 1:
        return
    fault = _fault(address)
    if fault is None:
        return
    yield refusal(
        given,
        "flag-value",
        f"the address to meet at, `{address}`, {fault}",
        at(given, where, *_MEETING, text="needs HOST:PORT"),
        because="the server stops once it brings its ranks together: it listens there, or looks for node 0",
        help=(
            f'set `{_MEETING[0]} = "{_host(address)}:{_USUAL}"`, with a port that is free on node 0',
        ),
    )


def _fault(address: str) -> str | None:
    """What keeps a text from being `HOST:PORT`, a clause."""
    if "://" in address:
        return "begins with a scheme, and is to be HOST:PORT alone"
    host, colon, port = address.rpartition(":")
    if not colon or not host:
        return "has no host" if colon else "has no port"
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        return "has more than one colon; an IPv6 address stands in brackets"
    if not (port.isascii() and port.isdecimal()):
        return f"has no number behind its colon, but `{port}`" if port else "has no port"
    if not 1 <= int(port) <= LAST_PORT:
        return f"names a port that nobody can meet at: they are 1 to {LAST_PORT:,}"
    return None


def _host(address: str) -> str:
    """The host that an address probably means, as it is written before a port."""
    rest = address.rpartition("://")[2].partition("/")[0]
    if rest.startswith("["):
        return f"{rest.partition(']')[0]}]"
    host = rest.rpartition(":")[0] if ":" in rest else rest
    return f"[{host}]" if ":" in host else host or "HOST"


@rule("flag-value", flags=_URLS)
def others_are_at_ports(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A port past the last one is nowhere, whoever listens or asks there."""
    given = given_by(plan)
    for name in _URLS:
        for word in given.words(name):
            beyond = [each for each in _PORT.findall(word) if int(each) > LAST_PORT]
            if not beyond:
                continue
            yield refusal(
                given,
                "flag-value",
                f"`--{name}` names the port {beyond[0]}",
                at(given, where, name, text="this address"),
                because=f"no host has such a port: they end at {LAST_PORT:,}",
                help=(f"set `{name}` to an address whose port is {LAST_PORT} or less",),
            )
