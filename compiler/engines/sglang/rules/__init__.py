"""SGLang's cross-flag rules, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from compiler.engines.sglang.rules import context, speculation, starting, tree
from compiler.rules import Rule, collect


RULES: tuple[Rule, ...] = collect(context, speculation, starting, tree)
