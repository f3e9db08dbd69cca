"""Pipeline stages: how layers are dealt out to them, and what a stage must have."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.architecture import Compressed
from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, caution, refusal
from compiler.engines.sglang.stages import (
    PARTITION,
    counts_of_stages,
    is_bounded_by_context,
    partition,
    shares_of,
)
from compiler.memory.layers import stage_slice
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule


_STAGES = "parallel.pipeline"
# From this release on one stage alone does not look at the variable (read in 0.5.20; 0.5.19 was not).
_ONE_IGNORES_SINCE = "0.5.19"
# The sizing of models with states counts the layers of its own stage from this release on; before, those of all.
_STATES_STAGED_SINCE = "0.5.8"
# Without a layer that keeps keys the bytes of a token are 0: until this release the sizing divides by them.
_ZERO_SINCE = "0.5.17"


@rule("stage-partition")
def partition_fits(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The variable names a share for each stage, and all layers (`get_pp_indices`: three errors, 0.4.6 to 0.5.23)."""
    profile, model = plan.profile, plan.model
    text = profile.env.get(PARTITION)
    if text is None or model is None:
        return
    given, stages = given_by(plan), profile.parallel.pipeline
    if stages == 1 and not given.before(_ONE_IGNORES_SINCE):
        return
    shares = partition(text)
    if shares is None:
        fault = "it is no list of whole numbers"
    elif len(shares) != stages:
        fault = f"it has {counted(len(shares), 'share')}, and there {'is' if stages == 1 else 'are'} {counted(stages, 'stage')}"
    elif sum(shares) != model.layers:
        fault = f"its shares come to {sum(shares):,}, and the model has {model.layers:,} layers"
    elif min(shares) < 0:
        fault = f"a stage cannot have {min(shares)} layers"
    else:
        return
    even = ",".join(str(_size(model.layers, stage, stages)) for stage in range(stages))
    yield refusal(
        given,
        "stage-partition",
        f"`{PARTITION}={text}` does not deal out the layers: {fault}",
        at(given, where, f"env.{PARTITION}", text="deals out layers"),
        help=(f"leave `{PARTITION}` out, or set it to shares such as `{even}`",),
    )


def _size(layers: int, stage: int, stages: int) -> int:
    held = stage_slice(layers, stage=stage, stages=stages)
    return len(range(layers)[held])


@rule("stage-empty")
def stages_keep_keys(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each stage sizes its pool by its own layers, and divides by what they keep of a token (`profile_max_num_token`)."""
    model, profile, given = plan.model, plan.profile, given_by(plan)
    if model is None or isinstance(model.attention, Compressed):
        return
    if model.state is not None and given.before(_STATES_STAGED_SINCE):
        return
    kept = [each.attention for each in counts_of_stages(profile, model)]
    stages = profile.parallel.pipeline
    if all(kept):
        return
    place = at(given, where, *_places(plan), text=f"{stages} stages of {model.layers:,} layers")
    what = (
        f"{counted(kept.count(0), 'pipeline stage')} of {stages} would have no layer that keeps keys"
        if stages > 1
        else "no layer of the model keeps keys"
    )
    if given.before(_ZERO_SINCE):
        yield refusal(
            given,
            "stage-empty",
            what,
            place,
            because="the server divides the memory of its pool by the bytes of a token, which are 0",
            help=tuple(_help(stages, most=_most(plan))),
        )
    elif is_bounded_by_context(profile, model) and stages > 1:
        yield caution(
            "stage-empty",
            what,
            place,
            because="every stage gets the smallest pool of all, and such a stage counts as one of the pool's limit, or of the "
            "context where none is set",
            help=tuple(_help(stages, most=_most(plan))),
        )


def _places(plan: Plan) -> Iterator[str]:
    if plan.model is not None and shares_of(plan.profile, plan.model.layers):
        yield f"env.{PARTITION}"
    yield _STAGES if plan.profile.parallel.pipeline > 1 else "model.id"


def _most(plan: Plan) -> int:
    """The most stages below those asked for of which each keeps keys, in equal shares; 0 where there are none."""
    from attrs import evolve  # noqa: PLC0415 - only a refusal asks

    profile, model = plan.profile, plan.model
    if model is None:
        return 0
    env = {name: value for name, value in profile.env.items() if name != PARTITION}
    for stages in range(min(profile.parallel.pipeline, model.layers), 0, -1):
        fewer = evolve(profile, env=env, parallel=evolve(profile.parallel, pipeline=stages))
        if all(each.attention for each in counts_of_stages(fewer, model)):
            return stages
    return 0


def _help(stages: int, *, most: int) -> Iterator[str]:
    if most == stages:
        yield f"leave `{PARTITION}` out: equal shares give each stage such a layer"
    elif most:
        yield f"set `parallel.pipeline = {most}` or less"
