"""What no service of a host uses: ports that one of them can move to, and GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, islice, pairwise

from attrs import evolve, field, frozen

from compiler.checks.neighbours.hosts import Host, Resident, footprint_of
from compiler.checks.neighbours.sharing import MOST_SHOWN, numbered
from compiler.diagnostics import listed
from compiler.engines.engine import PortUse
from compiler.most import GPUS, LAST_PORT
from compiler.profile import Argument
from compiler.value import Value


_OWN = "serve.port"
_STEP = 100
"""Between the ports of servers: each may use some of those that follow its own, for what it says to itself."""
_TRIES = 64
"""Places that are looked at: where so many are no better, what is said without one is enough."""


@frozen(kw_only=True, eq=False, repr=False)
class Taken(Value):
    """The ports of a host that somebody uses, those that are offered among them; they grow by each that is offered."""

    surely: set[int] = field(factory=set)
    drawn: set[int] = field(factory=set)

    def add(self, uses: Iterable[PortUse]) -> None:
        """Count these as used from now on."""
        for use in uses:
            (self.surely if use.certain else self.drawn).update(_all(use))

    def meets(self, use: PortUse) -> bool:
        """Whether somebody may listen there. Two draws are not counted: each port is tried before it is taken."""
        return any(
            port in self.surely or (use.certain and port in self.drawn) for port in _all(use)
        )


def taken_on(host: Host) -> Taken:
    """What the services of a host use."""
    taken = Taken()
    taken.add(use for each in host.residents for use in each.footprint.ports)
    return taken


def _all(use: PortUse) -> range:
    return range(use.first, use.last + 1)


def free_port(resident: Resident, setting: str, near: int, taken: Taken) -> str | None:
    """The setting with the first port behind `near` that leaves the service alone, as a profile writes it; it is taken then.

    The server's own goes in steps, and what an engine derives from it must be free, too.
    """
    before = {_key(each) for each in resident.footprint.ports}
    step = _STEP if setting == _OWN else 1
    behind = range(near + step, LAST_PORT + 1, step)
    unused = (each for each in behind if each not in taken.surely and each not in taken.drawn)
    for port in islice(unused, _TRIES):
        found = _moved(resident, setting, port)
        if found is None:
            return None
        written, uses = found
        new = [each for each in uses if _key(each) not in before]
        if any(each.last > LAST_PORT for each in new):
            return None
        if new and not any(map(taken.meets, new)) and not _meet_each_other(uses):
            taken.add(new)
            return written
    return None


def _key(use: PortUse) -> tuple[int, int, str]:
    return use.first, use.last, use.what


def _meet_each_other(uses: Sequence[PortUse]) -> bool:
    certain = sorted((use.first, use.last) for use in uses if use.certain and use.listens)
    return any(one[1] >= other[0] for one, other in pairwise(certain))


def _moved(resident: Resident, setting: str, port: int) -> tuple[str, tuple[PortUse, ...]] | None:
    """The setting as it is written with this port, and the ports that the service then uses; an address keeps its host."""
    plan = resident.plan
    profile = plan.profile
    if setting == _OWN:
        changed = evolve(profile, serve=evolve(profile.serve, port=port))
        return f"{_OWN} = {port}", footprint_of(evolve(plan, profile=changed)).ports
    table, _, name = setting.partition(".")
    if table != "flags":
        return None
    there = profile.flags.get(name)
    value: Argument = port
    if isinstance(there, str) and ":" in there:
        value = f"{there.rpartition(':')[0]}:{port}"
    elif there is not None and not isinstance(there, int):
        return None
    changed = evolve(profile, flags={**profile.flags, name: value})
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return f"{setting} = {text}", footprint_of(evolve(plan, profile=changed)).ports


def own_indices(several: Sequence[Resident], host: Host) -> str:
    """What gives services that share GPUs some of their own: the first that nobody uses, or else which are used."""
    head = "give each its own `gpus.indices`"
    used = {gpu for each in host.residents for gpu in each.footprint.gpus or ()}
    if any(each.footprint.gpus is None for each in host.residents):
        return f"{head}; {numbered(used)} {_are(used)} taken" if used else head
    free = (gpu for gpu in count() if gpu not in used)
    # What has most GPUs stays, so that few more are needed; among equals what names its own.
    order = sorted(
        several,
        key=lambda each: (-len(each.footprint.gpus or ()), not each.plan.profile.gpus.indices),
    )
    offers: list[str] = []
    offered: list[int] = []
    for each in order[1:MOST_SHOWN]:
        gpus = tuple(islice(free, len(each.footprint.gpus or ())))
        if not _would_use(each, gpus):
            return f"{head}; {numbered(used)} {_are(used)} taken"
        offers.append(f"`{list(gpus)}` for `{each.name}`")
        offered += gpus
    it = "it" if len(offered) == 1 else "them"
    return f"{head}, such as {listed(offers)}: no service here uses {numbered(offered)}, if `{host.name}` has {it}"


def _are(gpus: set[int]) -> str:
    return "is" if len(gpus) == 1 else "are"


def _would_use(resident: Resident, gpus: tuple[int, ...]) -> bool:
    """Whether a service with these indices uses these; a variable, or a flag, may say otherwise."""
    plan = resident.plan
    if not gpus or gpus[-1] >= GPUS:
        return False
    changed = evolve(plan.profile, gpus=evolve(plan.profile.gpus, indices=gpus))
    return footprint_of(evolve(plan, profile=changed)).gpus == gpus
