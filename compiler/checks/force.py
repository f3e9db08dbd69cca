"""Settings by force: they win over everything, so nobody may forget them."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, Label, warning
from compiler.origins import Origins, dotted
from compiler.plan import Plan
from compiler.rules import rule


@rule("force-in-use")
def forced(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """`[force]` is for an incident; the warning is the same for every profile it reaches, and is shown once."""
    del plan
    for path in sorted(where.forced):
        winner = where.by_path[path].winner
        yield warning(
            "force-in-use",
            f"`{dotted(path)}` is set by force in `{winner.profile}`",
            Label(winner.value_span, "wins over every profile that extends it"),
            notes=("a profile that sets it again changes nothing",),
            help=("once the reason is gone, write it as a plain setting or take it out",),
            path=dotted(path),
        )
