"""SGLang's cross-flag rules, one file a subject; each module's rules are found by themselves."""

from __future__ import annotations

from functools import lru_cache

from compiler.engines.sglang.given import given_by
from compiler.plan import Plan
from compiler.rules import Rule, collect


RULES: tuple[Rule, ...] = collect(__name__)


def rules_for(plan: Plan) -> tuple[Rule, ...]:
    """The rules that have something to judge in a plan, by the flags that it gives."""
    return _rules_with(frozenset(given_by(plan).found))


@lru_cache(maxsize=256)  # the profiles of a tree give much the same flags
def _rules_with(found: frozenset[str]) -> tuple[Rule, ...]:
    return tuple([each for each in RULES if not each.flags or not each.flags.isdisjoint(found)])
