"""What became of the parts of a launch goes in; the same comes out in the order in which a reader needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from compiler.adopt.launch import Change


def gathered(*several: Change) -> tuple[Change, ...]:
    """First what changes the server or where it is found; last, and on one line, what a container has beside."""
    changes = tuple(dict.fromkeys(several))
    first = [each for each in changes if each.first]
    rest = [each for each in changes if not each.first]
    return (*_together(first), *_together(rest))


def _together(changes: Sequence[Change]) -> Iterator[Change]:
    """Those that stand by themselves, then the others as one."""
    yield from (each for each in changes if not each.brief)
    brief = [each for each in changes if each.brief]
    if len(brief) > 1:
        shown = ", ".join(dict.fromkeys(each.brief for each in brief))
        text = f"not carried, since the engine is started on the host itself: {shown}"
        yield evolve(brief[0], text=text)
    else:
        yield from brief
