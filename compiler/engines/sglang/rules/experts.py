"""How experts, and copies of them, are dealt out over expert parallel groups."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.engines.sglang.exchange import COPIES
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.parallel import EXCHANGE, OLD_SWITCHES, expert_groups
from compiler.engines.sglang.rules.places import at, line
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


# Architectures with `get_model_config_for_expert_location`, and the release from which on they have it (srt/models; the
# first two hand it down to the others of their families).
_COUNTS_COPIES = (
    ("DeepseekV2F", "0.4.10"),
    ("DeepseekV3", "0.4.10"),
    ("Glm4MoeF", "0.4.10"),
    ("GlmMoeDsa", "0.4.10"),
    ("Qwen2MoeF", "0.4.10"),
    ("Qwen3MoeF", "0.4.10"),
    ("GptOss", "0.5.1"),
    ("Qwen3Next", "0.5.2"),
    ("MiniMaxM2F", "0.5.4.post1"),
    ("Qwen3VLMoe", "0.5.6"),
    ("MiMoV2Flash", "0.5.7"),
    ("ExaoneMoE", "0.5.9"),
    ("Qwen3_5Moe", "0.5.9"),
    ("KimiK25", "0.5.10"),
    ("DeepseekV4F", "0.5.12"),
    ("Glm4MoeLite", "0.5.13"),
    ("Step3p5", "0.5.13"),
    ("MiniMaxM3", "0.5.16"),
)


@rule("experts-not-divisible", flags=("expert-parallel-size", EXCHANGE, *OLD_SWITCHES))
def experts_over_groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Experts, with their copies, are dealt out evenly over the groups.

    0.5.11 layers/moe/fused_moe_triton/layer.py, line 211; of experts with copies 0.4.10 to 0.5.23 eplb/expert_location.py,
    `_init_common`: `assert num_physical_experts % ep_size == 0`, for the architectures that say how many they have.
    """
    given, moe = given_by(plan), plan.model.moe if plan.model is not None else None
    groups = expert_groups(given)
    if moe is None or groups == 1 or plan.profile.parallel.tensor % groups:
        return
    copies = _copies(given)
    if (moe.routed_experts + copies) % groups == 0:
        return
    more = f" and {copies} copies" if copies else ""
    spot = at(
        given,
        where,
        *((COPIES,) if copies else ()),
        "parallel.expert",
        EXCHANGE,
        text=f"{copies} copies" if copies else f"{groups} groups",
        beside={
            "model.id": f"{moe.routed_experts} experts",
            **({"parallel.expert": f"{groups} groups"} if copies else {}),
        },
    )
    yield error(
        "experts-not-divisible",
        f"{moe.routed_experts} experts{more} do not divide over expert parallel size {groups}",
        spot.primary,
        secondary=spot.secondary,
        notes=("the server stops with a bare assertion at start",),
        help=tuple(_advice(given, moe.routed_experts, groups=groups)),
        path=spot.path,
    )


def _copies(given: Given) -> int:
    """Copies that the model's class deals out; where it is not known to, none are looked at."""
    model = given.plan.model
    counts = model is not None and any(
        model.architecture.startswith(names) and given.since(since)
        for names, since in _COUNTS_COPIES
    )
    return max(0, given.whole(COPIES) or 0) if counts else 0


def _advice(given: Given, experts: int, *, groups: int) -> Iterator[str]:
    parallel, copies = given.plan.profile.parallel, _copies(given)
    over = (experts + copies) % groups
    if copies:
        fewer, more = copies - over, copies + groups - over
        yield f"set `{COPIES}` to {fewer} or {more}" if fewer > 0 else f"set `{COPIES} = {more}`"
    if copies and copies == over:
        yield f"or leave {line(given, COPIES)} out"
    if not copies and groups == parallel.expert:
        yield f"set `parallel.expert = {parallel.groups_for(experts)}`"
    elif not copies and given.value(EXCHANGE) is not None:
        yield f"leave {line(given, EXCHANGE)} out, which deals experts out over all {groups} ranks"
