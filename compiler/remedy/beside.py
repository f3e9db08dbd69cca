"""A service and those that run beside it go in; what refuses it because of them comes out, for any settings of it."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, field

from compiler.catalog import Catalog
from compiler.checks.neighbours import check_neighbours, more_than
from compiler.checks.neighbours.hosts import Where, hosts_of, service_of, unit_of
from compiler.checks.neighbours.sharing import sharings
from compiler.diagnostics import Diagnostic
from compiler.origins import NOWHERE, Origins
from compiler.plan import Plan
from compiler.remedy.objections import Rules
from compiler.remedy.replanning import Replanner


@define(kw_only=True)
class Neighbours:
    """The others of a service's hosts; what they do to each other without it is looked at once.

    Attributes:
        places: the service on each of its targets.
        others: the plans of other services there.
    """

    places: Sequence[Plan]
    others: Sequence[Plan]
    _known: tuple[Diagnostic, ...] | None = field(default=None, init=False)

    @property
    def shares_gpus(self) -> bool:
        """Whether the service has a GPU on any of its hosts that another may hold a part of."""
        own = {service_of(each) for each in self.places}
        hosts = hosts_of((*self.places, *self.others))
        return any(each.taker.resident.service in own for host in hosts for each in sharings(host))

    def findings(self, where: Where, catalog: Catalog) -> tuple[Diagnostic, ...]:
        """What is said as things stand, and would not be without the service; `where` gives a profile's origins."""

        def capped(plan: Plan, tokens: int, fraction: float) -> Plan | None:
            return capped_at(plan, tokens, fraction, catalog=catalog)

        known = check_neighbours(self.others, where, capped=capped)
        found = check_neighbours((*self.places, *self.others), where, capped=capped)
        return more_than(known, found)

    def __call__(self, plan: Plan) -> tuple[Diagnostic, ...]:
        """The same for other settings of the service, without places in files; they change nothing for its alternatives."""
        if {unit_of(each) for each in self.others} <= {unit_of(each) for each in self.places}:
            return ()
        if self._known is None:
            self._known = _errors(self.others)
        moved = (
            evolve(plan, target_name=one.target_name, target=one.target, service=one.service)
            for one in self.places
        )
        return more_than(self._known, _errors((*moved, *self.others)))


def _nowhere(_: str) -> Origins:
    return NOWHERE


def _errors(plans: Sequence[Plan]) -> tuple[Diagnostic, ...]:
    return tuple(each for each in check_neighbours(plans, _nowhere) if each.is_error)


def capped_at(plan: Plan, tokens: int, fraction: float, *, catalog: Catalog) -> Plan | None:
    """A plan again with its pool held to so many tokens, at a fraction; `None` where a rule would refuse that."""
    memory = evolve(plan.profile.memory, max_pool_tokens=tokens, fraction=fraction)
    after = Replanner(plan=plan, catalog=catalog)(evolve(plan.profile, memory=memory))
    return after if Rules()(after) is None else None
