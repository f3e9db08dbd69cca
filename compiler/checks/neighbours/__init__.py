"""What holds between services: the plans of a whole tree go in, and what they do to each other comes out.

A target's name is a host's. Two profiles that give the same unit on one host are alternatives: one of them runs at a time.
All others on that host are neighbours, and run beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.checks.neighbours import folders, gpus, ports
from compiler.checks.neighbours.hosts import Where, hosts_of
from compiler.diagnostics import Diagnostic
from compiler.plan import Plan


_RULES = (folders.unit_folders, folders.state_folders, gpus.shared_gpus, ports.clashing_ports)


def check_neighbours(plans: Sequence[Plan], where: Where) -> tuple[Diagnostic, ...]:
    """Judge the services of each host together, and the folders of all; `where` gives a profile's origins."""
    found = [each for host in hosts_of(plans) for judge in _RULES for each in judge(host, where)]
    return (*found, *folders.out_folders(plans, where))
