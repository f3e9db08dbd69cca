"""The keys of a config in; its experts, and the layers without them, out.

Which key says what: SGLang 0.5.11 models/*.py of each family; transformers 4.57 models/ernie4_5_moe/configuration_ernie4_5_moe.py.
"""

from __future__ import annotations

from compiler.architecture import Moe
from compiler.checkpoint.keys import Keys


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
            "num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k"
        ),
        shared_experts=shared,
        intermediate=intermediate,
        shared_intermediate=width,
        gated=gated,
        latent=keys.number("moe_latent_size"),
        every=keys.number(*_EVERY) or 1,
        router_bits=router_bits,
    )


def _beside(keys: Keys, intermediate: int) -> tuple[int, int | None]:
    """What stands beside the routed experts: how many shared experts, and their width when it is not the usual one.

    A dense MLP beside the experts (Grok 2, Gemma 4) is one shared expert of its width.
    """
    shared = keys.count("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    width = keys.number(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    )
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
    flags = keys.values.get("moe_layer_freq")
    if isinstance(flags, list):
        return len(flags) - sum(1 for each in flags if each)
    if keys.values.get("mlp_only_layers"):
        keys.faults.append("`mlp_only_layers` has dense layers among those with experts")
    last = keys.values.get("moe_layer_end_index")
    if type(last) is int and 0 <= last < layers - 1:
        keys.faults.append("`moe_layer_end_index` leaves dense layers behind those with experts")
    return keys.count("first_k_dense_replace", "moe_layer_start_index")
