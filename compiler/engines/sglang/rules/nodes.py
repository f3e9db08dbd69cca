"""Several nodes, and which GPUs of a node: what the server refuses, and what it does not look at and then waits for."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic
from compiler.engines.sglang.given import Given, given_by
from compiler.engines.sglang.rules.places import at, line, refusal
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.rules import rule
from compiler.visibledevices import VISIBLE, shown_by


_NODES, _RANK, _ADDRESS = "nnodes", "node-rank", "dist-init-addr"


def _nodes(given: Given) -> int:
    return max(1, given.whole(_NODES) or 1)


@rule("nodes-not-divisible", flags=(_NODES,))
def nodes_divide(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each node holds as many ranks (0.4.6 to 0.5.23, `check_server_args`: tp_size must be divisible by number of nodes)."""
    given, parallel = given_by(plan), plan.profile.parallel
    nodes, ranks = _nodes(given), parallel.tensor * parallel.pipeline
    if ranks % nodes == 0:
        return
    yield refusal(
        given,
        "nodes-not-divisible",
        f"{counted(ranks, 'rank')} {'does' if ranks == 1 else 'do'} not divide over {nodes} nodes",
        at(
            given,
            where,
            _NODES,
            text=f"{nodes} nodes",
            beside={
                "parallel.tensor": counted(parallel.tensor, "rank"),
                "parallel.pipeline": f"times {parallel.pipeline} stages",
            },
        ),
        because="the server stops at start: tensor x pipeline must be a multiple of the nodes",
        help=(_other_number(given, ranks=ranks, nodes=nodes),),
    )


