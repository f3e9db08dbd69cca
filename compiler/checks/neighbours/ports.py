"""Ports of one host: what two services would both listen on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from compiler.checks.neighbours.hosts import Host, Where, places
from compiler.diagnostics import Diagnostic, Label, error, warning
from compiler.engines import ENGINES
from compiler.engines.engine import PortUse
from compiler.plan import Plan
from compiler.value import Value


_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound


@frozen(eq=False, repr=False)
class Listener(Value):
    """A service with ports of its own."""

    plan: Plan
    use: PortUse

    @property
    def said(self) -> str:
        """Who listens where."""
        use = self.use
        ports = str(use.first) if use.first == use.last else f"{use.first} to {use.last}"
        which = "" if use.certain else "one of "
        return f"`{self.plan.profile_name}`: {which}{ports}, {use.what}"


def clashing_ports(host: Host, where: Where) -> Iterator[Diagnostic]:
    """Two servers cannot listen on one port: the one that starts second ends, after it has loaded."""
    for one, other in host.neighbours():
        clashes = [
            (mine, theirs)
            for mine in _listeners(one)
            for theirs in _listeners(other)
            if _meet(mine, theirs)
        ]
        certain = [pair for pair in clashes if all(each.use.certain for each in pair)]
        for mine, theirs in (certain or clashes)[:1]:
            yield _finding(mine, theirs, certain=bool(certain), host=host, where=where)


def _listeners(plan: Plan) -> tuple[Listener, ...]:
    engine = ENGINES.get(plan.profile.engine.name)
    port = plan.profile.serve.port
    uses = (
        (PortUse(first=port, last=port, what="the server itself", setting="serve.port"),)
        if engine is None
        else engine.footprint(plan.profile, plan.release).ports
    )
    return tuple(Listener(plan, use) for use in uses)


def _meet(mine: Listener, theirs: Listener) -> bool:
    """Whether they overlap. Two draws are not counted: each is tried before it is taken."""
    one, other = mine.use, theirs.use
    overlap = one.first <= other.last and other.first <= one.last
    return overlap and (one.certain or other.certain) and not _on_two_addresses(mine, theirs)


def _on_two_addresses(mine: Listener, theirs: Listener) -> bool:
    """Whether both are the servers' own ports, each on an address of its own."""
    hosts = {each.plan.profile.serve.host for each in (mine, theirs)}
    own = all(each.use.first == each.plan.profile.serve.port for each in (mine, theirs))
    return own and len(hosts) > 1 and not hosts & _EVERYWHERE


def _finding(
    mine: Listener, theirs: Listener, *, certain: bool, host: Host, where: Where
) -> Diagnostic:
    first = max(mine.use.first, theirs.use.first)
    last = min(mine.use.last, theirs.use.last)
    shown: dict[str, Any] = places(_label(mine, where), _label(theirs, where))
    names = f"`{mine.plan.profile_name}` and `{theirs.plan.profile_name}` on `{host.name}`"
    notes = (mine.said, theirs.said)
    if certain:
        ports = f"port {first}" if first == last else f"ports {first} to {last}"
        return error(
            "port-clash",
            f"{names} both listen on {ports}",
            **shown,
            notes=notes,
            help=("set `serve.port` of one of them so that these do not meet",),
            path=mine.use.setting,
        )
    drawn = [each.plan.profile_name for each in (mine, theirs) if not each.use.certain]
    return warning(
        "port-range",
        f"{names} may come to listen on one port",
        **shown,
        notes=(*notes, "a port that nobody uses at the draw is taken, and missing when its owner starts"),
        help=(f"set `flags.nccl-port` of `{drawn[0]}` to a port that no other service uses",),
        path=mine.use.setting,
    )


def _label(listener: Listener, where: Where) -> Label:
    origins = where(listener.plan.profile_name)
    return origins.primary(listener.use.setting, "serve.port", text=listener.said)
