"""GPUs that services of one host share: whether each still keeps its promise beside the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from compiler.checks.neighbours.hosts import Host, Where, places
from compiler.diagnostics import Diagnostic, Severity, error, warning
from compiler.engines import ENGINES
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Memory, Plan
from compiler.ranges import Range, total
from compiler.value import Value


_HELP = (
    "give each its own `gpus.indices`",
    "or the same `unit` on this target: then one of them runs at a time",
)


@frozen(kw_only=True, eq=False, repr=False)
class Sharing(Value):
    """A service with those that may hold a part of its GPUs when it starts.

    Attributes:
        others: of each other unit that shares a GPU, the plan that holds most.
        gpus: the host's indices that are shared.
    """

    plan: Plan
    others: tuple[Plan, ...]
    gpus: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The profiles concerned, sorted."""
        return tuple(sorted(each.profile_name for each in (self.plan, *self.others)))


def shared_gpus(host: Host, where: Where) -> Iterator[Diagnostic]:
    """A server takes its fraction of what is free: one that starts beside another finds less, and its pool is smaller."""
    sharings = [each for unit in host.units for plan in unit if (each := _sharing(plan, host))]
    broken = {each.plan: found for each in sharings if (found := _broken(each, host, where))}
    yield from broken.values()
    told = {each.names for each in sharings if each.plan in broken}
    for each in sharings:
        if each.names not in told:
            told.add(each.names)
            yield _shared(each, host, where)


def _sharing(plan: Plan, host: Host) -> Sharing | None:
    mine = _gpus(plan)
    others = [
        max(overlaps, key=_weight)
        for unit in host.units
        if plan not in unit and (overlaps := [each for each in unit if mine & _gpus(each)])
    ]
    shared = frozenset(gpu for other in others for gpu in mine & _gpus(other))
    return Sharing(plan=plan, others=tuple(others), gpus=shared) if others else None


def _gpus(plan: Plan) -> frozenset[int]:
    """The host's indices; empty when they cannot be told, so that nothing is claimed."""
    engine = ENGINES.get(plan.profile.engine.name)
    if engine is None:
        return frozenset(plan.profile.gpus.indices or range(plan.profile.gpus.count))
    return frozenset(engine.footprint(plan.profile, plan.release).gpus or ())


def _weight(plan: Plan) -> tuple[float, str]:
    """What is not known weighs most, so that it is said."""
    return (_held(plan.memory).best if plan.memory else float("inf"), plan.profile_name)


def _held(memory: Memory) -> Range:
    """What a service comes to hold of each GPU, GiB: all but the margin of its reserve."""
    free, margin = memory.free_before_load_gib, memory.reserve.margin_gib
    best = max(0.0, free.best - margin.best)
    return Range(
        min(best, max(0.0, free.low - margin.high)), best, max(best, free.high - margin.low)
    )


def _broken(sharing: Sharing, host: Host, where: Where) -> Diagnostic | None:
    """What becomes of a promise that holds alone. One that is broken already is told elsewhere."""
    plan, memory = sharing.plan, sharing.plan.memory
    engine = ENGINES.get(plan.profile.engine.name)
    held = [_held(each.memory) for each in sharing.others if each.memory]
    if memory is None or engine is None or len(held) < len(sharing.others):
        return None
    taken = total(held)
    left = engine.beside(memory, taken=taken, most_tokens=plan.profile.memory.max_pool_tokens)
    result = memory_outcome(left)
    if result is Outcome.PASSES or result <= memory_outcome(memory):
        return None
    others = _listed(sharing.others)
    whose = f"`{plan.profile_name}` beside {others} on `{host.name}`"
    told: dict[str, Any] = {
        **_places(sharing, where),
        "notes": (
            f"free before load {_gib(memory.free_before_load_gib)}; {others} may hold {_gib(taken)} of it",
            f"then `{plan.profile_name}` gets a pool of {_tokens(left.pool.tokens)} tokens for {left.pool.required_tokens:,}, "
            f"and a reserve of {_gib(left.reserve.available_gib)} for {_gib(left.reserve.needed_gib)}",
            f"on each GPU; a server takes its fraction, here {memory.fraction:g}, of what is free when it starts",
        ),
        "help": _HELP,
        "path": "gpus.indices",
    }
    if left.pool.tokens.high <= 0:
        return error("gpu-overcommitted", f"{whose}: no memory is left for its pool", **told)
    if result is Outcome.UNCERTAIN:
        return warning("promise-uncertain-beside", f"{whose} may not keep its promise", **told)
    return error("promise-broken-beside", f"{whose} does not keep its promise", **told)


def _shared(sharing: Sharing, host: Host, where: Where) -> Diagnostic:
    known = all(each.memory for each in (sharing.plan, *sharing.others))
    names = _listed((sharing.plan, *sharing.others))
    return Diagnostic(
        code="gpu-shared",
        severity=Severity.WARNING,
        summary=f"{names} share {_numbered(sharing.gpus)} of `{host.name}`",
        **_places(sharing, where),
        notes=(
            "started one after the other, each keeps its promise by its plan as far as it does alone; "
            "loaded at once, neither finds the free memory it counts on"
            if known
            else "nobody can say whether they fit: the memory of one of them is not known",
            "each slows the other down",
        ),
        help=_HELP,
        path="gpus.indices",
    )


def _places(sharing: Sharing, where: Where) -> dict[str, Any]:
    return places(
        *(
            where(each.profile_name).primary(
                "gpus.indices",
                "gpus.count",
                text=f"`{each.profile_name}`: {_numbered(_gpus(each))}",
            )
            for each in (sharing.plan, *sharing.others)
        )
    )


def _listed(plans: tuple[Plan, ...]) -> str:
    names = [f"`{each.profile_name}`" for each in plans]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"  # noqa: PLR2004 - a comma from three on


def _numbered(gpus: Iterable[int]) -> str:
    several = sorted(gpus)
    if len(several) == 1:
        return f"GPU {several[0]}"
    if several == list(range(several[0], several[-1] + 1)):
        return f"GPUs {several[0]} to {several[-1]}"
    return f"GPUs {', '.join(map(str, several))}"


def _gib(known: Range) -> str:
    low, high = f"{known.low:.1f}", f"{known.high:.1f}"
    return f"{low} GiB" if low == high else f"{low} to {high} GiB"


def _tokens(known: Range) -> str:
    return (
        f"{known.best:,.0f}"
        if known.is_exact
        else f"{known.best:,.0f} ({known.low:,.0f} to {known.high:,.0f})"
    )
