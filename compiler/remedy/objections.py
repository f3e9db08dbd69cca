"""A plan that a change leads to, held against every rule but those of memory."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from compiler.checks import check
from compiler.checks.memory import MEMORY_CODES
from compiler.diagnostics import Diagnostic, Span
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.value import Value


_NOWHERE = Origins(document=Span(file="", line=1, column=1, end_line=1, end_column=1))


@frozen(kw_only=True, eq=False, repr=False)
class Rules(Value):
    """The rules, less the errors that a profile has anyway: a change is not to blame for those."""

    known: frozenset[str]

    def __call__(self, plan: Plan) -> str | None:
        """The first error that the change brings, in words; `None` when it brings none."""
        return next((f"{each.code}, {each.summary}" for each in self._errors(plan)), None)

    def _errors(self, plan: Plan) -> Iterable[Diagnostic]:
        return (
            each
            for each in check(plan, _NOWHERE)
            if each.is_error and each.code not in MEMORY_CODES | self.known
        )
