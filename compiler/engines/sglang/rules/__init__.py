"""SGLang's cross-flag rules, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from compiler.engines.sglang.rules import (
    adapters,
    attention,
    caches,
    collectives,
    companions,
    context,
    disaggregation,
    drafts,
    formats,
    kvformats,
    nodes,
    pages,
    parallel,
    serving,
    speculation,
    starting,
    stepwise,
    surroundings,
    tiles,
    tree,
)
from compiler.rules import Rule, collect


RULES: tuple[Rule, ...] = collect(
    adapters,
    attention,
    caches,
    collectives,
    companions,
    context,
    disaggregation,
    drafts,
    formats,
    kvformats,
    nodes,
    pages,
    parallel,
    serving,
    speculation,
    starting,
    stepwise,
    surroundings,
    tiles,
    tree,
)
