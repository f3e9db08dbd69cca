"""The fixtures that several test modules share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from checkouts import Checkout, checkout
from compiler.catalog import Catalog, FolderReader, open_catalog
from examples import THOROUGH
from hosts import PrivateHost, private_host


SHARED_BY_CASES = Path(__file__).parent / "rules" / "shared"

# A run that was sent to the background ignores interrupts, and so would what it starts; some tests send them one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As each run of the command in this process does; so that no test depends on whether one ran before.
gc.set_threshold(100_000, 50, 50)


def pytest_configure(config: pytest.Config) -> None:
    """Where `-m` asks for more than the quick tests, each property is tried on all its examples; see `examples.py`."""
    if config.getoption("markexpr") != "not slow":
        settings.load_profile(THOROUGH)


def pytest_collection_finish() -> None:
    """Tell the collector of garbage that what is there now stays: else it looks at thousands of tests again and again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: while a test waits, for a server or a manager, another works."""
    # macOS does not say which processors a process may use.
    allowed = getattr(os, "sched_getaffinity", None)
    return (os.cpu_count() or 1 if allowed is None else len(allowed(0))) + 1


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with what the rule cases share."""
    folder = tmp_path_factory.mktemp("tree") / "profiles"
    shutil.copytree(SHARED_BY_CASES, folder)
    return folder


@pytest.fixture(scope="module")
def catalog(profiles: Path) -> Catalog:
    """What is known in that tree."""
    return open_catalog(FolderReader(profiles))


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """A copy of this repository's tree, never compiled; some modules have one of their own."""
    return checkout(tmp_path / "tree")


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
