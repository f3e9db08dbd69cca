"""How the model is laid out over the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from compiler.diagnostics import Diagnostic, error, present
from compiler.engines.known import ENGINES
from compiler.facts import Gqa, Model
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.profile import Gpus, Parallel
from compiler.quantities import counted
from compiler.ranks import resized
from compiler.rules import rule
from compiler.visibledevices import VISIBLE, Shown, shown_by


_USUAL_RANKS = (1, 2, 4, 8, 16, 32)


@rule("gpu-count")
def gpu_count(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The layout takes tensor x pipeline x data GPUs; data parallel attention shares those of tensor parallel."""
    gpus, parallel = plan.profile.gpus, plan.profile.parallel
    replicas = 1 if parallel.dp_attention else parallel.data
    needed = parallel.tensor * parallel.pipeline * replicas
    engine = ENGINES.get(plan.profile.engine.name)
    nodes = engine.nodes(plan.profile, plan.release) if engine is not None else 1
    if gpus.indices and len(gpus.indices) * nodes != gpus.count:
        spread = f" on {nodes} nodes" if nodes > 1 else ""
        yield error(
            "gpu-count",
            f"`gpus.indices` names {counted(len(gpus.indices), 'GPU')}, `gpus.count` says {gpus.count}{spread}",
            where.primary("gpus.indices", text=counted(len(gpus.indices), "GPU")),
            secondary=present(where.label("gpus.count", counted(gpus.count, "GPU"))),
            help=(_agreeing(gpus, needed=needed, nodes=nodes),),
            path="gpus.indices",
        )
    if len(set(gpus.indices)) != len(gpus.indices):
        yield error(
            "gpu-count",
            "`gpus.indices` names a GPU twice",
            where.primary("gpus.indices"),
            notes=("CUDA shows the server no GPU then, and it ends at its start",),
            help=(f"set `gpus.indices = {_each_once(gpus.indices)}`, or name other cards",),
            path="gpus.indices",
        )
    shown = _shown(plan)
    because = () if shown is None or shown.because is None else (f"`{VISIBLE}`: {shown.because}",)
    if shown is not None and len(shown.gpus) * nodes < min(needed, gpus.count):
        per_node = counted(-(-needed // nodes), "GPU")
        yield error(
            "gpu-count",
            f"`{VISIBLE}` shows the server {counted(len(shown.gpus), 'GPU')}, and its layout takes {per_node}",
            where.primary(f"env.{VISIBLE}", text=counted(len(shown.gpus), "GPU")),
            notes=because,
            help=(f"let it name {per_node}, and none twice",),
            path=f"env.{VISIBLE}",
        )
    if needed == gpus.count:
        return
    formula = f"{parallel.tensor} tensor x {parallel.pipeline} pipeline x {replicas} data"
    yield error(
        "gpu-count",
        f"the layout needs {counted(needed, 'GPU')}, and there {_are(gpus.count)} {gpus.count}",
        where.primary("gpus.count", text=counted(gpus.count, "GPU")),
        secondary=present(
            where.label("parallel.tensor", f"tensor parallel {parallel.tensor}"),
            where.label("parallel.pipeline", f"pipeline parallel {parallel.pipeline}"),
            where.label("parallel.data", f"data parallel {parallel.data}"),
        ),
        notes=(f"{formula} = {needed}", *because),
        help=(
            f"{_agreeing(gpus, needed=needed, nodes=nodes)}, or change the layout so that it comes to {gpus.count}",
        ),
        path="gpus.count",
    )


def _agreeing(gpus: Gpus, *, needed: int, nodes: int) -> str:
    """The changes after which the profile has as many GPUs as the layout takes, by both of its settings."""
    changes = [] if gpus.count == needed else [f"set `gpus.count = {needed}`"]
    each = max(1, needed // nodes)
    if gpus.indices and each < len(gpus.indices):
        fewer = ", ".join(map(str, gpus.indices[:each]))
        changes.append(f"set `gpus.indices = [{fewer}]`")
    elif gpus.indices and each > len(gpus.indices):
        which = " of each node" if nodes > 1 else ""
        changes.append(f"let `gpus.indices` name {counted(each, 'GPU')}{which}")
    return " and ".join(changes)


def _shown(plan: Plan) -> Shown | None:
    """The GPUs of each node that a variable under `[env]` shows; `None` where there is none, or a shell would fill it in."""
    value = plan.profile.env.get(VISIBLE)
    return None if value is None or "$" in value else shown_by(value)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


@rule("heads-not-divisible")
def heads(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Attention heads are split evenly; KV heads evenly, or copied evenly."""
    model, parallel = plan.model, plan.profile.parallel
    if model is None:
        return
    ranks = max(1, parallel.tensor // parallel.data) if parallel.dp_attention else parallel.tensor
    faults = _undivided(model, ranks)
    if not faults:
        return
    yield error(
        "heads-not-divisible",
        f"{' and '.join(faults)} do not divide over {ranks} ranks",
        where.primary("parallel.tensor", text=f"{ranks} ranks"),
        secondary=present(where.label("model.id", f"{model.heads} attention heads")),
        notes=("the server stops with a bare assertion while it builds the model",),
        help=(_fitting_sizes(model, parallel),),
        path="parallel.tensor",
    )


def _undivided(model: Model, ranks: int) -> tuple[str, ...]:
    """The heads of a model that neither divide over the ranks nor are copied evenly."""
    faults = [f"{model.heads} attention heads"] if model.heads % ranks else []
    if isinstance(model.attention, Gqa):
        kv_heads = model.attention.kv_heads
        if kv_heads % ranks and ranks % kv_heads:
            faults.append(f"{kv_heads} KV heads")
    return tuple(faults)


def _fitting_sizes(model: Model, parallel: Parallel) -> str:
    """The largest smaller size that divides, and all that do."""
    shares = parallel.data if parallel.dp_attention else 1
    sizes = [ranks * shares for ranks in _USUAL_RANKS if not _undivided(model, ranks)]
    said = f"tensor parallel sizes that divide: {', '.join(map(str, sizes))}"
    best = max((each for each in sizes if each < parallel.tensor), default=None)
    if best is None:
        return said
    return f"{resized(parallel, best)}; {said}"


@rule("experts-not-divisible")
def groups(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Expert parallel groups are made of whole tensor parallel ranks; what divides over them is for the engine to say."""
    moe, parallel = (plan.model.moe if plan.model else None), plan.profile.parallel
    if parallel.tensor % parallel.expert == 0:
        return
    yield error(
        "experts-not-divisible",
        f"tensor parallel size {parallel.tensor} is no multiple of expert parallel size {parallel.expert}",
        where.primary("parallel.expert", text=f"{parallel.expert} groups"),
        secondary=present(where.label("parallel.tensor", f"{parallel.tensor} ranks")),
        help=(
            f"set `parallel.expert = {parallel.groups_for(moe.routed_experts if moe else parallel.tensor)}`",
        ),
        path="parallel.expert",
    )


def _each_once(indices: tuple[int, ...]) -> list[int]:
    """As many indices, with the first that are not named in the place of those that are named again."""
    unused = (each for each in count() if each not in indices)
    named: list[int] = []
    for each in indices:
        named.append(next(unused) if each in named else each)
    return named
