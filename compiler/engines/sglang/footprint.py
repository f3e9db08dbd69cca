"""What a server takes of its host beside others: GPUs, ports, and memory that the next one does not find."""

from __future__ import annotations

from math import floor

from attrs import evolve

from compiler.engines.engine import Footprint
from compiler.engines.sglang.ports import nodes_of, ports
from compiler.engines.sglang.settings import Settings, settings_of
from compiler.facts import Release
from compiler.memory.weights import GIB
from compiler.plan import Memory
from compiler.profile import Profile
from compiler.ranges import Range
from compiler.visibledevices import VISIBLE, shown_by


_VISIBLE = (VISIBLE, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def footprint(profile: Profile, release: Release | None) -> Footprint:
    """The GPUs and ports of one server."""
    settings = settings_of(profile, release)
    return Footprint(ports=tuple(ports(settings)), gpus=_gpus(settings))


def nodes(profile: Profile, release: Release | None) -> int:
    """The hosts that the server spans."""
    return nodes_of(settings_of(profile, release))


def _gpus(settings: Settings) -> tuple[int, ...] | None:
    """The host's indices of the GPUs; `None` when they are named by other than numbers."""
    profile = settings.profile
    named = next((profile.env[name] for name in _VISIBLE if name in profile.env), None)
    visible: tuple[int, ...] = profile.gpus.indices
    if named is not None:
        seen = shown_by(named).indices
        if not seen:
            return None
        visible = seen
    # entrypoints/engine.py, line 570: the GPU of a rank is base_gpu_id + rank x gpu_id_step.
    base, step = settings.whole("base-gpu-id") or 0, max(1, settings.whole("gpu-id-step") or 1)
    count = profile.gpus.count // nodes_of(settings)
    places = range(base, base + step * count, step)
    if not visible:
        return tuple(places)
    return tuple(visible[place] for place in places if 0 <= place < len(visible))


def beside(memory: Memory, *, taken: Range, most_tokens: int | None) -> Memory:
    """Both budgets when others hold `taken` GiB of each GPU before the load; `most_tokens` caps the pool anyway.

    The fraction is of the free memory, so the pool's rest loses `taken x fraction` and the reserve the other part
    (`rest = free_after - free_before x (1 - fraction)`, 0.5.11 model_runner_kv_cache_mixin.py). What a pool under its cap does
    not lose the reserve does.
    """
    fraction, pool = memory.fraction, memory.pool
    rest = _less(pool.rest_gib, taken.scaled(fraction))
    tokens = Range(
        _share(pool.tokens.low, rest.low, of=pool.rest_gib.low),
        _share(pool.tokens.best, rest.best, of=pool.rest_gib.best),
        _share(pool.tokens.high, rest.high, of=pool.rest_gib.high),
    )
    lost = taken.scaled(1 - fraction)
    if most_tokens is not None:
        cells = (pool.cell_bytes, *pool.cell_choices)
        tokens = Range(
            min(pool.tokens.low, _whole(rest.low, max(cells))),
            min(pool.tokens.best, _whole(rest.best, pool.cell_bytes)),
            min(pool.tokens.high, _whole(rest.high, min(cells))),
        )
        lost = _not_given_up(memory, tokens, taken=taken, least=lost)
    available = _less(memory.reserve.available_gib, lost)
    return evolve(
        memory,
        pool=evolve(pool, tokens=tokens, rest_gib=rest),
        reserve=evolve(memory.reserve, available_gib=available),
    )


def _not_given_up(memory: Memory, tokens: Range, *, taken: Range, least: Range) -> Range:
    """What a capped pool that comes to so many tokens leaves to the reserve to lose, GiB."""
    pool = memory.pool
    cells = (pool.cell_bytes, *pool.cell_choices)
    low, best, high = (
        max(under, taken_gib - max(0.0, before - after) * cell / GIB)
        for under, taken_gib, before, after, cell in (
            (least.low, taken.low, pool.tokens.high, tokens.high, min(cells)),
            (least.best, taken.best, pool.tokens.best, tokens.best, pool.cell_bytes),
            (least.high, taken.high, pool.tokens.low, tokens.low, max(cells)),
        )
    )
    return Range(min(low, best), best, max(best, high))


def _less(there: Range, gone: Range) -> Range:
    return Range(there.low - gone.high, there.best - gone.best, there.high - gone.low)


def _share(tokens: float, rest: float, *, of: float) -> float:
    """The pool is in proportion to its rest, whatever shares that with the tokens (states, windows)."""
    return max(0, floor(tokens * rest / of)) if of > 0 else 0


def _whole(rest_gib: float, cell: int) -> float:
    return max(0, floor(rest_gib * GIB / cell))
