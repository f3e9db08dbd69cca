"""What a service's own files say of those beside it: what was found between them, and how it starts as the second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.diagnostics import Diagnostic, listed
from compiler.judged import Judged, Second
from compiler.ranges import said, said_gib
from compiler.value import Value


_MOST_NAMED = 4
"""Others that a sentence names; of more the number is enough, and the finding's own list stands in plan.json."""


@frozen(kw_only=True, eq=False, repr=False)
class Between(Value):
    """A finding between a service and others.

    Attributes:
        target: the host that the service is on.
        others: the profiles of the others.
    """

    found: Diagnostic
    target: str
    others: tuple[str, ...]


def between(several: Sequence[Judged]) -> Iterator[Between]:
    """The findings between a profile's services and others, in the order of its targets."""
    for judged in several:
        for found in judged.neighbours:
            names = dict.fromkeys(name for name, _ in found.between)
            yield Between(
                found=found,
                target=judged.target_name or "",
                others=tuple(each for each in names if each != judged.profile_name),
            )


def unseen_sentences(several: Sequence[Judged]) -> Iterator[str]:
    """The profiles that may be neighbours and could not be looked at: a reviewer must not take silence for harmony."""
    for name in dict.fromkeys(name for each in several for name in each.unseen):
        yield f"`{name}` names the same host and could not be planned: what the two do to each other was not looked at"


def sharers(several: Sequence[Judged]) -> tuple[str, ...]:
    """The profiles that share GPUs with one, on any of its hosts."""
    names = (name for each in several if each.second for name in each.second.others)
    return tuple(sorted(dict.fromkeys(names)))


def second_sentences(several: Sequence[Judged]) -> Iterator[str]:
    """What the service gets on each host where it may start when others hold a part of its GPUs."""
    for each in several:
        if each.second is not None:
            yield f"Started on `{each.target_name}` after {_named(each.second.others)}{_then(each.second)}."


def but_alone(several: Sequence[Judged]) -> str:
    """What a verdict about a service's own memory leaves out; empty where it has its GPUs for itself."""
    others = sharers(several)
    if not others:
        return ""
    shares = "shares" if len(others) == 1 else "share"
    return f"; it is judged by itself, and {_named(others)} {shares} its GPUs"


def _then(second: Second) -> str:
    left, taken = second.left, second.taken
    if left is None or taken is None:
        return ": what it gets is not known, since the memory of one of them is not"
    pool, reserve = left.pool, left.reserve
    return (
        f", which may hold {said_gib(taken)} of each GPU: a pool of {said(pool.tokens, ',.0f')} tokens for "
        f"{pool.required_tokens:,}, and a reserve of {said_gib(reserve.available_gib)} for {said_gib(reserve.needed_gib)} needed"
    )


def _named(names: Sequence[str]) -> str:
    return listed([f"`{each}`" for each in names], most=_MOST_NAMED)
