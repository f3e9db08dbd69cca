"""Ports of one host: what two services would both listen on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.checks.address import EVERY_ADDRESS
from compiler.checks.neighbours.hosts import Host, Resident, Where, places
from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.engines.engine import PortUse
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.checks.neighbours.apart import Taken


@frozen(eq=False, repr=False)
class Listener(Value):
    """A service with ports of its own."""

    resident: Resident
    use: PortUse

    @property
    def said(self) -> str:
        """Who listens where."""
        return f"`{self.resident.name}`: {self.use.said}"


_OWN = "serve.port"

Pair = tuple[Listener, Listener]


def clashing_ports(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Two servers cannot listen on one port: the one that starts second ends, after it has loaded.

    Each service is held against those before it, and the first clash is told, one that is certain before one that is not.
    """
    told: dict[str, Pair] = {}
    for mine, theirs in _meetings(host):
        name = theirs.resident.name
        if name not in told or (_certain((mine, theirs)) and not _certain(told[name])):
            told[name] = (mine, theirs)
    if told:
        from compiler.checks.neighbours.apart import taken_on  # noqa: PLC0415 - where ports meet

        # Each finding offers a port that none before it did.
        taken = taken_on(host)
        for pair in told.values():
            yield _finding(*pair, host=host, where=where, taken=taken)


def _meetings(host: Host) -> Iterator[Pair]:
    """Every two listeners of different units whose ports overlap, in the order of the residents."""
    order = {each.name: place for place, each in enumerate(host.residents)}
    listeners = sorted(
        (Listener(each, use) for each in host.residents for use in each.footprint.ports),
        key=lambda each: (each.use.first, order[each.resident.name]),
    )
    open_: list[Listener] = []
    for listener in listeners:
        open_ = [each for each in open_ if each.use.last >= listener.use.first]
        for other in open_:
            pair = sorted((other, listener), key=lambda each: order[each.resident.name])
            if other.resident.unit != listener.resident.unit and _clash(*pair):
                yield pair[0], pair[1]
        open_.append(listener)


def _clash(mine: Listener, theirs: Listener) -> bool:
    """Whether two that overlap can meet. Two draws are not counted: each port is tried before it is taken."""
    drawn = not (mine.use.certain or theirs.use.certain)
    listened = mine.use.listens or theirs.use.listens
    return listened and not drawn and not _on_two_addresses(mine, theirs)


def _certain(pair: Pair) -> bool:
    return all(each.use.certain for each in pair)


def _on_two_addresses(mine: Listener, theirs: Listener) -> bool:
    """Whether both are the servers' own ports, each on an address of its own."""
    hosts = {each.resident.plan.profile.serve.host for each in (mine, theirs)}
    own = all(each.use.first == each.resident.plan.profile.serve.port for each in (mine, theirs))
    return own and len(hosts) > 1 and not hosts & EVERY_ADDRESS


def _finding(
    mine: Listener, theirs: Listener, *, host: Host, where: Where, taken: Taken
) -> Diagnostic:
    first = max(mine.use.first, theirs.use.first)
    last = min(mine.use.last, theirs.use.last)
    shown = places(_label(mine, where), _label(theirs, where))
    names = f"`{mine.resident.name}` and `{theirs.resident.name}` on `{host.name}`"
    labels = (shown["primary"], *shown["secondary"])
    # What two profiles share is one place, with one label.
    said = (mine.said, theirs.said)
    notes = tuple(each for each in said if not any(each == label.text for label in labels))
    between = (mine.resident.service, theirs.resident.service)
    if _certain((mine, theirs)):
        ports = f"port {first}" if first == last else f"ports {first} to {last}"
        return error(
            "port-clash",
            f"{names} both listen on {ports}",
            **shown,
            notes=notes,
            help=(_apart(mine, theirs, host, taken),),
            path=mine.use.setting,
            between=between,
        )
    drawn = next(each for each in (mine, theirs) if not each.use.certain)
    return warning(
        "port-range",
        f"{names} may come to listen on one port",
        **shown,
        notes=(
            *notes,
            "a port that nobody uses at the draw is taken, and missing when its owner starts",
        ),
        help=(_fixed(drawn, host, taken),),
        path=mine.use.setting,
        between=between,
    )


def _apart(mine: Listener, theirs: Listener, host: Host, taken: Taken) -> str:
    """What moves a port of either, by the setting that decides it; the port of a server is what clients know."""
    from compiler.checks.neighbours.apart import free_port  # noqa: PLC0415 - where ports meet

    for each in sorted((theirs, mine), key=lambda each: each.use.setting == _OWN):
        resident, setting = each.resident, each.use.setting
        near = resident.plan.profile.serve.port if setting == _OWN else each.use.last
        port = free_port(resident, setting, near, taken)
        if port is not None:
            return f"set `{port}` of `{resident.name}`: no service of `{host.name}` uses a port that it then listens on"
    if mine.use.setting == theirs.use.setting:
        return f"set `{mine.use.setting}` of one of them so that these do not meet"
    either = " or ".join(
        f"`{each.use.setting}` of `{each.resident.name}`" for each in (mine, theirs)
    )
    return f"set {either} so that these do not meet"


def _fixed(drawn: Listener, host: Host, taken: Taken) -> str:
    """What takes the place of a draw."""
    from compiler.checks.neighbours.apart import free_port  # noqa: PLC0415 - where ports meet

    resident, setting = drawn.resident, drawn.use.fixed_by or ""
    port = free_port(resident, setting, resident.plan.profile.serve.port, taken)
    if port is not None:
        return f"set `{port}` of `{resident.name}`, a port that no service of `{host.name}` uses"
    return f"set `{setting}` of `{resident.name}` to a port that no other service uses"


def _label(listener: Listener, where: Where) -> Label:
    origins = where(listener.resident.name)
    # A port that no file sets is the default of a service, which its target stands for.
    target = f"targets.{listener.resident.plan.target_name}.kind"
    return origins.primary(listener.use.setting, "serve.port", target, text=listener.said)
