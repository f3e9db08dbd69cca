"""GPUs that services of one host share: whether each still keeps its promise beside the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from compiler.checks.neighbours.hosts import Host, Resident, Where, places
from compiler.diagnostics import Diagnostic, error, warning
from compiler.engines import ENGINES
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Memory
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
        others: of each other unit that shares a GPU, the one that holds most.
        gpus: the host's indices that are shared.
    """

    resident: Resident
    others: tuple[Resident, ...]
    gpus: frozenset[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The profiles concerned, sorted."""
        return tuple(sorted(each.name for each in (self.resident, *self.others)))


def shared_gpus(host: Host, where: Where) -> Iterator[Diagnostic]:
    """A server takes its fraction of what is free: one that starts beside another finds less, and its pool is smaller."""
    sharings = [found for each in host.residents if (found := _sharing(each, host))]
    told: set[tuple[str, ...]] = set()
    for each in sharings:
        broken = _broken(each, host, where)
        # What has no room at all is one finding for all that are in it.
        if broken is not None and not (broken.code == "gpu-overcommitted" and each.names in told):
            yield broken
        told |= {each.names} if broken else set()
    for each in sharings:
        if each.names not in told:
            told.add(each.names)
            yield _shared(each, host, where)


def _sharing(mine: Resident, host: Host) -> Sharing | None:
    """With those of other units that share a GPU; of alternatives the one that holds most."""
    units: dict[tuple[str, str], Resident] = {}
    for each in host.residents:
        if each.unit != mine.unit and _shared_with(mine, each):
            units[each.unit] = max(units.get(each.unit, each), each, key=_weight)
    if not units:
        return None
    others = tuple(units.values())
    return Sharing(
        resident=mine,
        others=others,
        gpus=frozenset(gpu for other in others for gpu in _shared_with(mine, other)),
    )


def _shared_with(one: Resident, other: Resident) -> frozenset[int]:
    """The host's indices of the GPUs that both use; none when they cannot be told, so that nothing is claimed."""
    return frozenset(one.footprint.gpus or ()) & frozenset(other.footprint.gpus or ())


def _weight(resident: Resident) -> tuple[float, str]:
    """What is not known weighs most, so that it is said."""
    memory = resident.plan.memory
    return (_held(memory).best if memory else float("inf"), resident.name)


def _held(memory: Memory) -> Range:
    """What a service comes to hold of each GPU, GiB: all but the margin of its reserve."""
    free, margin = memory.free_before_load_gib, memory.reserve.margin_gib
    best = max(0.0, free.best - margin.best)
    return Range(
        min(best, max(0.0, free.low - margin.high)), best, max(best, free.high - margin.low)
    )


def _broken(sharing: Sharing, host: Host, where: Where) -> Diagnostic | None:
    """What becomes of a promise that holds alone. One that is broken already is told elsewhere."""
    plan = sharing.resident.plan
    memory = plan.memory
    engine = ENGINES.get(plan.profile.engine.name)
    held = [_held(each.plan.memory) for each in sharing.others if each.plan.memory]
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
            (
                f"then `{plan.profile_name}` gets a pool of {_tokens(left.pool.tokens)} tokens for {left.pool.required_tokens:,}, "
                f"and a reserve of {_gib(left.reserve.available_gib)} for {_gib(left.reserve.needed_gib)}"
            ),
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
    known = all(each.plan.memory for each in (sharing.resident, *sharing.others))
    names = _listed((sharing.resident, *sharing.others))
    return warning(
        "gpu-shared",
        f"{names} share {_numbered(sharing.gpus)} of `{host.name}`",
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
            where(each.name).primary(
                "gpus.indices",
                "gpus.count",
                text=f"`{each.name}`: {_numbered(each.footprint.gpus or ())}",
            )
            for each in (sharing.resident, *sharing.others)
        )
    )


def _listed(residents: tuple[Resident, ...]) -> str:
    names = [f"`{each.name}`" for each in residents]
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
