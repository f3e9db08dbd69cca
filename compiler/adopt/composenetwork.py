"""A service of Compose goes in; the ports that it publishes come out, the names it is called by, and the services that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import evolve

from compiler.adopt.launch import Change, Command, Port, Word
from compiler.adopt.names import callers_of
from compiler.adopt.ports import other_port, port_of, published
from compiler.adopt.volumes import items_of, text_of
from compiler.yamltext import Yaml


_WORD = Callable[[Yaml], Word]


def ports_of(service: Yaml, word: _WORD) -> Iterator[Port]:
    """The ports that are published, in the short form and the long one; `word` makes a word of a scalar."""
    for each in items_of(service, "ports"):
        inner = each.get("target")
        if each.text is not None:
            yield port_of(word(each))
        elif inner is not None:
            told = (each.get(name) for name in ("host_ip", "published"))
            address, outer = (word(one).text if one is not None else "" for one in told)
            yield Port(address=address, outer=outer, inner=word(inner).text)


def other_ports(service: Yaml, word: _WORD) -> Iterator[Change]:
    """The ports that clients know by another number."""
    for each in items_of(service, "ports"):
        outer, inner = each.get("published"), each.get("target")
        if each.text is not None:
            yield from published([("ports", word(each))])
        elif outer is not None and inner is not None:
            yield from other_port(word(outer).text, word(inner).text, word(outer))


def is_hosts_network(service: Yaml) -> bool:
    """Whether it has the network of the host."""
    return text_of(service, "network_mode") == "host"


def among(
    command: Command,
    name: str,
    service: Yaml,
    *,
    others: Sequence[tuple[str, Yaml]],
    word: _WORD,
) -> Command:
    """A command of a service with what the other services of the file have to do with it."""
    own = frozenset(_names(name, service))
    said = ((other, word(each)) for other, node in others for each in _scalars(node))
    names = {each for other, node in others for each in _names(other, node)}
    told = (*command.changes, *callers_of(own, said))
    return evolve(command, changes=told, names=frozenset(names) | own)


def _names(name: str, service: Yaml) -> Iterator[str]:
    """What other containers call one by."""
    yield from filter(
        None, (name, text_of(service, "container_name"), text_of(service, "hostname"))
    )


def _scalars(node: Yaml) -> Iterator[Yaml]:
    """All texts below a node, each once, whatever aliases there are of it."""
    seen: set[int] = set()
    left = [node]
    while left:
        each = left.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.text is not None:
            yield each
        left[:0] = [*each.items, *(value for _, value in each.pairs)]
