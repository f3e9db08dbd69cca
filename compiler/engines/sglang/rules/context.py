"""The promised context against what the model and its draft declare (configs/model_config.py, lines 452-484)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error, present, warning
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.overrides import FLAG as OVERRIDES
from compiler.engines.sglang.overrides import leaves_context
from compiler.engines.sglang.rules.places import at, caution
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import AUTO
from compiler.rules import rule


OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


@rule("context-beyond-model")
def context(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The promised context must be one the checkpoint declares, and the draft's too.

    Refused from 0.5.1; up to 0.4.9.post6 the variable is on by itself. A config that the command line changes declares what it
    says there (`overrides`); where that cannot be followed the model is not judged.
    """
    if plan.profile.serve.context == AUTO:
        return  # of a model that nobody described
    given = given_by(plan)
    asked = plan.profile.serve.tokens
    exceeded = [each for each in _limits(given) if asked > each[2]]
    allowed = given.switched_on(OVERRIDE) or (
        given.before("0.5.1") and OVERRIDE not in plan.profile.env
    )
    if allowed and asked <= _scaled(given):
        exceeded = [each for each in exceeded if each[0] != "model.id"]
    # Model and draft at the same place are one finding: the smaller limit decides.
    for setting, name, limit in sorted(exceeded, key=lambda each: each[2])[:1]:
        make = warning if allowed else error
        yield make(
            "context-beyond-model",
            f"the context of {asked:,} tokens is more than `{name}` declares",
            where.primary("serve.context", text=f"{asked:,} tokens"),
            secondary=present(where.label(setting, f"declares {limit:,} tokens")),
            notes=(
                f"the server starts, {_by_what(given)}; what it answers beyond {limit:,} tokens is not what the model learned"
                if allowed
                else "the server refuses to start",
            ),
            help=tuple(
                _advice(
                    setting,
                    limit,
                    allowed=allowed,
                    scaled=setting == "model.id" and asked <= _scaled(given),
                )
            ),
            path="serve.context",
        )


def _by_what(given: Given) -> str:
    """What lets the server start all the same."""
    if given.switched_on(OVERRIDE):
        return f"by `env.{OVERRIDE}`, which is set"
    return f"as {given.plan.profile.engine.version} does without being asked"


def _advice(setting: str, limit: int, *, allowed: bool, scaled: bool) -> Iterator[str]:
    """What keeps the promise comes first, where there is such."""
    less = f"set `serve.context = {limit:_}` or less"
    if scaled:
        yield f'set `env.{OVERRIDE} = "1"`: the rotary scaling reaches as far, and the server does not count it'
        yield f"or {less}"
    elif setting == "model.id":
        yield less
        yield (
            f"or scale positions as the model's vendor says, often by YaRN: a `rope_scaling` in `flags.{OVERRIDES}`, "
            f'with `env.{OVERRIDE} = "1"` and what the vendor measured beyond {limit:,} tokens'
        )
    elif not allowed and setting == "speculative.draft":
        # What a draft proposes is verified, whatever it knows of a position.
        yield f'set `env.{OVERRIDE} = "1"`: beyond what it learned the draft is guessed right less often, and answers stay the same'
        yield f"or {less}"
    else:
        yield less


def _limits(given: Given) -> Iterator[tuple[str, str, int]]:
    plan, overrides = given.plan, given.value(OVERRIDES)
    if plan.model is not None and leaves_context(plan.model, overrides):
        yield "model.id", plan.model.id, plan.model.context
    if plan.draft is not None:
        yield "speculative.draft", plan.draft.id, plan.draft.context


def _scaled(given: Given) -> int:
    """The tokens that the rotary scaling of the config, or of the command line in its place, reaches; 0 without one."""
    model = given.plan.model
    return model.rope.reaches or 0 if model is not None and model.rope is not None else 0


@rule("context-unscaled")
def scaling_is_used(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A scaling that names the length it starts from does not lengthen the context that the server derives.

    0.4.1 to 0.5.23 `get_context_length`: the factor is then taken for 1, so that the context must be asked for. Servers that
    stayed short: sgl-project/sglang#2108, QwenLM/Qwen3#1321.
    """
    if plan.model is None or plan.profile.serve.context == AUTO:
        return
    given, context = given_by(plan), plan.profile.serve.tokens
    reaches = _scaled(given)
    if context > plan.model.context or reaches <= plan.model.context:
        return
    yield caution(
        "context-unscaled",
        f"the rotary scaling reaches {reaches:,} tokens, and the server takes {context:,}",
        at(
            given,
            where,
            "serve.context",
            text=f"{context:,} tokens",
            beside={OVERRIDES: "scales positions"}
            if given.value(OVERRIDES)
            else {"model.id": "its config scales positions"},
        ),
        because="a scaling does not lengthen the context by itself; it is paid for in short requests all the same",
        help=(
            f"set `serve.context = {reaches:_}`, or what is needed of it"
            + ("" if given.before("0.5.1") else f', and `env.{OVERRIDE} = "1"`'),
            "or leave the scaling out",
        ),
    )
