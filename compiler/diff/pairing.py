"""Which services of two sides are one: what a host takes for one, whatever the files of their profiles are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from compiler.diff.snapshot import Place, Snapshot


Key = tuple[str, str]
"""A profile and a target; no target for a profile that was not planned."""

Outcome = Snapshot | tuple[str, ...]
"""A service, or why there is none."""

Pair = tuple[Snapshot | None, Snapshot | None]
"""A service before and after; `None` on the side that has none."""


def paired(before: Mapping[Key, Outcome], after: Mapping[Key, Outcome]) -> Iterator[Pair]:
    """Every service of both sides once, beside the one that it was.

    That is the one of the same place of the same profile; else of the same place, whose next generation a switch makes of
    it; else of the same profile, which is then beside what is installed.
    """
    olds = {key: each for key, each in before.items() if isinstance(each, Snapshot)}
    news = {key: each for key, each in after.items() if isinstance(each, Snapshot)}
    same = [key for key in olds.keys() & news.keys() if olds[key].place == news[key].place]
    yield from ((olds.pop(key), news.pop(key)) for key in same)
    # One whose profile does not compile on the other side is told as that.
    free = [each for key, each in olds.items() if (key[0], "") not in after]
    taking = [each for key, each in news.items() if (key[0], "") not in before]
    for old, new in _in_place(free, taking):
        yield olds.pop((old.profile, old.target)), news.pop((new.profile, new.target))
    moved = list(olds.keys() & news.keys())
    yield from ((olds.pop(key), news.pop(key)) for key in moved)
    yield from ((old, None) for old in olds.values())
    yield from ((None, new) for new in news.values())


def _in_place(
    olds: Sequence[Snapshot], news: Sequence[Snapshot]
) -> Iterator[tuple[Snapshot, Snapshot]]:
    """Those of one place, first those that run the same, then the one that is left on each side."""
    there, here = _by_place(olds), _by_place(news)
    for place in there.keys() & here.keys():
        left, taking = there[place], here[place]
        for old in tuple(left):
            like = [each for each in taking if _runs(each) == _runs(old)]
            if like:
                left.remove(old)
                taking.remove(like[0])
                yield old, like[0]
        if len(left) == len(taking) == 1:
            yield left[0], taking[0]


def _by_place(several: Sequence[Snapshot]) -> Mapping[Place, list[Snapshot]]:
    found: dict[Place, list[Snapshot]] = defaultdict(list)
    for each in several:
        found[each.place].append(each)
    return found


def _runs(snapshot: Snapshot) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """What a start of it runs."""
    return snapshot.command, snapshot.environment
