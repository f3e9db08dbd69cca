"""The keys of a config in; its experts, and the layers without them, out.

Which key says what: SGLang 0.5.11 models/*.py of each family; transformers 4.57 models/ernie4_5_moe/configuration_ernie4_5_moe.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.architecture import Moe
from compiler.checkpoint.keys import Keys


_ACTIVE = ("moe_k", "moe_topk", "moe_top_k")
_SHARED = (
    "n_shared_experts",
    "num_shared_experts",
    "num_shared_expert",
    "moe_num_shared_experts",
)
_SHARED_WIDTH = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
    "share_expert_dim",
)
_FIRST = (
    "first_k_dense_replace",
    "first_last_k_dense_replace",
    "moe_layer_start_index",
    "num_dense_layers",
)
_FREQUENCY = "moe_layer_freq"
"""A flag for each layer, or one in how many has experts."""
_EVERY = ("interleave_moe_layer_step", "moe_layer_interval", "decoder_sparse_step")


def moe_of(keys: Keys, *, gated: bool, router_bits: int) -> Moe | None:
    """The experts of the layers that have some; nothing when none has."""
    experts = keys.count("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    if not experts:
        return None
    intermediate = keys.need("moe_intermediate_size", "intermediate_size")
    shared, width = _beside(keys, intermediate)
    return Moe(
        routed_experts=experts,
        active_experts=keys.need(
            "num_experts_per_tok", "num_experts_per_token", "top_k_experts", *_ACTIVE
        ),
        shared_experts=shared,
        intermediate=intermediate,
        shared_intermediate=width,
        gated=gated,
        latent=keys.number("moe_latent_size", "routed_expert_hidden_size"),
        every=keys.number(*_EVERY) or 1,
        router_bits=router_bits,
    )


def _beside(keys: Keys, intermediate: int) -> tuple[int, int | None]:
    """What stands beside the routed experts: how many shared experts, and their width when it is not the usual one.

    A dense MLP beside the experts (Grok 2, Gemma 4) is one shared expert of its width.
    """
    shared = keys.count(*_SHARED)
    width = keys.count(*_SHARED_WIDTH) or None
    if width is None and (keys.flag("residual_moe") or keys.flag("enable_moe_block")):
        width = keys.need("intermediate_size")
    if width is None and keys.has("intermediate_size_mlp"):
        width = intermediate  # Llama 4 has one, of the same width
    if width is None:
        return shared, None
    return shared or 1, None if width == (shared or 1) * intermediate else width


def dense_layers_of(keys: Keys, *, layers: int, moe: Moe | None) -> int:
    """How many layers have a dense MLP; a fault where they are not the first, as a description has them."""
    if moe is None:
        return layers
    if moe.every > 1:
        return layers - layers // moe.every
    for name, read in _LISTS.items():
        dense = read(keys.values.get(name), layers)
        if dense is not None:
            if len(dense) < layers:
                keys.faults.append(f"`{name}` has {len(dense)} entries for {layers} layers")
            dense = dense[:layers]
            if any(dense[sum(dense) :]):
                keys.faults.append(f"`{name}` has dense layers among those with experts")
            return sum(dense)
    if keys.number(_FREQUENCY) not in (None, 1):
        keys.faults.append(f"`{_FREQUENCY}` has dense layers among those with experts")
    last = keys.values.get("moe_layer_end_index")
    if type(last) is int and 0 <= last < layers - 1:
        keys.faults.append("`moe_layer_end_index` leaves dense layers behind those with experts")
    return min(keys.count(*_FIRST), layers)


_Dense = tuple[bool, ...] | None
"""Which layers are dense, in their order; nothing when a list says nothing."""


def _types(value: object, _: int) -> _Dense:
    return tuple(each == "dense" for each in value) if isinstance(value, list) else None


def _flags(value: object, _: int) -> _Dense:
    return tuple(not each for each in value) if isinstance(value, list) else None


def _only(value: object, layers: int) -> _Dense:
    dense = set(value) if isinstance(value, list) and all(type(e) is int for e in value) else set()
    return tuple(at in dense for at in range(layers)) if dense else None


def _enumerated(value: object, layers: int) -> _Dense:
    """The layers with experts as a text, `3,4,5` (Step)."""
    if not isinstance(value, str):
        return None
    experts = {each.strip() for each in value.split(",")}
    return tuple(str(at) not in experts for at in range(layers))


_LISTS: Mapping[str, Callable[[object, int], _Dense]] = {
    _FREQUENCY: _flags,
    "mlp_layer_types": _types,
    "is_moe_layer": _flags,
    "mlp_only_layers": _only,
    "moe_layers_enum": _enumerated,
}
