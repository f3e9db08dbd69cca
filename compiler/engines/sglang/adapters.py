"""Buffers for LoRA adapters, allocated between the weights and the pool: for every adapter of a batch, the largest rank.

Sources: 0.5.3 and 0.5.11 srt/lora/mem_pool.py, `get_lora_A_shape`, `get_lora_B_shape`, and the embedding's; srt/lora/utils.py,
`get_hidden_dim`, `get_stacked_multiply`, and `get_normalized_target_modules`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Gqa, Model
from compiler.memory.weights import GIB
from compiler.profile import Argument
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.buffers import Adapters


FLAGS = frozenset({"enable-lora", "lora-paths"})
"""The flags that this prices."""

_SINCE, _ALL_SINCE = "0.5.3", "0.5.11"
RANK, MODULES = "max-lora-rank", "lora-target-modules"
"""The flags that say how large an adapter may be."""
_PATHS, _NUMBER = "lora-paths", "max-loras-per-batch"
_ADAPTERS = 8
"""Of a batch, where `--max-loras-per-batch` says nothing."""
_ALIASES = {
    "q_proj": "qkv_proj",
    "k_proj": "qkv_proj",
    "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
}
_ALL = "all"


@frozen(kw_only=True, eq=False, repr=False)
class _Module(Value):
    """One that is adapted: what goes in and comes out on a rank, and the ranks its first matrix is stacked from."""

    inputs: int
    outputs: int
    stacked: int = 1
    layers: int = 1


def adapters_gib(settings: Settings, model: Model | None) -> float | None:
    """GiB of one rank; 0 without adapters, `None` where it is not known.

    Known of dense models with attention alone, where the command says the largest rank and the modules.
    """
    if not _adapts(settings):
        return 0.0
    rank, asked = settings.whole(RANK), settings.flags.get(MODULES)
    names = asked if isinstance(asked, tuple) else (asked,)
    if model is None or rank is None or not at_least(settings.profile.engine.version, _SINCE):
        return None
    modules = _modules(model, settings.profile.parallel.tensor)
    wanted = {_ALIASES.get(each, each) for each in names if isinstance(each, str)}
    if _ALL in wanted and at_least(settings.profile.engine.version, _ALL_SINCE):
        wanted = set(modules)
    if not wanted or not wanted <= modules.keys():
        return None
    numbers = sum(
        module.layers * (module.stacked * module.inputs + module.outputs)
        for name, module in modules.items()
        if name in wanted
    )
    number = settings.whole(_NUMBER) or _ADAPTERS
    return number * rank * numbers * (model.dtype_bits // 8) / GIB


def adapters(settings: Settings) -> Adapters | None:
    """What their buffers follow from, of a command whose memory is known; `None` without adapters.

    One that is pinned never leaves its buffer, and one must be left to all others, the base model among them: 0.5.3 and later
    srt/lora/lora_manager.py, `validate_new_adapter` and `validate_lora_batch`.
    """
    rank = settings.whole(RANK)
    if rank is None or not _adapts(settings):
        return None
    from compiler.buffers import Adapters  # noqa: PLC0415 - few plans have any

    return Adapters(
        number=settings.whole(_NUMBER) or _ADAPTERS,
        fewest=1 + _pinned(settings.flags.get(_PATHS)),
        rank=rank,
        number_flag=_NUMBER,
        rank_flag=RANK,
    )


def _adapts(settings: Settings) -> bool:
    return settings.on("enable-lora") or _PATHS in settings.flags


_PINNED = re.compile(r'"pinned"\s*:\s*true')


def _pinned(paths: Argument | None) -> int:
    """How many of the adapters that are given are pinned: a word of JSON says so, `NAME=PATH` cannot."""
    words = paths if isinstance(paths, tuple) else (paths,)
    return sum(bool(_PINNED.search(each)) for each in words if isinstance(each, str))


def _modules(model: Model, ranks: int) -> Mapping[str, _Module]:
    """The modules of a dense model, by the engine's names; none where layers are of other kinds."""
    attention = model.attention
    plain = isinstance(attention, Gqa) and attention.selector is None and model.state is None
    if not plain or not isinstance(attention, Gqa) or model.moe or model.vision or model.window:
        return {}
    heads, layers = attention.head_dim * model.heads, model.layers
    keys = attention.head_dim * 2 * attention.kv_heads
    return {
        "qkv_proj": _Module(
            inputs=model.hidden, outputs=(heads + keys) // ranks, stacked=3, layers=layers
        ),
        "o_proj": _Module(inputs=heads // ranks, outputs=model.hidden, layers=layers),
        "gate_up_proj": _Module(
            inputs=model.hidden,
            outputs=2 * model.intermediate // ranks,
            stacked=2,
            layers=layers,
        ),
        "down_proj": _Module(
            inputs=model.intermediate // ranks, outputs=model.hidden, layers=layers
        ),
        # The embedding's first matrix is whole on every rank.
        "embed_tokens": _Module(inputs=model.vocabulary, outputs=model.hidden),
        "lm_head": _Module(inputs=model.hidden, outputs=model.vocabulary // ranks),
    }
