"""The rules that hold for every engine, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.checks import flags, fraction, layout, memory, secrets, target, unknown
from compiler.engines import ENGINES
from compiler.rules import Rule, collect


if TYPE_CHECKING:
    from compiler.diagnostics import Diagnostic
    from compiler.origins import Origins
    from compiler.plan import Plan


GENERAL: tuple[Rule, ...] = collect(flags, fraction, layout, memory, secrets, target, unknown)


def rules_for(plan: Plan) -> tuple[Rule, ...]:
    """All rules for one plan: the engine's own, then those of every engine."""
    engine = ENGINES.get(plan.profile.engine.name)
    return (*(engine.rules if engine else ()), *GENERAL)


def check(plan: Plan, where: Origins) -> tuple[Diagnostic, ...]:
    """Judge one plan. A flag that an engine rule already explained is not reported a second time."""
    found = [finding for each in rules_for(plan) for finding in each.judge(plan, where)]
    explained = {
        _table(each.path) for each in found if each.is_error and each.code not in flags.CODES
    }
    return tuple(
        each for each in found if each.code not in flags.CODES or _table(each.path) not in explained
    )


def _table(path: str | None) -> str | None:
    return path.partition(".")[0] if path and not path.startswith("flags.") else None
