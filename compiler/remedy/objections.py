"""A plan that a change leads to, held against every rule, as `check` would."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from compiler.accept import apply_accepts
from compiler.checks import check
from compiler.concealing import without
from compiler.diagnostics import Diagnostic
from compiler.origins import NOWHERE, Origins, dotted
from compiler.plan import Plan
from compiler.value import Value


Objection = Callable[[Plan], str | None]
"""Why a plan is refused, in words; `None` when it is not."""
Beside = Callable[[Plan], tuple[Diagnostic, ...]]
"""What a plan does to others, and they to it."""


def forced_in(where: Origins) -> Mapping[str, str]:
    """The settings that a file sets by force, and that file's profile: what is written elsewhere changes nothing."""
    winners = (where.by_path[path].winner for path in sorted(where.forced))
    return {dotted(one.path): one.profile for one in winners}


@frozen(kw_only=True, eq=False, repr=False)
class Rules(Value):
    """The whole check of one plan.

    Attributes:
        standing: errors of the files themselves, which no plan shows and no lever mends.
        left_out: codes that say nothing here, such as those about a deployment of what is none.
        beside: what the services of its hosts do to each other with it; nothing where none runs beside it.
    """

    standing: tuple[Diagnostic, ...] = ()
    left_out: frozenset[str] = frozenset()
    beside: Beside | None = None

    def __call__(self, plan: Plan) -> str | None:
        """The first error, in words; `None` when there is none."""
        errors = (*self.standing, *self.errors(plan))
        first = next(iter(errors), None)
        return None if first is None else f"{first.code}, {without(first, ()).summary}"

    def errors(self, plan: Plan) -> tuple[Diagnostic, ...]:
        """What refuses a plan, without the places in files."""
        found = apply_accepts(plan, check(plan, NOWHERE), NOWHERE)
        if self.beside is not None:
            found = (*found, *self.beside(plan))
        return tuple(each for each in found if each.is_error and each.code not in self.left_out)
