"""GPUs that services of one host share: whether each still keeps its promise beside the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from compiler.checks.neighbours.hosts import Host, Places, Resident, Where, places
from compiler.diagnostics import Diagnostic, error, listed, warning
from compiler.engines.known import ENGINES
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Memory
from compiler.ranges import Range, said, total
from compiler.value import Value


_MOST_SHOWN = 4
"""Services that a finding names; of more the number is enough."""

_HELP = (
    "give each its own `gpus.indices`",
    "or the same `unit` on this target: then one of them runs at a time",
)


@frozen(kw_only=True, eq=False, repr=False)
class Taker(Value):
    """A service with what it takes of the host's GPUs; `held` is `None` when its memory is not known."""

    resident: Resident
    gpus: frozenset[int]
    held: Range | None

    @property
    def weight(self) -> tuple[float, str]:
        """What is not known weighs most, so that it is said."""
        return (self.held.best if self.held else float("inf"), self.resident.name)


@frozen(kw_only=True, eq=False, repr=False)
class Sharing(Value):
    """A service with those that may hold a part of its GPUs when it starts.

    Attributes:
        others: of each other unit that shares a GPU, the one that holds most.
    """

    taker: Taker
    others: tuple[Taker, ...]

    @property
    def names(self) -> frozenset[str]:
        """The profiles concerned."""
        return frozenset(each.resident.name for each in (self.taker, *self.others))

    @property
    def gpus(self) -> frozenset[int]:
        """The host's indices of the GPUs that are shared."""
        return self.taker.gpus & frozenset[int]().union(*(each.gpus for each in self.others))


class _Told(Places):
    """What a broken promise is told with, however badly it is broken."""

    notes: tuple[str, ...]
    help: tuple[str, ...]
    path: str


def shared_gpus(host: Host, where: Where) -> Iterator[Diagnostic]:
    """A server takes its fraction of what is free: one that starts beside another finds less, and its pool is smaller."""
    sharings = list(_sharings(host))
    told: set[frozenset[str]] = set()
    full: set[frozenset[str]] = set()
    for each in sharings:
        # What has no room at all is one finding for all that are in it.
        broken = None if each.names in full else _broken(each, host, where)
        if broken is not None:
            told.add(each.names)
            full |= {each.names} if broken.code == "gpu-overcommitted" else set()
            yield broken
    for each in sharings:
        if each.names not in told:
            told.add(each.names)
            yield _shared(each, host, where)


def _sharings(host: Host) -> Iterator[Sharing]:
    units: dict[tuple[str, str], list[Taker]] = {}
    for each in host.residents:
        memory = each.plan.memory
        taker = Taker(
            resident=each,
            # None when they cannot be told, so that nothing is claimed.
            gpus=frozenset(each.footprint.gpus or ()),
            held=_held(memory) if memory else None,
        )
        units.setdefault(each.unit, []).append(taker)
    heaviest_first = {
        unit: sorted(takers, key=lambda each: each.weight, reverse=True)
        for unit, takers in units.items()
    }
    for unit, takers in units.items():
        for taker in takers:
            others = (
                next((each for each in several if each.gpus & taker.gpus), None)
                for other, several in heaviest_first.items()
                if other != unit
            )
            beside = tuple(each for each in others if each is not None)
            if beside:
                yield Sharing(taker=taker, others=beside)


def _held(memory: Memory) -> Range:
    """What a service comes to hold of each GPU, GiB: all but the margin of its reserve."""
    free, margin = memory.free_before_load_gib, memory.reserve.margin_gib
    best = max(0.0, free.best - margin.best)
    return Range(
        min(best, max(0.0, free.low - margin.high)), best, max(best, free.high - margin.low)
    )


def _broken(sharing: Sharing, host: Host, where: Where) -> Diagnostic | None:
    """What becomes of a promise that holds alone. One that is broken already is told elsewhere."""
    plan = sharing.taker.resident.plan
    memory, engine = plan.memory, ENGINES.get(plan.profile.engine.name)
    held = [each.held for each in sharing.others if each.held]
    if memory is None or engine is None or len(held) < len(sharing.others):
        return None
    taken = total(held)
    left = engine.beside(memory, taken=taken, most_tokens=plan.profile.memory.max_pool_tokens)
    result = memory_outcome(left)
    if result is Outcome.PASSES or result <= memory_outcome(memory):
        return None
    others = _listed(sharing.others)
    whose = f"`{plan.profile_name}` beside {others} on `{host.name}`"
    told: _Told = {
        **_places(sharing, where),
        "notes": (
            f"free before load {_gib(memory.free_before_load_gib)}; {others} may hold {_gib(taken)} of it",
            (
                f"then `{plan.profile_name}` gets a pool of {said(left.pool.tokens, ',.0f')} tokens for "
                f"{left.pool.required_tokens:,}, and a reserve of {_gib(left.reserve.available_gib)} "
                f"for {_gib(left.reserve.needed_gib)}"
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
    several = (sharing.taker, *sharing.others)
    return warning(
        "gpu-shared",
        f"{_listed(several)} share {_numbered(sharing.gpus)} of `{host.name}`",
        **_places(sharing, where),
        notes=(
            "started one after the other, each keeps its promise by its plan as far as it does alone; "
            "loaded at once, neither finds the free memory it counts on"
            if all(each.held for each in several)
            else "nobody can say whether they fit: the memory of one of them is not known",
            "each slows the other down",
        ),
        help=_HELP,
        path="gpus.indices",
    )


def _places(sharing: Sharing, where: Where) -> Places:
    return places(
        *(
            where(each.resident.name).primary(
                "gpus.indices",
                "gpus.count",
                text=f"`{each.resident.name}`: {_numbered(each.gpus)}",
            )
            for each in (sharing.taker, *sharing.others[:_MOST_SHOWN])
        )
    )


def _listed(takers: tuple[Taker, ...]) -> str:
    names = [f"`{each.resident.name}`" for each in takers[:_MOST_SHOWN]]
    rest = len(takers) - _MOST_SHOWN
    names += [f"{rest} more"] if rest > 0 else []
    return listed(names)


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
