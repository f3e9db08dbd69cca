"""The promised context against what the model and its draft declare (configs/model_config.py, lines 452-484)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import AUTO
from compiler.rules import rule


OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_TRUE = frozenset({"1", "true", "yes", "y"})  # environ.py, EnvBool; any other text leaves it off


@rule("context-beyond-model")
def context(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The promised context must be one the checkpoint declares, and the draft's too."""
    if plan.profile.serve.context == AUTO:
        return  # of a model that nobody described
    asked = plan.profile.serve.tokens
    exceeded = [each for each in _limits(plan) if asked > each[2]]
    # Model and draft at the same place are one finding: the smaller limit decides.
    for setting, name, limit in sorted(exceeded, key=lambda each: each[2])[:1]:
        allowed = plan.profile.env.get(OVERRIDE, "").lower() in _TRUE
        make = warning if allowed else error
        yield make(
            "context-beyond-model",
            f"the context of {asked:,} tokens is more than `{name}` declares",
            where.primary("serve.context", text=f"{asked:,} tokens"),
            secondary=present(where.label(setting, f"declares {limit:,} tokens")),
            notes=(
                f"`{OVERRIDE}` makes the server start; what it answers beyond {limit:,} tokens is not what the model learned"
                if allowed
                else "the server refuses to start",
            ),
            help=(f"set `serve.context` to {limit:,} or less".replace(",", "_"),),
            path="serve.context",
        )


def _limits(plan: Plan) -> Iterator[tuple[str, str, int]]:
    if plan.model is not None:
        yield "model.id", plan.model.id, plan.model.context
    if plan.draft is not None:
        yield "speculative.draft", plan.draft.id, plan.draft.context
