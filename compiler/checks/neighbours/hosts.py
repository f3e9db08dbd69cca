"""Which services share a host, and which of them can run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from attrs import frozen

from compiler.diagnostics import Label
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.value import Value


Where = Callable[[str], Origins]
"""The origins of a profile, by its name."""


@frozen(kw_only=True, eq=False, repr=False)
class Host(Value):
    """One host: its units by name, each with the plans that give it, of which one runs at a time."""

    name: str
    units: tuple[tuple[Plan, ...], ...]

    def neighbours(self) -> Iterator[tuple[Plan, Plan]]:
        """Every two plans that can run at the same time."""
        for some, others in combinations(self.units, 2):
            yield from ((one, other) for one in some for other in others)


def hosts_of(plans: Sequence[Plan]) -> Iterator[Host]:
    """The hosts on which there is more than one plan, by name."""
    hosts: dict[str, dict[tuple[str, str], list[Plan]]] = {}
    for plan in plans:
        if plan.target_name is not None and plan.target is not None and plan.service is not None:
            # The system's manager and a user's may each have a unit of that name.
            unit = (plan.target.manager, plan.service.unit)
            hosts.setdefault(plan.target_name, {}).setdefault(unit, []).append(plan)
    for name, units in sorted(hosts.items()):
        if sum(map(len, units.values())) > 1:
            yield Host(name=name, units=tuple(tuple(units[unit]) for unit in sorted(units)))


def places(first: Label, *others: Label) -> dict[str, object]:
    """The primary label and the others as a finding takes them; what two profiles share is one place."""
    spans = {first.span}
    kept: list[Label] = []
    for each in others:
        if each.span not in spans:
            spans.add(each.span)
            kept.append(each)
    return {"primary": first, "secondary": tuple(kept)}
