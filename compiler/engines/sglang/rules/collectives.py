"""What the ranks of a server exchange: the variables of NCCL that leave a step without a way, and the graphs of several groups."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.backends import Platform, platform
from compiler.engines.sglang.given import given_by
from compiler.engines.sglang.rules.places import at, caution
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.rules import rule


_ALGORITHMS = "NCCL_ALGO"
_REDUCES_ONLY = frozenset({"tree", "collnetchain", "nvlstree"})
"""What NCCL has for all-reduce alone (src/graph/tuning.cc; NVIDIA/nccl#317)."""


@rule("collective-algorithm")
def every_step_has_a_way(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """An algorithm that is named for all collectives must exist for all of them.

    From NCCL 2.24.3 the variable is enforced strictly: what it leaves without an algorithm ends in `invalid usage`
    (src/enqueue.cc, `topoGetAlgoInfo`), where older ones took the ring. 0.4.7 is the first release whose PyTorch (2.7.1) brings
    a later NCCL. The ranks of a tensor parallel group gather the logits.
    """
    given, named = given_by(plan), plan.profile.env.get(_ALGORITHMS, "")
    words = {each.strip().lower() for each in named.split(",")}
    if not words <= _REDUCES_ONLY or plan.profile.parallel.tensor == 1 or not given.since("0.4.7"):
        return
    if plan.gpu is not None and platform(plan.gpu) is not Platform.CUDA:
        return
    yield caution(
        "collective-algorithm",
        f"`{named}` reduces only, and the ranks gather, too",
        at(
            given,
            where,
            f"env.{_ALGORITHMS}",
            text="for every collective",
            beside={"parallel.tensor": f"{plan.profile.parallel.tensor} ranks gather the logits"},
        ),
        because="NCCL has no such algorithm for all-gather and broadcast, and from 2.24 on fails with `invalid usage` in place of taking another",
        help=(
            f'set `env.{_ALGORITHMS} = "allreduce:{named.lower()}"`, which names it for all-reduce alone',
            f"or leave `env.{_ALGORITHMS}` out",
        ),
    )


_LARGE_MIB = 81_920
_LARGEST = 256


@rule("graphs-over-groups", flags=("enable-dp-attention",))
def graphs_of_several_groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Large cards capture batches of 256, and data parallel groups each such batch for all groups together.

    0.4.5.post3 model_executor/cuda_graph_runner.py, `get_batch_sizes_to_capture`: releases before capture up to 160, and 0.4.6 the
    large ones with one group only, because of servers that hung: sgl-project/sglang#5634, #5811.
    """
    given, parallel, gpu = given_by(plan), plan.profile.parallel, plan.gpu
    if not parallel.dp_attention or parallel.data == 1 or gpu is None:
        return
    if not given.since("0.4.5.post3") or not given.before("0.4.6") or gpu.total_mib <= _LARGE_MIB:
        return
    most = given.whole("cuda-graph-max-bs") or _LARGEST
    if given.on("disable-cuda-graph") or given.value("cuda-graph-bs") or most < _LARGEST:
        return
    rows = most * parallel.data
    yield caution(
        "graphs-over-groups",
        f"graphs are captured for {rows:,} requests: {most} for each of {parallel.data} groups",
        at(
            given,
            where,
            "memory.cuda_graph_max_batch",
            "parallel.data",
            text=f"{parallel.data} groups",
            beside={"gpus.kind": "large cards capture larger batches"},
        ),
        because="the release does not set so much memory aside, and runs out while capturing; 0.4.6 captures fewer",
        help=("set `memory.cuda_graph_max_batch = 160` or less",),
    )
