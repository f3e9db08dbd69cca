"""Which services share a host, and which of them can run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypedDict

from attrs import frozen

from compiler.diagnostics import Label
from compiler.engines.engine import Footprint, PortUse
from compiler.engines.known import ENGINES
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.value import Value


Where = Callable[[str], Origins]
"""The origins of a profile, by its name."""


@frozen(kw_only=True, eq=False, repr=False)
class Resident(Value):
    """One plan on its host.

    Attributes:
        unit: what runs once on the host; residents with the same one are alternatives.
        footprint: what it takes of the host.
    """

    plan: Plan
    unit: tuple[str, str]
    footprint: Footprint

    @property
    def name(self) -> str:
        """The name of its profile."""
        return self.plan.profile_name

    @property
    def service(self) -> tuple[str, str]:
        """What a finding between services calls it: its profile and its host."""
        return service_of(self.plan)


@frozen(kw_only=True, eq=False, repr=False)
class Host(Value):
    """One host with all that may run on it."""

    name: str
    residents: tuple[Resident, ...]


def hosts_of(plans: Sequence[Plan]) -> Iterator[Host]:
    """The hosts on which there is more than one plan, by name."""
    hosts: dict[str, list[Plan]] = {}
    for plan in plans:
        if plan.target_name is not None:
            hosts.setdefault(plan.target_name, []).append(plan)
    for name, several in sorted(hosts.items()):
        if len(several) > 1:
            # Of alternatives of one kind there is nothing to hold against each other.
            apart = len({unit_of(each) for each in several}) > 1
            shared = apart or len({each.profile.gpus.kind for each in several}) > 1
            residents = (
                Resident(
                    plan=each,
                    unit=unit_of(each),
                    footprint=footprint_of(each) if shared else _NOTHING,
                )
                for each in several
            )
            yield Host(name=name, residents=tuple(residents))


def replace_each_other(plans: Sequence[Plan]) -> bool:
    """Whether on each host one unit runs one of these, on cards of one kind: then their own settings decide what is said of them."""
    kinds: dict[str | None, set[tuple[object, ...]]] = {}
    for each in plans:
        kinds.setdefault(each.target_name, set()).add((unit_of(each), each.profile.gpus.kind))
    return all(len(several) == 1 for several in kinds.values())


_NOTHING = Footprint(ports=(), gpus=())
"""Of a host where all are alternatives: nobody else is there to take anything from."""


def service_of(plan: Plan) -> tuple[str, str]:
    """The profile and the host of a plan."""
    return plan.profile_name, plan.target_name or ""


def unit_of(plan: Plan) -> tuple[str, str]:
    """What of a plan runs once on its host."""
    # The system's manager and a user's may each have a unit of one name.
    manager = plan.target.manager if plan.target else ""
    return manager, plan.service.unit if plan.service else ""


def footprint_of(plan: Plan) -> Footprint:
    """What a plan takes of its host."""
    engine = ENGINES.get(plan.profile.engine.name)
    if engine is not None:
        return engine.footprint(plan.profile, plan.release)
    port, gpus = plan.profile.serve.port, plan.profile.gpus
    own = PortUse(first=port, last=port, what="the server itself", setting="serve.port")
    return Footprint(ports=(own,), gpus=gpus.indices or tuple(range(gpus.count)))


class Places(TypedDict):
    """The places of a finding, as `error` and `warning` take them."""

    primary: Label
    secondary: tuple[Label, ...]


def places(first: Label, *others: Label) -> Places:
    """The primary label and the others as a finding takes them; what two profiles share is one place."""
    spans = {first.span}
    kept: list[Label] = []
    for each in others:
        if each.span not in spans:
            spans.add(each.span)
            kept.append(each)
    return {"primary": first, "secondary": tuple(kept)}
