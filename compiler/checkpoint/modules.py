"""The names of modules that a checkpoint lists go in; which roles they cover comes out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import field, frozen

from compiler.architecture import Role
from compiler.checkpoint.exceptions import matches
from compiler.value import Value


# Modules of each role, as checkpoints name them; what a list of exceptions matches is not quantized. `LAST` is the
# number behind the last layer's. A head is quantized only where a list of formats by module names it.
HEADS = ("lm_head", "language_model.lm_head")
MODULES: Mapping[Role, tuple[str, ...]] = {
    Role.ATTENTION: (
        "model.layers.5.self_attn.q_proj",
        "model.layers.5.self_attn.q_b_proj",
        "model.layers.5.mixer.q_proj",
    ),
    Role.OUTPUT: ("model.layers.5.self_attn.o_proj", "model.layers.5.mixer.o_proj"),
    Role.INDEXER: ("model.layers.5.self_attn.indexer.wq_b",),
    Role.STATE: (
        "model.layers.5.linear_attn.in_proj_qkvz",
        "model.layers.5.linear_attn.in_proj_qkv",
        "model.layers.5.mixer.in_proj",
    ),
    Role.DENSE: ("model.layers.5.mlp.down_proj", "model.layers.5.feed_forward.down_proj"),
    Role.EXPERTS: (
        "model.layers.5.mlp.experts.3.down_proj",
        "model.layers.5.mixer.experts.3.down_proj",
        "model.layers.5.feed_forward.experts.3.down_proj",
        "model.layers.5.block_sparse_moe.experts.3.w2",
        "layers.5.ffn.experts.3.w2",
    ),
    Role.SHARED: (
        "model.layers.5.mlp.shared_experts.down_proj",
        "model.layers.5.mlp.shared_expert.down_proj",
        "model.layers.5.mixer.shared_experts.down_proj",
        "model.layers.5.feed_forward.shared_expert.down_proj",
        "model.layers.5.block_sparse_moe.shared_experts.down_proj",
        "layers.5.ffn.shared_experts.w2",
    ),
    Role.NEXTN: ("mtp.layers.0.mlp.down_proj", "model.layers.LAST.self_attn.o_proj"),
}

# Where a dense MLP stands beside the experts (Gemma 4), it has the name of one, and they stand in the layer itself.
BESIDE: Mapping[Role, tuple[str, ...]] = {
    Role.EXPERTS: ("model.layers.5.experts.3.down_proj", "model.layers.5.moe.experts.3.down_proj"),
    Role.SHARED: ("model.layers.5.mlp.down_proj",),
}

# Layers with a state that have the names of attention (Kimi Linear).
ATTENDING: Mapping[Role, tuple[str, ...]] = {Role.STATE: ("model.layers.5.self_attn.f_a_proj",)}


@frozen(kw_only=True, eq=False, repr=False)
class Naming(Value):
    """How a family names its modules.

    Attributes:
        called: the modules of each role.
        at: of roles whose modules have the names of another's, the layers that have them.
    """

    called: Mapping[Role, tuple[str, ...]] = field(factory=lambda: MODULES)
    at: Mapping[Role, frozenset[int]] = field(factory=dict)


USUAL = Naming()
"""As most families do."""

# What stands before the layers of a text model inside a multimodal one, and of Nemotron-H.
_INSIDE = (
    *("model.language_model.model.", "language_model.model.", "model.language_model."),
    "backbone.",
)


def plain(exception: str) -> str:
    """An exception as a text model alone would have it."""
    before = next((each for each in _INSIDE if exception.startswith(each)), None)
    return exception if before is None else f"model.{exception.removeprefix(before)}"


def left_out(
    role: Role,
    exceptions: Iterable[str],
    *,
    layers: int,
    having: int,
    naming: Naming = USUAL,
) -> bool:
    """Whether the exceptions cover a role: in most of the layers that have it, not in a few of them."""
    modules, at = _modules(role, naming.called, layers=layers), naming.at.get(role)
    listed: set[str] = set()
    for each in exceptions:
        # The draft of many models is a numbered layer.
        number = None if role is Role.NEXTN else _LAYER.search(each)
        shown = each if number is None else _LAYER.sub(".5", each)
        if any(matches(shown, module) for module in modules):
            if number is None:
                return True
            if at is None or int(number.group()[1:]) in at:
                listed.add(number.group())
    return len(listed) > having // 2


def _modules(role: Role, called: Mapping[Role, tuple[str, ...]], *, layers: int) -> tuple[str, ...]:
    names = HEADS if role is Role.HEAD else called[role]
    return tuple(each.replace("LAST", str(layers)) for each in names)


_LAYER = re.compile(r"(?<=layers)\.\d+(?=[.*]|$)")


_EVERY = "Linear"


def is_meant(role: Role, targets: tuple[str, ...], *, layers: int) -> bool:
    """Whether the targets of a group of compressed-tensors are those of a role."""
    modules = _modules(role, MODULES, layers=layers)
    return any(each == _EVERY or any(matches(each, m) for m in modules) for each in targets)


_EXPERT = re.compile(r"(?<=experts)\.\d+(?=\.)")


def most_common(role: Role, listed: Mapping[str, str], *, layers: int, having: int) -> str | None:
    """Of words that stand for modules by name, the one of a role: of most of the layers that have it.

    All experts of a layer may stand under one name.
    """
    modules = _modules(role, MODULES, layers=layers)
    found: dict[str, str] = {}
    for name, word in listed.items():
        number = _LAYER.search(name)
        shown = _EXPERT.sub(".3", name if number is None else _LAYER.sub(".5", name))
        if any(each == shown or each.startswith(f"{shown}.3.") for each in modules):
            found["" if number is None else number.group()] = word
    best = Counter(found.values()).most_common(1)
    return best[0][0] if best and best[0][1] > having // 2 else None
