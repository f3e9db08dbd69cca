"""What holds between services: the plans of a whole tree go in, and what they do to each other comes out.

A target's name is a host's. Two profiles that give the same unit on one host are alternatives: one of them runs at a time.
All others on that host are neighbours, and run beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.checks.neighbours import alternatives, folders, gpus, interpreters, kinds, ports
from compiler.checks.neighbours.hosts import Where, hosts_of
from compiler.diagnostics import Diagnostic
from compiler.plan import Plan


if TYPE_CHECKING:
    from compiler.checks.neighbours.capping import Capped


_RULES = (
    folders.unit_folders,
    folders.state_folders,
    alternatives.replaced_units,
    interpreters.shared_interpreters,
    kinds.gpus_of_two_kinds,
)


def check_neighbours(
    plans: Sequence[Plan], where: Where, *, capped: Capped | None = None
) -> tuple[Diagnostic, ...]:
    """Judge the services of each host together, and the folders of all.

    `where` gives a profile's origins; without `capped` nothing is planned again for what mends a shared GPU.
    """
    found: list[Diagnostic] = []
    for host in hosts_of(plans):
        found += (each for judge in _RULES for each in judge(host, where))
        found += gpus.shared_gpus(host, where, capped)
        found += ports.clashing_ports(host, where)
    return (*found, *folders.out_folders(plans, where))
