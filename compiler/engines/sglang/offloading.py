"""What `--cpu-offload-gb` moves to host memory, and what of it comes back while a layer runs.

Each rank moves parameters, layer by layer in their order, until what has moved is as much as was asked for: up to one
parameter more, and never the embedding and the head. Before a layer runs, what it lacks is copied to the GPU.

Sources: 0.4.6 srt/utils.py, `maybe_offload_to_cpu` and `make_layers`; 0.5.11 srt/utils/offloader.py, `OffloaderV1`.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.engines.sglang.releases import at_least
from compiler.engines.sglang.settings import Settings
from compiler.facts import Model
from compiler.memory.tensors import target_tensors
from compiler.memory.weights import GIB, Split, Tensors
from compiler.ranges import Range


FLAG = "cpu-offload-gb"

# The classes whose layers are made that way, and since when (srt/models, `make_layers`; 0.5.22 `make_pp_layers`).
_SINCE = {
    "Gemma2ForCausalLM": "0.4.6",
    "Gemma3ForCausalLM": "0.4.6",
    "LlamaForCausalLM": "0.4.6",
    "MistralForCausalLM": "0.4.6",
    "MixtralForCausalLM": "0.4.9",
    "Olmo2ForCausalLM": "0.4.6",
    "Phi3ForCausalLM": "0.4.6",
    "Qwen2ForCausalLM": "0.4.6",
    "Qwen2MoeForCausalLM": "0.4.6",
    "Qwen3ForCausalLM": "0.4.6",
    "Qwen3MoeForCausalLM": "0.4.6",
}
# Beside the layers, or no parameters.
_STAY = ("embedding", "head", "rotary", "vision", "tables", "other")


def offload_known(settings: Settings, model: Model | None) -> bool:
    """Whether it is known what the flag moves."""
    since = _SINCE.get(model.architecture) if model is not None else None
    version = settings.profile.engine.version
    drafts = settings.profile.speculative is not None
    return since is not None and at_least(version, since) and not drafts


def offloaded_gib(settings: Settings, model: Model, *, split: Split) -> Range:
    """GiB of the weights of one rank that stand in host memory."""
    asked = settings.number(FLAG) or 0
    if asked <= 0:
        return Range.exactly(0)
    stage = tuple(_movable(model, split))
    most = sum(each.bytes for each in stage) / GIB
    over = max((each.bytes_each for each in stage), default=0) / GIB
    return Range(min(asked, most), min(asked + over / 2, most), min(asked + over, most))


def fetched_gib(settings: Settings, model: Model, *, split: Split) -> float:
    """GiB that the largest layer has on the GPU while it runs, of what stands in host memory."""
    moved = offloaded_gib(settings, model, split=split)
    if moved.high == 0:
        return 0.0
    layer = sum(each.bytes_each for each in _movable(model, split)) / GIB
    return min(layer, moved.high)


def _movable(model: Model, split: Split) -> Iterator[Tensors]:
    """The parameters of the layers of the first stage."""
    tensors = target_tensors(model, split=split)
    return (each for each in tensors if not each.role.startswith(_STAY) and not each.late)
