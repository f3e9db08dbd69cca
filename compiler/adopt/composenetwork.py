"""A service of Compose goes in; the ports that it publishes come out, the names it is called by, and the services that call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from attrs import evolve, frozen

from compiler.adopt.launch import Change, Command, Port, Word
from compiler.adopt.names import calls_in
from compiler.adopt.parts import speaks_of_engine
from compiler.adopt.ports import other_port, port_of, published
from compiler.adopt.volumes import items_of, text_of
from compiler.value import Value
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


@frozen(kw_only=True, eq=False, repr=False)
class Network(Value):
    """The services of a file.

    Attributes:
        names: what each is called by.
        everybody: all these names.
        calls: for a name what is said of those that call it.
    """

    names: Mapping[str, frozenset[str]]
    everybody: frozenset[str]
    calls: Mapping[str, tuple[Change, ...]]

    def around(self, command: Command, name: str) -> Command:
        """A command of a service with what the other services of the file have to do with it."""
        image = command.image.text if command.image is not None else ""
        if not speaks_of_engine(" ".join((image, *(each.text for each in command.words)))):
            return command
        calls = (each for own in sorted(self.names[name]) for each in self.calls.get(own, ()))
        told = (each for each in calls if not each.text.startswith(f"`{name}` "))
        return evolve(command, changes=(*command.changes, *told), names=self.everybody)


def network_of(services: Yaml, word: _WORD) -> Network:
    """All services, each text in them read once."""
    several = {key.text or "": node for key, node in services.pairs}
    names = {name: frozenset(_names(name, node)) for name, node in several.items()}
    texts = ((name, word(each)) for name, node in several.items() for each in _scalars(node))
    return Network(names=names, everybody=frozenset().union(*names.values()), calls=calls_in(texts))


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
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.text is not None:
            yield each
        left += reversed([*each.items, *(value for _, value in each.pairs)])
