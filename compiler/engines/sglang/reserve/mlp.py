"""What the MLP of one layer has alive at once in a step: for most models the widest part of it."""

from __future__ import annotations

from attrs import frozen

from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.reserve.server import Server
from compiler.value import Value


@frozen(eq=False, repr=False)
class Numbers(Value):
    """Numbers for each token of a replica, at least and as SGLang's own kernels have them, and how they come about."""

    least: float
    usual: float
    made: str


def mlp_numbers(server: Server) -> Numbers:
    """Those of a dense MLP, or of experts, whichever are more."""
    dense, made = _dense(server)
    experts = _experts(server)
    if dense > experts.usual:
        return Numbers(max(dense, experts.least), dense, made)
    return Numbers(max(dense, experts.least), experts.usual, experts.made)


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


def _experts(server: Server) -> Numbers:
    # For each active expert of a token one buffer for gate and up, and after them for what comes back, and one for their
    # product (0.5.11 fused_moe_triton/fused_marlin_moe.py, lines 128-141; moe_runner/triton_utils/fused_moe.py, lines
    # 467-590). With data parallel attention the experts see the tokens of all replicas.
    moe, split = server.model.moe, server.split
    if moe is None:
        return Numbers(0.0, 0.0, "no experts")
    ranks = max(1, split.tensor // split.expert)
    inner = moe.intermediate / ranks
    back = moe.latent or server.model.hidden
    wide = max((2 if moe.gated else 1) * inner, back)
    replicas = server.launch.replicas
    experts = moe.active_experts * replicas
    usual = experts * (wide + inner)
    # aiter, which AMD's images switch on, keeps their product alone for each active expert, and adds what comes back up in
    # place, for a token (aiter/fused_moe.py, `fused_moe_2stages` and `moe_sorting`, https://github.com/ROCm/aiter).
    least = experts * inner + replicas * back
    if platform(server.gpu) is not Platform.HIP:
        least = usual
    return Numbers(least, usual, f"{experts} experts x ({wide:,.0f} + {inner:,.0f})")
