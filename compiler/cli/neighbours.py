"""The profiles that may run on a host of one that is asked about."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.pipeline import Inputs, resolve


def names_beside(name: str, inputs: Inputs) -> tuple[str, ...]:
    """The other profiles that have a target in common with this one: what may run beside it."""
    hosts = _targets(name, inputs)
    if not hosts:
        return ()
    try:
        names = inputs.reader.names()
    except OSError:
        return ()  # whoever checks the tree is told
    return tuple(each for each in names if each != name and hosts & _targets(each, inputs))


def _targets(name: str, inputs: Inputs) -> frozenset[str]:
    resolved, _ = resolve(name, inputs)
    targets = None if resolved is None else resolved.values.get("targets")
    return frozenset(targets) if isinstance(targets, Mapping) else frozenset()
