"""Whether a recorded boot can be of its model on its card: what its figures say against what is known without it."""

from __future__ import annotations

from compiler.engines.sglang.boots import Start
from compiler.facts import Boot
from compiler.memory.cards import MIB
from compiler.ranges import Range


# A log prints GiB with two decimals.
ROUNDING_GIB = 0.005
# How far the weights of a boot may be from the model's tensors. Of the public boots (benchmarks/data) whose checkpoint is
# named the furthest is 6 % off, over a network between hosts (mimo-v25-pro-16h100); of two that name no checkpoint the
# weights are 34 % less (glm52-mi355x-tp4-dpa-f085, its neighbour). Half is well beyond both.
_FURTHEST = 0.5
# What else may stand on a card: a desktop takes 1.6 GiB of one public boot (llama31-8b-24gb-2025-07), a small model weighs less.
_OTHERS_GIB = 2.0


def doubt(
    boot: Boot,
    start: Start | None,
    *,
    total_mib: int,
    free: Range,
    tensors: Range,
    drafts: Range,
) -> str | None:
    """Why a boot's figures cannot be, a clause; `None` where they can.

    Args:
        boot: what was recorded.
        start: how its server was started; `None` where that is not known.
        total_mib: what the card has.
        free: free memory before the load where the boot does not log it, GiB.
        tensors: what the model's tensors take, GiB a GPU.
        drafts: what our draft weighs more than the boot's, GiB.
    """
    total, logged = total_mib / MIB, boot.free_before_load_gib
    if logged is not None and logged > total + ROUNDING_GIB:
        return f"it says that {logged:g} GiB were free, and the card has {total:.2f}"
    if start is None or not start.layouts:
        return None
    share = boot.fraction * start.launch.fraction_scale
    budget = (logged or total) * share
    least, most = _pool_gib(boot, start)
    if least >= budget:
        return f"its pool of {boot.pool_tokens:,} tokens takes {least:,.2f} GiB of {budget:,.2f}, and leaves none for weights"
    low, high = (free.low, free.high) if logged is None else (logged, logged)
    weights = Range(
        low * share - most + drafts.low,
        (low + high) / 2 * share - most + drafts.best,
        high * share - least + drafts.high,
    )
    lightest = tensors.low * (1 - _FURTHEST) - _OTHERS_GIB
    heaviest = tensors.high * (1 + _FURTHEST) + _OTHERS_GIB
    if lightest <= weights.high and weights.low <= heaviest:
        return None
    return (
        f"its pool of {boot.pool_tokens:,} tokens leaves {weights.best:,.2f} GiB a GPU for the weights, and the model's "
        f"tensors come to {tensors.best:,.2f}"
    )


def _pool_gib(boot: Boot, start: Start) -> tuple[float, float]:
    """The least and the most that its pool takes: it is a whole number of pages, and up to one more was left."""
    rests = [
        rest
        for each in start.layouts
        for tokens in (boot.pool_tokens, boot.pool_tokens + each.page)
        for rest in each.rests_gib(tokens)
    ]
    return min(rests), max(rests)
