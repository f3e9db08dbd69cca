"""What lets services share GPUs and keep their promises: pools held to what was promised, the least that is enough, planned again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from attrs import evolve, frozen

from compiler.bisection import Margins, least
from compiler.checks.neighbours.hosts import Host, Resident
from compiler.checks.neighbours.sharing import (
    MOST_SHOWN,
    Sharing,
    held_of,
    left_beside,
    sharings,
)
from compiler.diagnostics import listed
from compiler.memory.outcome import Outcome, memory_outcome, spare_gib, spare_tokens
from compiler.plan import Plan
from compiler.planner import THOUSANDTHS
from compiler.ranges import said_gib, total
from compiler.value import Value


Capped = Callable[[Plan, int, float], Plan | None]
"""A plan again with its pool held to so many tokens, at a fraction; `None` where a rule would refuse that."""

_FRACTION = "memory.fraction = "
_ROUNDS = (
    3  # a fraction moves what others hold by a few MiB, which may ask one more thousandth of them
)


@frozen(kw_only=True, eq=False, repr=False)
class _Held(Value):
    """A service held to its promise: its plan then, and what is to be set for that, nothing where it is held already."""

    name: str
    plan: Plan
    tokens: int
    settings: tuple[str, ...]

    def at(self, thousandths: int, capped: Capped) -> _Held | None:
        """The same at another fraction."""
        after = capped(self.plan, self.tokens, thousandths / THOUSANDTHS)
        if after is None:
            return None
        caps = (each for each in self.settings if not each.startswith(_FRACTION))
        settings = (*caps, f"{_FRACTION}{thousandths / THOUSANDTHS:g}")
        return evolve(self, plan=after, settings=settings)


@frozen(kw_only=True, eq=False, repr=False)
class Caps(Value):
    """What caps do for services that share GPUs.

    Attributes:
        help: the change, in words; nothing where none is enough.
        why_none: why that is so, where it can be said in figures.
    """

    help: tuple[str, ...] = ()
    why_none: tuple[str, ...] = ()


def caps_for(sharing: Sharing, host: Host, capped: Capped | None) -> Caps:
    """A cap on one of the services, on all, or on all with higher fractions: the least that is enough.

    A pool takes all that its fraction leaves, whatever was promised. Held to the promise it leaves the rest to the others; and
    then a higher fraction, which a server that starts second needs, makes no pool larger.
    """
    takers = (sharing.taker, *sharing.others)
    if capped is None or len(takers) > MOST_SHOWN:
        return Caps()
    gpus = frozenset[int]().union(*(each.gpus for each in takers))
    near = tuple(each for each in host.residents if gpus.intersection(each.footprint.gpus or ()))
    host = evolve(host, residents=near)
    group = sorted((each.resident for each in takers), key=lambda each: each.name)
    all_held = [held for each in group if (held := _held(each, capped)) is not None]
    if len(all_held) < len(group):
        return Caps()
    some = [each for each in all_held if each.settings]
    choices = [*([each] for each in some), *([some] if len(some) > 1 else [])]
    for choice in chain(choices, _raised(all_held, host, capped)):
        if _all_pass(choice, group, host):
            return Caps(help=(_said(choice, several=len(group) > 2),))  # noqa: PLR2004 - the one, and the other
    return Caps(why_none=_too_large(all_held))


def _held(resident: Resident, capped: Capped) -> _Held | None:
    """A service held to its promise; `None` where its memory is not known, or a rule refuses that."""
    plan = resident.plan
    now, required = plan.profile.memory.max_pool_tokens, plan.required_tokens
    if plan.memory is None or required is None:
        return None
    if now is not None and now <= required:
        return _Held(name=resident.name, plan=plan, tokens=now, settings=())
    after = capped(plan, required, plan.memory.fraction)
    settings = (f"memory.max_pool_tokens = {required:_}",)
    if after is None:
        return None
    return _Held(name=resident.name, plan=after, tokens=required, settings=settings)


def _raised(held: Sequence[_Held], host: Host, capped: Capped) -> Iterator[Sequence[_Held]]:
    """All of them, each at the least fraction with which it keeps its promise beside the others."""
    for _ in range(_ROUNDS):
        host = _with(held, host)
        raised = [other for each in held if (other := _raise(each, host, capped)) is not None]
        if len(raised) < len(held):
            return
        held = raised
        yield [each for each in held if each.settings]


def _raise(held: _Held, host: Host, capped: Capped) -> _Held | None:
    def margins(thousandths: int) -> Margins:
        other = held.at(thousandths, capped)
        return (-1.0, -1.0) if other is None else _spare(other, host)

    if min(_spare(held, host)) >= 0:
        return held
    memory = held.plan.memory
    now = THOUSANDTHS if memory is None else round(memory.fraction * THOUSANDTHS)
    found = least(low=now + 1, high=THOUSANDTHS - 1, margins=margins)
    return None if found is None else held.at(found, capped)


def _spare(held: _Held, host: Host) -> Margins:
    """How far both budgets of a service are above its promise beside the others, at worst."""
    left = [left_beside(each) for each in _of((held.name,), _with((held,), host))]
    balances = [each.balance for each in left if each is not None]
    return (
        min((spare_tokens(each, worst=Outcome.PASSES) for each in balances), default=-1.0),
        min((spare_gib(each, worst=Outcome.PASSES) for each in balances), default=-1.0),
    )


def _all_pass(choice: Sequence[_Held], group: Sequence[Resident], host: Host) -> bool:
    """Whether each of a group then keeps its promise, alone and beside all that may run beside it."""
    names = [each.name for each in group]
    return all(
        memory is not None and memory_outcome(memory) is Outcome.PASSES
        for each in _of(names, _with(choice, host))
        for memory in (each.taker.resident.plan.memory, left_beside(each))
    )


def _with(choice: Sequence[_Held], host: Host) -> Host:
    plans = {each.name: each.plan for each in choice}
    residents = (evolve(each, plan=plans.get(each.name, each.plan)) for each in host.residents)
    return evolve(host, residents=tuple(residents))


def _of(names: Sequence[str], host: Host) -> Iterator[Sharing]:
    return (each for each in sharings(host) if each.taker.resident.name in names)


def _said(choice: Sequence[_Held], *, several: bool) -> str:
    changes = [
        f"{' and '.join(f'`{each}`' for each in held.settings)} in `{held.name}`" for held in choice
    ]
    others = "others" if several else "other"
    return f"set {listed(changes)}: planned so, each keeps its promise beside the {others}"


def _too_large(group: Sequence[_Held]) -> tuple[str, ...]:
    """That they do not fit together with pools that hold their promises and no more, with what each then takes."""
    takes = [held_of(each.plan.memory) for each in group if each.plan.memory is not None]
    free = min(
        (each.plan.memory.free_before_load_gib for each in group if each.plan.memory is not None),
        key=lambda each: each.best,
    )
    needed = total(takes)
    if needed.high <= free.low:
        return ()
    result = "may not fit together"
    if needed.best > free.best:
        result = "do not fit together by the best estimate"
    if needed.low > free.high:
        result = "cannot fit together"
    each_takes = [
        f"`{one.name}` {said_gib(takes_gib)}" for one, takes_gib in zip(group, takes, strict=True)
    ]
    told = (
        f"no cap is enough: with pools of their promises alone, {listed(each_takes)} come to {said_gib(needed)} "
        f"of each GPU, where {said_gib(free)} are free: they {result}"
    )
    return (told,)
