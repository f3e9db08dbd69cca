"""The verbs around `switch` on a real systemd: what they leave, after a reboot, a kill, and an operator; a user's manager."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hosts import UID, PrivateHost, eventually
from rigs import HOME_STATE, OF_A_USER, STATE, UNIT, Rig


UNITS = "/etc/systemd/system"
SLOWLY = {"step_s": 0.03}
"""A load of some seconds."""


@pytest.fixture
def rig(host: PrivateHost) -> Iterator[Rig]:
    """A host without the unit."""
    rig = Rig(host)
    yield rig
    rig.remove()


@pytest.mark.slow
def test_without_waiting_and_then_waiting(rig: Rig) -> None:
    """What `--no-wait` began the next run of the same switch follows to its end."""
    tree = rig.compile("one", scenario=SLOWLY)
    assert rig("switch", tree, "--no-wait").out.endswith("and starting\n")
    assert rig.status["state"] == "starting"
    assert "and ready" in rig("switch", tree).out
    assert (rig.status["state"], rig.status["active"], rig.loads()) == ("good", "active", 1)


@pytest.mark.slow
def test_after_a_reboot(rig: Rig) -> None:
    """The unit is started through `current`, by the link that its own `[Install]` asked for."""
    rig("switch", rig.compile("one"))
    rig("switch", rig.compile("two", concurrency=2, scenario={}))
    rig.host.reboot()
    eventually(lambda: rig.status["active"] == "active", within_s=20)
    assert rig.runs("two")
    assert rig.status["running"] == 2


@pytest.mark.slow
def test_manual_restarts_and_gc(rig: Rig) -> None:
    """A generation that still runs is not collected, though a newer one is current."""
    rig("switch", rig.compile("one"))
    two = rig.compile("two", scenario={}, more='on_change = "manual"')
    assert "takes effect with `systemctl restart" in rig("switch", two).out
    assert rig.runs("one")
    assert "generation 2 is current, and 1 runs" in rig("status", code=1).err
    assert rig("gc", "--keep", "0", "--yes").out == ""
    rig.host.systemctl("restart", UNIT)
    assert rig.runs("two")
    rig("switch", two)
    assert rig("gc", "--keep", "0", "--yes").out == f"deleted {UNIT} 1\n"


@pytest.mark.slow
def test_from_a_unit_made_by_hand_and_back(rig: Rig) -> None:
    """The page about managing a service holds: taken over, retired, and put back as it was."""
    by_hand = "[Service]\nExecStart=/bin/sleep 77\n[Install]\nWantedBy=multi-user.target\n"
    rig.host.install(UNIT, by_hand)
    rig.host.systemctl("enable", "--now", UNIT)
    tree = rig.compile("one")
    assert "error[unit-foreign]" in rig("switch", tree, code=1).err
    assert f"kept at {UNITS}/{UNIT}.poolproof-1" in rig("switch", tree, "--replace-unit").out
    assert rig.runs("one")
    done = rig("retire", UNIT)
    assert rig.host.systemctl("is-active", UNIT, check=False) == "inactive\n"
    (line,) = (each for each in done.out.split("\n") if "`mv " in each)
    rig.host.run("sh", "-c", line.split("`")[1])
    rig.host.systemctl("daemon-reload")
    rig.host.systemctl("enable", "--now", UNIT)
    assert rig.host.systemctl("show", "--property=ExecStart", UNIT).count("sleep 77") == 1
    rig("retire", STATE, "--delete")
    assert rig.host.systemctl("is-active", UNIT) == "active\n"
    assert not rig.host.path(STATE).exists()


def test_masked_and_changed_by_an_operator(rig: Rig) -> None:
    """A mask refuses a switch; a drop-in is named."""
    tree = rig.compile("one")
    rig.host.systemctl("mask", UNIT)
    assert "error[unit-masked]" in rig("switch", tree, code=1).err
    rig.host.systemctl("unmask", UNIT)
    folder = rig.host.units() / f"{UNIT}.d"
    folder.mkdir()
    (folder / "mine.conf").write_text("[Service]\nNice=5\n")
    assert f"{UNIT}.d/mine.conf" in rig("switch", tree).err


@pytest.mark.slow
def test_a_switch_that_is_killed_while_it_waits(rig: Rig) -> None:
    """The load goes on without it; the same command waits for its end and starts nothing again."""
    tree = rig.compile("one", scenario=SLOWLY)
    number = rig.folder / "pid"
    script = 'echo $$ >"$0"; exec "$@"'
    command = [sys.executable, "-m", "compiler", "switch", tree]
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(rig.host.run, "sh", "-c", script, str(number), *command, check=False)
        eventually(lambda: rig.host.path(f"{STATE}/record.json").exists())
        eventually(lambda: rig.status["state"] == "starting")
        assert "error[host-busy]" in rig("switch", tree, code=5).err
        rig.host.run("kill", "-KILL", number.read_text().strip())
        assert ended.result().returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    before = rig.state.invocation
    assert "and ready" in rig("switch", tree).out
    assert (rig.state.invocation, rig.loads()) == (before, 1)


@pytest.mark.slow
def test_a_unit_of_a_user(rig: Rig) -> None:
    """The same with a user's manager, run by that user: linked in the user's folder, started, gone back, retired."""
    tree = rig.compile("one", more=OF_A_USER)
    assert "error[systemd-silent]" in rig("switch", tree, code=5).err
    assert "and ready" in rig("switch", tree, user=UID).out
    link = rig.host.units(user=True) / "default.target.wants" / UNIT
    assert str(link.readlink()) == f"{HOME_STATE}/current/{UNIT}"
    assert "the promise is kept" in rig("verify", "--unit", UNIT, "--user", user=UID).out
    short = rig.compile("short", scenario={"pool_tokens": 90_000}, more=OF_A_USER)
    assert "error[pool-short]" in rig("switch", short, code=1, user=UID).err
    assert "generation 1 of" in rig("status", user=UID).out
    assert rig("retire", UNIT, "--delete", user=UID).code == 0
    assert rig.host.systemctl("is-active", UNIT, user=True, check=False).strip() == "inactive"
