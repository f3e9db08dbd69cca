"""How `why` shows what something depends on: each setting with its value and its place, each file with its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.catalog import Catalog, Kind
from compiler.language.merge import Resolved
from compiler.language.spans import split_key
from compiler.plan import Plan
from compiler.why.history import histories
from compiler.why.influence import Source


EACH_RELEASE = 4
"""Of the releases that are known each so many-th is tried: what they count changes seldom, and there are thirty."""


def source_lines(
    sources: Iterable[Source], plan: Plan, resolved: Resolved, catalog: Catalog, *, indent: int = 2
) -> Iterator[str]:
    """A line for each setting, then one for each file of the catalogue."""
    margin, facts = " " * indent, dict[str, list[str]]()
    rows: list[tuple[str, str]] = []
    for each in sources:
        if each.setting is not None:
            rows.append(_setting(each.setting, resolved))
        elif each.fact is not None:
            facts.setdefault(each.fact, []).append(each.key)
    wide = max((len(row[0]) for row in rows), default=0)
    yield from (f"{margin}{head.ljust(wide)}  {place}" for head, place in rows)
    for fact, keys in facts.items():
        yield f"{margin}{_file(fact, plan, catalog)}: {', '.join(keys)}"


def _setting(setting: str, resolved: Resolved) -> tuple[str, str]:
    path = split_key(setting) or ()
    history = next(iter(histories(resolved, path)), None)
    if history is None or history.value is None:
        default = history.default if history is not None else None
        return (f"{setting} = {default}", "the default") if default else (setting, "not set")
    return f"{setting} = {history.value}", history.steps[0].span.place


def _file(fact: str, plan: Plan, catalog: Catalog) -> str:
    """Where a fact stands."""
    profile = plan.profile
    draft = profile.speculative.draft if profile.speculative else None
    match fact:
        case "model":
            entry = catalog.entry_file(Kind.MODEL, profile.model.id)
        case "gpu":
            entry = catalog.entry_file(Kind.GPU, profile.gpus.kind)
        case "draft":
            entry = catalog.entry_file(Kind.DRAFT, draft or "")
        case "build":
            entry = catalog.build_file(profile.engine.name, profile.engine.build or "")
        case _:
            entry = catalog.boot_file(fact)
    return fact if entry is None else entry.shown
