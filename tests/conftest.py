"""The fixtures that several test modules share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hosts import PrivateHost, private_host


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
