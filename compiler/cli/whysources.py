"""How `why` shows what something depends on: each setting with its value and its place, each file with its keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compiler.catalog import Catalog, Kind
from compiler.language.merge import Resolved
from compiler.language.spans import split_key
from compiler.plan import Plan
from compiler.why.history import histories
from compiler.why.influence import Source
from compiler.why.reckoned import Reckoned, reckoned


EACH_RELEASE = 4
"""Of the releases that are known each so many-th is tried: what they count changes seldom, and there are thirty."""


def source_lines(
    sources: Iterable[Source],
    plans: tuple[Plan, ...],
    resolved: Resolved,
    catalog: Catalog,
    *,
    indent: int = 2,
) -> Iterator[str]:
    """A line for each setting, below it what the plans have for one that nobody sets, then one for each file of the catalogue."""
    margin, facts = " " * indent, dict[str, list[str]]()
    rows: list[tuple[str, str, str | None]] = []
    for each in sources:
        if each.setting is not None:
            rows.append(_setting(each.setting, plans, resolved))
        elif each.fact is not None:
            facts.setdefault(each.fact, []).append(each.key)
    wide = max((len(row[0]) for row in rows), default=0)
    for head, place, below in rows:
        yield f"{margin}{head.ljust(wide)}  {place}"
        if below is not None:
            yield f"{margin}  {below}"
    for fact, keys in facts.items():
        yield f"{margin}{_file(fact, plans[0], catalog)}: {', '.join(keys)}"


def _setting(
    setting: str, plans: tuple[Plan, ...], resolved: Resolved
) -> tuple[str, str, str | None]:
    """The setting with its value, its place, and where nobody sets it what the plans have instead."""
    path = split_key(setting) or ()
    history = next(iter(histories(resolved, path)), None)
    if history is not None and history.value is not None:
        return f"{setting} = {history.value}", history.steps[0].span.place, None
    if history is not None and history.default is not None:
        return f"{setting} = {history.default}", "the default", None
    told = reckoned(plans).get(setting)
    below = None if told is None else reckoned_with(told, setting, plans[0].profile_name)
    return setting, "not set", below


def reckoned_with(told: Reckoned, setting: str, profile: str) -> str:
    """What the plan has for a setting that nobody sets; of a choice of the engine where more is said of it."""
    if told.how is None:
        return f"the plan reckons with {told.value}, {told.by}: see `poolproof why {profile} {setting}`"
    return f"the plan reckons with {told.value}: {told.how}"


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
