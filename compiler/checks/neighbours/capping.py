"""The caps of pools with which services that share GPUs keep their promises: the least that is enough, planned again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve

from compiler.checks.neighbours.hosts import Host, Resident
from compiler.checks.neighbours.sharing import MOST_SHOWN, Sharing, left_beside, sharings
from compiler.diagnostics import listed
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.plan import Plan


Capped = Callable[[Plan, int], Plan | None]
"""A plan again with its pool held to so many tokens; `None` where a rule would refuse that."""

_Caps = Mapping[str, tuple[Plan, int]]


def caps_that_hold(sharing: Sharing, host: Host, capped: Capped | None) -> str | None:
    """The change, in words: a cap on one of the services, or else on all, at what its promise needs; `None` where that is not enough.

    A pool takes all that its fraction leaves, whatever was promised. Held to the promise it leaves the rest to the others.
    """
    takers = (sharing.taker, *sharing.others)
    if capped is None or len(takers) > MOST_SHOWN:
        return None
    group = tuple(each.resident for each in takers)
    gpus = frozenset[int]().union(*(each.gpus for each in takers))
    near = tuple(each for each in host.residents if gpus.intersection(each.footprint.gpus or ()))
    caps = {each.name: cap for each in group if (cap := _cap(each, capped)) is not None}
    choices = [{name: cap} for name, cap in caps.items()]
    choices += [caps] if len(caps) > 1 else []
    for choice in choices:
        if _hold(choice, group, evolve(host, residents=near)):
            return _said(choice, several=len(group) > 2)  # noqa: PLR2004 - the one, and the other
    return None


def _cap(resident: Resident, capped: Capped) -> tuple[Plan, int] | None:
    """A service held to its promise, and the tokens of it; `None` where that changes nothing, or cannot be."""
    plan = resident.plan
    now, required = plan.profile.memory.max_pool_tokens, plan.required_tokens
    if plan.memory is None or required is None or (now is not None and now <= required):
        return None
    after = capped(plan, required)
    return None if after is None else (after, required)


def _hold(caps: _Caps, group: Sequence[Resident], host: Host) -> bool:
    """Whether each of a group then keeps its promise, alone and beside all that may run beside it."""
    residents = tuple(
        evolve(each, plan=caps[each.name][0]) if each.name in caps else each
        for each in host.residents
    )
    names = {each.name for each in group}
    beside = (
        each
        for each in sharings(evolve(host, residents=residents))
        if each.taker.resident.name in names
    )
    return all(_passes(each) for each in beside)


def _passes(sharing: Sharing) -> bool:
    return all(
        memory is not None and memory_outcome(memory) is Outcome.PASSES
        for memory in (sharing.taker.resident.plan.memory, left_beside(sharing))
    )


def _said(caps: _Caps, *, several: bool) -> str:
    others = "others" if several else "other"
    return f"set {listed(tuple(_settings(caps)))}: planned so, each keeps its promise beside the {others}"


def _settings(caps: _Caps) -> Iterator[str]:
    for name, (_, tokens) in caps.items():
        yield f"`memory.max_pool_tokens = {tokens:_}` in `{name}`"
