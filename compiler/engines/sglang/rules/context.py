"""The promised context against what the model and its draft declare (configs/model_config.py, lines 452-484)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.engines.sglang.given import Given, given_by
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import AUTO
from compiler.rules import rule


OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


@rule("context-beyond-model")
def context(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The promised context must be one the checkpoint declares, and the draft's too.

    Refused from 0.5.1; up to 0.4.9.post6 the variable is on by itself. A config that the command line changes declares what it
    says there, which is not read here.
    """
    if plan.profile.serve.context == AUTO:
        return  # of a model that nobody described
    given = given_by(plan)
    asked = plan.profile.serve.tokens
    exceeded = [each for each in _limits(given) if asked > each[2]]
    # Model and draft at the same place are one finding: the smaller limit decides.
    for setting, name, limit in sorted(exceeded, key=lambda each: each[2])[:1]:
        allowed = given.switched_on(OVERRIDE) or (
            given.before("0.5.1") and OVERRIDE not in plan.profile.env
        )
        make = warning if allowed else error
        yield make(
            "context-beyond-model",
            f"the context of {asked:,} tokens is more than `{name}` declares",
            where.primary("serve.context", text=f"{asked:,} tokens"),
            secondary=present(where.label(setting, f"declares {limit:,} tokens")),
            notes=(
                f"the server starts, by `{OVERRIDE}` or the release's own choice; what it answers beyond {limit:,} tokens is not what the model learned"
                if allowed
                else "the server refuses to start",
            ),
            help=tuple(_advice(setting, limit, allowed=allowed)),
            path="serve.context",
        )


def _advice(setting: str, limit: int, *, allowed: bool) -> Iterator[str]:
    yield f"set `serve.context` to {limit:_} or less"
    if not allowed and setting == "speculative.draft":
        # What a draft proposes is verified, whatever it knows of a position.
        yield f'or set `env.{OVERRIDE} = "1"`: beyond what it learned the draft is guessed right less often, and answers stay the same'


_OVERRIDES = "json-model-override-args"
_LENGTHS = ("rope_scaling", "rope_parameters", "max_position_embeddings")


def _limits(given: Given) -> Iterator[tuple[str, str, int]]:
    plan, overrides = given.plan, given.word(_OVERRIDES) or ""
    if plan.model is not None and not any(each in overrides for each in _LENGTHS):
        yield "model.id", plan.model.id, plan.model.context
    if plan.draft is not None:
        yield "speculative.draft", plan.draft.id, plan.draft.context
