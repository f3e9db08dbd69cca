"""A service of Compose goes in; the GPUs that its container is given come out, and what else its tables say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from compiler.adopt.devices import counted, devices_of, listed
from compiler.adopt.launch import Devices, Word
from compiler.value import Value
from compiler.yamltext import Yaml


_RESERVED = ("deploy", "resources", "reservations", "devices")


@frozen(kw_only=True, eq=False, repr=False)
class Asked(Value):
    """One entry that asks for GPUs."""

    node: Yaml
    devices: Devices


def asked_of(service: Yaml, word: Callable[[Yaml], Word]) -> Iterator[Asked]:
    """The entries of `gpus:`, `devices:`, and the reserved devices of `deploy:` (docs.docker.com, Compose specification)."""
    reserved: Yaml | None = service
    for name in _RESERVED:
        reserved = reserved.get(name) if reserved is not None else None
    gpus = service.get("gpus")
    for node in (*(reserved.items if reserved is not None else ()), *_entries(gpus)):
        found = devices_of("gpus", word(node)) if node.text is not None else _table(node, word)
        if found is not None:
            yield Asked(node=node, devices=found)
    for node in _entries(service.get("devices")):
        found = devices_of("devices", word(node)) if node.text is not None else None
        if found is not None:
            yield Asked(node=node, devices=found)


def left_of(name: str, value: Yaml, carried: tuple[Yaml, ...]) -> Iterator[tuple[str, Yaml]]:
    """What a key says beside what is carried, each with its dotted name."""
    if value in carried:
        return
    if not any(value.start <= each.start and each.end <= value.end for each in carried):
        yield name, value
        return
    for key, inside in value.pairs:
        yield from left_of(f"{name}.{key.text}", inside, carried)
    for each in value.items:
        yield from left_of(name, each, carried)


def _entries(node: Yaml | None) -> tuple[Yaml, ...]:
    if node is None:
        return ()
    return node.items or (node,)


def _table(node: Yaml, word: Callable[[Yaml], Word]) -> Devices | None:
    """`{driver: nvidia, device_ids: ["2", "3"], capabilities: [gpu]}`, or with a count; all where it says neither."""
    driver = node.get("driver")
    if driver is not None and driver.text != "nvidia":
        return None
    shown = word(node)
    several, count = node.get("device_ids"), node.get("count")
    if several is not None:
        return listed(map(word, _entries(several)), shown=shown)
    return counted(word(count)) if count is not None else Devices(span=shown.span)
