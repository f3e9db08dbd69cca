"""The fixtures that several test modules share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from hosts import PrivateHost, private_host


# A run that was sent to the background ignores interrupts, and so would what it starts; some tests send them one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def module_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateHost]:
    """One private host for all tests of a module; use `host`."""
    with private_host(tmp_path_factory.mktemp("host")) as booted:
        yield booted


@pytest.fixture
def host(module_host: PrivateHost, monkeypatch: pytest.MonkeyPatch) -> PrivateHost:
    """The private host of this module, asked by the `systemctl` and `journalctl` on `PATH`; see `hosts.py`."""
    monkeypatch.setenv("PATH", f"{module_host.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return module_host
