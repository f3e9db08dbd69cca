"""What is asked of systemd and told to it, on a real one."""

from __future__ import annotations

import pytest

from compiler.host.machine import Machine
from compiler.host.units import Scope, read_state, show, reachable
from hosts import PrivateHost


def test_a_private_host(host: PrivateHost) -> None:
    """x."""
    assert reachable(Scope.SYSTEM) is None
    assert reachable(Scope.USER) is None
    host.install("mine.service", "[Service]\nExecStart=/bin/sleep 9\n")
    host.install("mine.service", "[Service]\nExecStart=/bin/sleep 9\n", user=True)
    for s in Scope:
        state = show("mine", scope=s)
        print(state)
        assert state.exists
    host.systemctl("start", "mine")
    print(host.systemctl("list-units", "--all"))
    print(host.journal("mine"))
    print(host.systemctl("list-dependencies", "sysinit.target"))
    host.reboot()
    assert show("mine", scope=Scope.SYSTEM).exists
