"""Numbers that mean nothing, which the engine's parser takes all the same."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.least import LEAST, SHARES, too_small
from compiler.engines.sglang.rules.places import at, refusal
from compiler.engines.sglang.settings import settings_of
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


@rule("flag-value", flags=LEAST.keys() | SHARES)
def sizes_are_sizes(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A number of ranks, of tokens, or of slots below its least: no release counts with one."""
    given = given_by(plan)
    for name, value, expected in too_small(settings_of(plan.profile, plan.release).flags):
        yield refusal(
            given,
            "flag-value",
            f"`--{name}` cannot be {value:g}",
            at(given, where, name, text="this value"),
            because=f"expected {expected}; the parser takes it, and what the server then does cannot be told",
            help=(f"set `{name}` to {expected}, or leave it out",),
        )
