"""The rules that hold for every engine, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from compiler.catalog import Catalog
from compiler.checks import flags, memory
from compiler.diagnostics import Diagnostic
from compiler.engines.known import ENGINES
from compiler.origins import TRIED, Origins
from compiler.plan import Plan
from compiler.rules import Rule, collect


GENERAL: tuple[Rule, ...] = collect(__name__)


def check(plan: Plan, where: Origins) -> tuple[Diagnostic, ...]:
    """Judge one plan: the engine's own rules, then those of every engine.

    A typed setting's flag is not reported once more when an engine rule refused something in the same table: the rule's
    words are better. What does not even load comes first, and what follows from that is not said.
    """
    engine = ENGINES.get(plan.profile.engine.name)
    general = _judge(GENERAL, plan, where)
    # A raw flag that the parser does not know is refused by it, before anything looks at its value.
    unparsed = {each.path for each in general if each.code == flags.UNKNOWN and _is_raw(each)}
    own = _judge(engine.rules_for(plan) if engine else (), plan, where)
    own = tuple(each for each in own if each.path not in unparsed)
    explained = {_table(each) for each in own if each.is_error}
    found = (
        *own,
        *(
            each
            for each in general
            if each.code not in flags.CODES or _table(each) not in explained
        ),
    )
    if any(each.code == memory.UNLOADABLE for each in found):
        found = tuple(each for each in found if each.code not in memory.FOLLOWING)
    if where.tried:
        found = tuple(map(_of_command_line, found))
    return tuple(sorted(found, key=lambda each: each.code != memory.UNLOADABLE))


def _of_command_line(found: Diagnostic) -> Diagnostic:
    """What only the command line gives has no place in a file, and is one finding whatever profile it is given for."""
    primary = found.primary
    if primary is None or not primary.text.endswith(TRIED):
        return found
    return evolve(found, primary=None, notes=(primary.text, *found.notes))


def _judge(rules: tuple[Rule, ...], plan: Plan, where: Origins) -> tuple[Diagnostic, ...]:
    found: list[Diagnostic] = []
    for each in rules:
        found += each.judge(plan, where)
    return tuple(found)


def _table(finding: Diagnostic) -> str:
    """The table that a finding is about; a raw flag stands for itself."""
    path = finding.path or ""
    return path if _is_raw(finding) else path.partition(".")[0]


def _is_raw(finding: Diagnostic) -> bool:
    """Whether it is about a raw flag."""
    return (finding.path or "").startswith("flags.")


def with_meaning(
    faults: tuple[Diagnostic, ...], values: Mapping[str, Any], catalog: Catalog
) -> tuple[Diagnostic, ...]:
    """The faults of plain values that make no profile, with what only the catalogue knows of what was meant."""
    if all(each.code not in {"bad-value", "unknown-key", "wrong-type"} for each in faults):
        return faults
    from compiler.checks.meant.indices import with_meant_indices  # noqa: PLC0415 - only a mistake pays for it
    from compiler.checks.meant.keys import with_meant_keys  # noqa: PLC0415 - as above
    from compiler.checks.meant.names import with_meant_flags  # noqa: PLC0415 - as above
    from compiler.checks.meant.releases import with_releases  # noqa: PLC0415 - as above

    told = with_meant_indices(faults, values)
    told = with_meant_keys(with_meant_flags(told, values, catalog), values, catalog)
    return with_releases(told, values, catalog)
