"""GPUs that services of one host share: who takes what of them, and what is left for each beside the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from compiler.checks.neighbours.hosts import Host, Resident
from compiler.engines.known import ENGINES
from compiler.plan import Memory
from compiler.ranges import Range, total
from compiler.value import Value


MOST_SHOWN = 4
"""Services that a finding names; of more the number is enough."""


@frozen(kw_only=True, eq=False, repr=False)
class Taker(Value):
    """A service with what it takes of the host's GPUs; `held` is `None` when its memory is not known."""

    resident: Resident
    gpus: frozenset[int]
    held: Range | None

    @property
    def kind(self) -> str:
        """The kind of GPU that it is planned for."""
        return self.resident.plan.profile.gpus.kind

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

    @property
    def taken(self) -> Range | None:
        """What the others may hold of each GPU, GiB; `None` where that of one is not known."""
        held = [each.held for each in self.others if each.held]
        return total(held) if len(held) == len(self.others) else None


def sharings(host: Host) -> Iterator[Sharing]:
    """Each service that shares a GPU with another unit, with those it may start beside."""
    units: dict[tuple[str, str], list[Taker]] = {}
    for each in host.residents:
        memory = each.plan.memory
        taker = Taker(
            resident=each,
            # None when they cannot be told, so that nothing is claimed.
            gpus=frozenset(each.footprint.gpus or ()),
            held=held_of(memory) if memory else None,
        )
        units.setdefault(each.unit, []).append(taker)
    heaviest_first = {
        unit: sorted(takers, key=lambda each: each.weight, reverse=True)
        for unit, takers in units.items()
    }
    for unit, takers in units.items():
        for taker in takers:
            others = (
                next((each for each in several if _share(each, taker)), None)
                for other, several in heaviest_first.items()
                if other != unit
            )
            beside = tuple(each for each in others if each is not None)
            if beside:
                yield Sharing(taker=taker, others=beside)


def _share(mine: Taker, theirs: Taker) -> bool:
    """Whether two take one GPU; one that would be two kinds of card is told elsewhere."""
    return mine.kind == theirs.kind and bool(mine.gpus & theirs.gpus)


def held_of(memory: Memory) -> Range:
    """What a service comes to hold of each GPU, GiB: all but the margin of its reserve."""
    free, margin = memory.free_before_load_gib, memory.reserve.margin_gib
    best = max(0.0, free.best - margin.best)
    return Range(
        min(best, max(0.0, free.low - margin.high)), best, max(best, free.high - margin.low)
    )


def left_beside(sharing: Sharing) -> Memory | None:
    """Both budgets of a service that starts when the others hold what they may; `None` where that is not known."""
    plan, taken = sharing.taker.resident.plan, sharing.taken
    engine = ENGINES.get(plan.profile.engine.name)
    if plan.memory is None or engine is None or taken is None:
        return None
    return engine.beside(plan.memory, taken=taken, most_tokens=plan.profile.memory.max_pool_tokens)


def numbered(gpus: Iterable[int]) -> str:
    """GPUs by the host's indices, in words: `GPU 2`, `GPUs 0 to 3`."""
    several = sorted(gpus)
    if len(several) == 1:
        return f"GPU {several[0]}"
    if several == list(range(several[0], several[-1] + 1)):
        return f"GPUs {several[0]} to {several[-1]}"
    return f"GPUs {', '.join(map(str, several))}"
