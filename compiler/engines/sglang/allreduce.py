"""What AMD's own all-reduce keeps of a card before weights load, and a server without it has free.

SGLang takes the class of aiter where it runs on several of AMD's GPUs of one host (0.5.6 to 0.5.23
distributed/device_communicators/custom_all_reduce.py, `dispatch_custom_allreduce`), for one group of ranks, that of tensor
parallelism (distributed/parallel_state.py, `initialize_model_parallel`). It makes its buffers when the ranks meet: one for what
goes in, and one of twice the size beside the signals (aiter/dist/device_communicators/custom_all_reduce.py, `max_size` and
`_init_ipc`, https://github.com/ROCm/aiter).
"""

from __future__ import annotations

from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, switch
from compiler.facts import Gpu
from compiler.ranges import Range


_FLAG, _DETERMINISTIC = "disable-custom-all-reduce", "enable-deterministic-inference"
_BY_AITER, _IN_ONE_STAGE = "SGLANG_USE_AITER_AR", "SGLANG_USE_1STAGE_ALLREDUCE"
_SIZES = frozenset({2, 4, 6, 8})
# Which aiter an image has stands in no release. Public machines of 0.5.10rc0 and later have 6.7 GiB less free than one of
# 0.5.8.post1.
_SINCE = "0.5.10"
_BUFFERS, _BUFFER_GIB = 1 + 2, 1.0


def spared_gib(settings: Settings, gpu: Gpu) -> float:
    """What a server has free that starts without it, GiB; 0 for any that has it, or never would."""
    profile = settings.profile
    ranks, hosts = profile.parallel.tensor, settings.whole("nnodes") or 1
    if platform(gpu) is not Platform.HIP or ranks not in _SIZES or hosts > 1:
        return 0.0
    if not at_least(profile.engine.version, _SINCE) or not _is_off(settings):
        return 0.0
    return _BUFFERS * _BUFFER_GIB


def with_more(free: Range, more_gib: float, gpu: Gpu) -> Range:
    """Free memory with so much more, at most what a server on one such GPU has."""
    most = gpu.free_alone_gib.high if gpu.free_alone_gib is not None else free.high + more_gib
    low, best, high = (min(each + more_gib, most) for each in (free.low, free.best, free.high))
    return Range(low, best, high)


def _is_off(settings: Settings) -> bool:
    env = settings.profile.env
    if settings.on(_FLAG) or switch(env, _BY_AITER) is False:
        return True
    one_stage = switch(env, _IN_ONE_STAGE)
    return settings.on(_DETERMINISTIC) if one_stage is None else one_stage