def _other_number(given: Given, *, ranks: int, nodes: int) -> str:
    """The number of nodes nearest below that divides the ranks, else above: it changes neither GPUs nor heads.

    Nodes are counted from 0, so that this one must still be among them, and each has the GPUs that `gpus.indices` names.
    """
    rank, indices = given.whole(_RANK) or 0, given.plan.profile.gpus.indices
    passing = [
        each
        for each in range(rank + 1, ranks + 1)
        if ranks % each == 0 and len(indices) in {0, ranks // each}
    ]
    best = min(passing, key=lambda each: (each > nodes, abs(each - nodes)), default=None)
    if best is None:
        return f"change the layout so that {nodes} divides `parallel.tensor` x `parallel.pipeline`"
    return f"set `{_NODES} = {best}`, which divides {ranks}"


@rule("node-rank", flags=(_RANK,))
def rank_is_a_node(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """A node's number counts from 0; no release checks it (0.4.6 to 0.5.23), and ranks of two nodes then collide."""
    given = given_by(plan)
    nodes, rank = _nodes(given), given.whole(_RANK)
    if rank is None or 0 <= rank < nodes:
        return
    last = f"0 to {nodes - 1}" if nodes > 1 else "0"
    yield refusal(
        given,
        "node-rank",
        f"node {rank} is none of {nodes}",
        at(given, where, _RANK, text=f"node {rank}", beside={_NODES: f"{nodes} nodes"}),
        because=f"nodes are numbered {last}; the server does not check it, and waits for ranks that never come",
        help=(f"set `node-rank` to {last}, and `nnodes` to the number of nodes",),
    )


_OVERRIDE = "SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE"


@rule("dist-init-missing", flags=(_NODES,))
def nodes_meet(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Several nodes need one address to meet at.

    Without one each uses a port of its own host (0.4.6 model_runner.py to 0.5.23, `init_torch_distributed`), or stops with
    data parallel attention (server_args.py, `PortArgs`). Nothing is checked before. A variable may name the meeting in its
    place (distributed/bootstrap.py, `_resolve_dist_init_method`).
    """
    given = given_by(plan)
    address = given.word(_ADDRESS, "nccl-init-addr")
    if _nodes(given) == 1:
        return
    elsewhere = plan.profile.env.get(_OVERRIDE) and not plan.profile.parallel.dp_attention
    if address is None and elsewhere:
        return
    if address is None:
        yield refusal(
            given,
            "dist-init-missing",
            f"{_nodes(given)} nodes have no address to meet at",
            at(given, where, _NODES, text="several nodes"),
            because="each node waits for the others at an address of its own host, until its time is up",
            help=(
                'set `dist-init-addr = "HOST:PORT"`, the same on all nodes, with the host of node 0',
            ),
        )
    elif ":" not in address and "$" not in address:
        yield refusal(
            given,
            "dist-init-missing",
            f"the address to meet at, `{address}`, has no port",
            at(given, where, _ADDRESS, "nccl-init-addr", text="needs HOST:PORT"),
            because="the nodes cannot meet: the address is used as it is",
            help=(f'set `dist-init-addr = "{address}:5000"`, with a port that is free on node 0',),
        )


@rule("nodes-data-parallel", flags=(_NODES,))
def no_replicas_over_nodes(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Data parallel replicas do not span nodes, but with data parallel attention (0.4.6 to 0.5.23, `check_server_args`)."""
    given, parallel = given_by(plan), plan.profile.parallel
    nodes = _nodes(given)
    if nodes == 1 or parallel.data == 1 or parallel.dp_attention:
        return
    yield refusal(
        given,
        "nodes-data-parallel",
        f"{parallel.data} data parallel replicas do not span {nodes} nodes",
        at(
            given,
            where,
            "parallel.data",
            text=f"{parallel.data} replicas",
            beside={_NODES: f"{nodes} nodes"},
        ),
        help=(
            "set `parallel.dp_attention = true`, which shares the tensor parallel ranks out",
            "or start one server on each node, and a router in front of them",
        ),
    )


@rule("gpu-ids", flags=("base-gpu-id", "gpu-id-step"))
def first_gpu_is_there(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The first GPU and the ranks behind it must be among those the server sees, which it counts from 0.

    `base_gpu_id + rank x gpu_id_step` in every release (0.4.6 entrypoints/engine.py to 0.5.23); only a negative one is refused.
    """
    given, parallel = given_by(plan), plan.profile.parallel
    visible = _visible(plan)
    base, step = given.whole("base-gpu-id") or 0, given.whole("gpu-id-step") or 1
    replicas = 1 if parallel.dp_attention else parallel.data
    ranks = max(1, parallel.tensor * parallel.pipeline * replicas // _nodes(given))
    last = base + (ranks - 1) * step
    if visible is None or (base == 0 and step == 1) or 0 <= last < visible:
        return
    yield refusal(
        given,
        "gpu-ids",
        f"the last rank would take GPU {last}, and the server sees {visible}",
        at(
            given,
            where,
            "base-gpu-id",
            "gpu-id-step",
            text=f"the first is GPU {base}",
            beside={"gpus.indices": f"{counted(visible, 'GPU')}, counted from 0"},
        ),
        because=f"{base} + {ranks - 1} x {step} = {last}; the server numbers the GPUs that it sees from 0",
        help=_seen(given, visible, ranks=ranks, step=step),
    )


def _seen(given: Given, visible: int, *, ranks: int, step: int) -> tuple[str, ...]:
    """What puts all ranks on the GPUs that the server sees; nothing where there are too few for any of it."""
    most = visible - 1 - (ranks - 1) * step
    if most > 0:
        return (f"set `base-gpu-id = {most}`, or a number from 0 to that",)
    if most == 0 and step > 1:
        return ("set `base-gpu-id = 0`",)
    given_ = [line(given, each) for each in ("base-gpu-id", "gpu-id-step") if given.value(each)]
    return (f"leave {' and '.join(given_)} out",) if ranks <= visible else ()


def _visible(plan: Plan) -> int | None:
    """How many GPUs the server sees; `None` when it sees all of its host."""
    if plan.profile.gpus.indices:
        return len(plan.profile.gpus.indices)
    named = plan.profile.env.get(VISIBLE, "").strip()
    return len(shown_by(named).gpus) if named and "$" not in named else None
