"""A service and those that run beside it go in; what refuses it because of them comes out, for any settings of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve, frozen

from compiler.checks.neighbours import check_neighbours
from compiler.diagnostics import Diagnostic
from compiler.origins import NOWHERE, Origins
from compiler.plan import Plan
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Neighbours(Value):
    """The others of a service's hosts.

    Attributes:
        places: the service on each of its targets.
        others: the plans of other services there.
    """

    places: tuple[Plan, ...]
    others: tuple[Plan, ...]

    def errors(self, where: Callable[[str], Origins]) -> tuple[Diagnostic, ...]:
        """What is wrong as things stand, and would not be without the service; `where` gives a profile's origins."""
        without = set(_errors(self.others, where))
        found = _errors((*self.places, *self.others), where)
        return tuple(each for each in found if each not in without)

    def __call__(self, plan: Plan) -> tuple[Diagnostic, ...]:
        """The same for other settings of the service, without places in files."""
        moved = tuple(
            evolve(plan, target_name=one.target_name, target=one.target, service=one.service)
            for one in self.places
        )
        return Neighbours(places=moved, others=self.others).errors(lambda _: NOWHERE)


def _errors(plans: Sequence[Plan], where: Callable[[str], Origins]) -> tuple[Diagnostic, ...]:
    return tuple(each for each in check_neighbours(plans, where) if each.is_error)
