"""What holds between services: the plans of a whole tree go in, and what they do to each other comes out.

A target's name is a host's. Two profiles that give the same unit on one host are alternatives: one of them runs at a time.
All others on that host are neighbours, and run beside each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from compiler.checks.neighbours import alternatives, folders, gpus, interpreters, kinds, ports
from compiler.checks.neighbours.hosts import Where, hosts_of
from compiler.checks.neighbours.sharing import left_beside, sharings
from compiler.diagnostics import Diagnostic
from compiler.judged import Judged, Second
from compiler.plan import Plan
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.checks.neighbours.capping import Capped


_RULES = (
    folders.unit_folders,
    folders.state_folders,
    alternatives.replaced_units,
    interpreters.shared_interpreters,
    kinds.gpus_of_two_kinds,
)


@frozen(kw_only=True, eq=False, repr=False)
class Together(Value):
    """What services do to each other.

    Attributes:
        found: in the order of their hosts; each says between which.
        seconds: by profile and host, how a service starts that shares its GPUs.
    """

    found: tuple[Diagnostic, ...]
    seconds: Mapping[tuple[str, str], Second]


def judge_together(
    plans: Sequence[Plan], where: Where, *, capped: Capped | None = None
) -> Together:
    """Judge the services of each host together, and the folders of all.

    `where` gives a profile's origins; without `capped` nothing is planned again for what mends a shared GPU.
    """
    found: list[Diagnostic] = []
    seconds: dict[tuple[str, str], Second] = {}
    for host in hosts_of(plans):
        found += (each for judge in _RULES for each in judge(host, where))
        shared = [(each, left_beside(each)) for each in sharings(host)]
        found += gpus.shared_gpus(shared, host, where, capped)
        found += ports.clashing_ports(host, where)
        for each, left in shared:
            seconds[each.taker.resident.service] = Second(
                others=tuple(sorted(other.resident.name for other in each.others)),
                taken=each.taken,
                left=left,
            )
    return Together(found=(*found, *folders.out_folders(plans, where)), seconds=seconds)


def check_neighbours(
    plans: Sequence[Plan], where: Where, *, capped: Capped | None = None
) -> tuple[Diagnostic, ...]:
    """What `judge_together` finds."""
    return judge_together(plans, where, capped=capped).found


def more_than(known: Sequence[Diagnostic], found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """What is found and was not known, whatever ends it: a free port hangs on who else is there."""
    told = {evolve(each, help=()) for each in known}
    return tuple(each for each in found if evolve(each, help=()) not in told)


def with_neighbours(
    judged: Sequence[Judged], found: Sequence[Diagnostic], seconds: Mapping[tuple[str, str], Second]
) -> list[Judged]:
    """The same services, each with what was found between it and others, in that order."""
    theirs: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in found:
        for service in dict.fromkeys(each.between):
            theirs.setdefault(service, []).append(each)
    return [
        evolve(each, neighbours=tuple(theirs.get(service, ())), second=seconds.get(service))
        if (service := (each.profile_name, each.target_name or "")) in theirs
        else each
        for each in judged
    ]
