"""What the MLP of one layer has alive at once in a step: for most models the widest part of it."""

from __future__ import annotations

from compiler.engines.sglang.reserve.server import Server


def mlp_numbers(server: Server) -> tuple[float, str]:
    """Numbers for each token of a replica, and how they come about: of a dense MLP, or of experts, whichever are more."""
    return max(_dense(server), _experts(server))


def _dense(server: Server) -> tuple[float, str]:
    # Gate and up live until the function ends, their product beside them (0.4.6 to 0.5.23 models/llama.py and qwen2.py,
    # `forward` of the MLP); without a gate it is what goes up, and what the activation makes of it.
    model, split = server.model, server.split
    if not model.dense_layers:
        return 0.0, "no MLP"
    parts = 3 if model.gated_mlp else 2
    ranks = 1 if split.dense_whole else split.tensor
    # With data parallel attention a split MLP sees the tokens of all replicas.
    groups = 1 if split.dense_whole else server.launch.replicas
    shared = f" x {groups} replicas" if groups > 1 else ""
    among = f" / {ranks} ranks" if ranks > 1 else ""
    return (
        parts * model.intermediate * groups / ranks,
        f"{parts} x {model.intermediate:,}{shared}{among}",
    )


def _experts(server: Server) -> tuple[float, str]:
    # For each active expert of a token one buffer for gate and up, and after them for what comes back, and one for their
    # product (0.5.11 fused_moe_triton/fused_marlin_moe.py, lines 128-141; moe_runner/triton_utils/fused_moe.py, lines
    # 467-590). With data parallel attention the experts see the tokens of all replicas.
    moe, split = server.model.moe, server.split
    if moe is None:
        return 0.0, "no experts"
    ranks = max(1, split.tensor // split.expert)
    inner = moe.intermediate / ranks
    wide = max((2 if moe.gated else 1) * inner, moe.latent or server.model.hidden)
    experts = moe.active_experts * server.launch.replicas
    return experts * (wide + inner), f"{experts} experts x ({wide:,.0f} + {inner:,.0f})"
