"""A profile in; how many layers each stage of its pipeline has out.

Sources: distributed/utils.py, `get_pp_indices`, of 0.4.6, 0.5.3 to 0.5.11, 0.5.18, and 0.5.20 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.releases import at_least
from compiler.facts import Model
from compiler.memory.layers import Counts, stage_counts
from compiler.profile import Profile


PARTITION = "SGLANG_PP_LAYER_PARTITION"
"""The variable that says how many layers each stage has, in all of these releases."""
# Before, all that is left over goes to the last stage; from then on one to each of the last stages.
_ONE_EACH_SINCE = "0.5.6"


def shares_of(profile: Profile, layers: int) -> tuple[int, ...]:
    """The layers of each stage; empty where they are the equal shares of `memory.layers`, or where no server starts with them."""
    stages = profile.parallel.pipeline
    if stages == 1:
        return ()
    text = profile.env.get(PARTITION)
    if text is not None:
        shares = partition(text)
        fits = shares is not None and len(shares) == stages and sum(shares) == layers
        return shares if shares is not None and fits and min(shares) >= 0 else ()
    share, over = divmod(layers, stages)
    if over and not at_least(profile.engine.version, _ONE_EACH_SINCE):
        return (*[share] * (stages - 1), share + over)
    return ()


def partition(text: str) -> tuple[int, ...] | None:
    """The numbers of the variable; `None` where the engine cannot read them."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        return None


def is_bounded_by_context(profile: Profile, model: Model) -> bool:
    """Whether a stage without a layer that keeps keys bounds the pool by its limit, or by the context where none is set.

    Every stage has the smallest pool. 0.5.17 to 0.5.23 pool_configurator.py, `_zero_kv_max_tokens`: not where other layers of it keep a state, and another stage keeps
    keys. Before, a server without such a layer in a stage divides by zero.
    """
    kept = [each.attention for each in counts_of_stages(profile, model)]
    return not all(kept) and (model.state is None or not any(kept))


def counts_of_stages(profile: Profile, model: Model) -> Iterator[Counts]:
    """What the layers of each stage are."""
    stages, shares = profile.parallel.pipeline, shares_of(profile, model.layers)
    for stage in range(stages):
        yield stage_counts(model, stage=stage, stages=stages, shares=shares)
