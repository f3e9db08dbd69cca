"""Images that the tokenizer's process hands over by CUDA IPC: a pool of its own on the first GPU.

It is made while the ranks load, of 0.5.4.post3 to 0.5.17 (multimodal/processors/base_processor.py, `MmItemMemoryPool`; 0.5.17
server_args.py, 7567: it "reduces the memory left"); later releases set it aside themselves (`layouts.counted_variables`).
"""

from __future__ import annotations

from compiler.engines.sglang.launch import Launch
from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings, number_in, switch
from compiler.engines.sglang.variables import FEATURE_CACHE
from compiler.memory.cards import MIB
from compiler.ranges import Range


_ASKED_BY, _TRANSPORT, _BY_CUDA = (
    "SGLANG_USE_CUDA_IPC_TRANSPORT",
    "mm-feature-transport",
    "cuda_ipc",
)
_SINCE, _COUNTED_SINCE = "0.5.4.post3", "0.5.18"
_USUAL_MIB = 1024
# The process may be later than the ranks that it hands images to. On the GPU it has a context, too: at most the least that the
# driver and CUDA take of a card that one process is alone on (memory/cards.py).
_PROCESS_GIB = 0.6


def handed_over_gib(settings: Settings, launch: Launch) -> Range:
    """What is gone of the first GPU when the pool is sized, GiB; nothing where the release itself sets it aside."""
    asked = switch(settings.profile.env, _ASKED_BY) is True or settings.word(_TRANSPORT) == _BY_CUDA
    version = settings.profile.engine.version
    if (
        not asked
        or not launch.multimodal
        or not at_least(version, _SINCE)
        or at_least(version, _COUNTED_SINCE)
    ):
        return Range.exactly(0.0)
    pool_gib = number_in(settings.profile.env, FEATURE_CACHE, usual=_USUAL_MIB) / MIB
    return Range(0.0, pool_gib, pool_gib + _PROCESS_GIB)


def handing_assumption(settings: Settings, launch: Launch) -> str | None:
    """What is assumed of it, in words; `None` where nothing is."""
    taken = handed_over_gib(settings, launch)
    if not taken.high:
        return None
    return (
        f"images are handed over by CUDA IPC: the tokenizer's process takes {taken.best:.1f} GiB of the first GPU, if it is there"
        " before the pool is sized"
    )
