"""`switch` as a user runs it, on a real systemd, with a server that loads, serves its pool, or does not; see `test_host_real`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from compiler.host.units import Scope, show
from hosts import PrivateHost
from services import compile_into, server_plan


def poolproof(host: PrivateHost, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb inside."""
    return host.run(sys.executable, "-m", "compiler", *words, check=False)


def switch(host: PrivateHost, unit: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile a server with these flags, and switch to it."""
    out = host.folder / f"out-{unit}"
    profile = compile_into(out, server_plan(unit, *flags, start_s=30))
    return poolproof(host, "switch", profile, "--out", str(out), "--yes")


def current(host: PrivateHost, unit: str) -> int:
    """The number of the generation that is current."""
    told = json.loads(poolproof(host, "generations", "--json").stdout)
    (number,) = (
        each["number"]
        for each in told["generations"]
        if each["unit"] == f"{unit}.service" and each["current"]
    )
    assert isinstance(number, int)
    return number


def running(host: PrivateHost, unit: str) -> list[str]:
    """The words of the server that runs; its unit must be up."""
    state = show(unit, scope=Scope.SYSTEM)
    assert state is not None
    assert state.active == "active"
    return host.run("cat", f"/proc/{state.main_pid}/cmdline").stdout.split("\0")


def invocation(unit: str) -> str | None:
    """Which start of a unit it is that runs."""
    state = show(unit, scope=Scope.SYSTEM)
    return None if state is None else state.invocation


@pytest.fixture(autouse=True)
def _cleared(host: PrivateHost) -> Iterator[None]:
    """No server of one test holds the port for the next."""
    yield
    host.clear()


def test_a_switch_and_another(host: PrivateHost) -> None:
    """A first switch starts the service, the same again changes nothing, and another says what changed and restarts it."""
    first = switch(host, "one", "--pool 2000")
    assert first.returncode == 0, first.stderr
    assert "2000" in running(host, "one")
    before = invocation("one")
    again = switch(host, "one", "--pool 2000")
    assert again.returncode == 0, again.stderr
    assert invocation("one") == before
    assert current(host, "one") == 1
    second = switch(host, "one", "--pool 3000")
    assert second.returncode == 0, second.stderr
    assert "`--pool` changed from `2000` to `3000`" in second.stderr
    assert "3000" in running(host, "one")
    assert current(host, "one") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--pool 999",), "the pool holds 999 tokens, the promise needs 1,000: 1 short"),
        (("--dies 3",), "the server ended with exit code 3 before it was ready"),
    ],
)
def test_a_failing_switch_goes_back(host: PrivateHost, flags: tuple[str, ...], says: str) -> None:
    """A server that dies or has too small a pool is replaced by the last good one, with the lines that say why."""
    unit = "bad" + flags[0].split()[0].strip("-")
    first = switch(host, unit, "--pool 2000")
    assert first.returncode == 0, first.stderr
    failed = switch(host, unit, *flags)
    assert failed.returncode == 1
    assert says in " ".join(failed.stderr.split())
    assert current(host, unit) == 1
    assert "2000" in running(host, unit)


def test_a_first_generation_that_fails_is_left_stopped(host: PrivateHost) -> None:
    """With nothing to go back to, the unit is stopped, and not tried again."""
    failed = switch(host, "never", "--dies 3")
    state = show("never", scope=Scope.SYSTEM)
    assert failed.returncode == 1
    assert state is not None
    assert not state.is_running
