"""The ports and the network of a container go in; what reaches it comes out, and a word on a port that clients know by another number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.adopt.launch import Change, Port, Word
from compiler.adopt.masking import masked
from compiler.engines.adopting import ChangeKind


PORTS = frozenset({"-p", "--publish", "PublishPort", "ports"})
_NETWORKS = frozenset({"--network", "--net", "Network", "network_mode"})


def ports_of_options(options: Iterable[tuple[str, Word | None]]) -> tuple[Port, ...]:
    """The ports that options publish; one without a number on the host has any there (docs.docker.com, "Port publishing")."""
    return tuple(
        port_of(value)
        for name, value in options
        if value is not None and value.text and name in PORTS
    )


def port_of(value: Word) -> Port:
    """`127.0.0.1:8000:30000/tcp`; an address of IPv6 has colons of its own."""
    text, signs = masked(value)
    front, _, inner = text.partition("/")[0].translate(signs).rpartition(":")
    if not front:
        return Port(inner=inner)
    address, _, outer = front.rpartition(":")
    return Port(address=address, outer=outer, inner=inner)


def is_hosts_network(options: Iterable[tuple[str, Word | None]]) -> bool:
    """Whether a container has the network of its host."""
    return any(
        name in _NETWORKS and value is not None and value.text == "host" for name, value in options
    )


def published(options: Iterable[tuple[str, Word | None]]) -> Iterator[Change]:
    """A word about each port that clients know by another number than the server does."""
    for name, value in options:
        if value is None or name not in PORTS:
            continue
        text, _ = masked(value)
        *front, inner = text.partition("/")[0].split(":")
        if front:
            yield from other_port(front[-1], inner, value)


def other_port(outer: str, inner: str, word: Word) -> Iterator[Change]:
    """The word about one."""
    if outer.isdecimal() and inner.isdecimal() and outer != inner:
        text = f"clients use port {outer}, which is the container's {inner}: on the host itself the server is found at its own port; set `serve.port = {outer}`, or tell the clients"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=word.span, first=True)
