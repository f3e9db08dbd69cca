"""`switch`, `verify`, and `measure` as a user runs them: compiled, on a real systemd, with an engine that is a stub.

The verbs beside them, and other managers, are in `test_host_real`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from compiler.engines.observing import Phase
from hosts import PrivateHost
from rigs import KEY, STATE, STOP_S, UNIT, Rig


START_S = 3
SLACK_S = 8.0
"""For what is not the server's: two starts of systemd, and a machine that is busy."""


@pytest.fixture
def rig(host: PrivateHost) -> Iterator[Rig]:
    """A host without the unit."""
    rig = Rig(host)
    yield rig
    rig.remove()


@pytest.mark.slow
def test_a_switch_is_held_to_its_promise(rig: Rig) -> None:
    """The first switch starts the engine and shows each phase; `verify` and `measure` then agree with the plan."""
    tree = rig.compile("one", scenario={"step_s": 0.01})
    done = rig("switch", tree)
    assert f"{UNIT}: generation 1 is current, and ready after " in done.out
    phases = [each for each in Phase if f" s  {each.value}" in done.err]
    # The last words of the engine may come after systemd has told that it is ready.
    assert phases in (list(Phase), list(Phase)[:-1])
    assert rig.runs("one")
    verified = rig("verify", "--unit", UNIT)
    assert "the promise is kept" in verified.out
    assert f"and the journal of {UNIT}" in verified.out
    measured = rig("measure", "--unit", UNIT).out.split("\n")
    for line in (
        'model = "moonshotai/Kimi-K2.6"',
        'draft = "z-lab/Kimi-K2.6-DFlash"',
        "pool_tokens = 101_134",
        "weights_gib = 72.7",
    ):
        assert line in measured
    assert KEY not in rig.host.systemctl("show", UNIT) + "".join(rig.process()[0])
    before = rig.state.invocation
    assert "runs on" in rig("switch", tree).out
    assert (rig.state.invocation, rig.loads()) == (before, 1)


def test_a_switch_and_another(rig: Rig) -> None:
    """Argv and environment are of one generation each time, also after a rollback, when file times go back."""
    rig("switch", rig.compile("one"))
    done = rig("switch", rig.compile("two", concurrency=2, scenario={"pool_tokens": 120_000}))
    assert "because `STUB_SCENARIO` changed from" in done.err
    assert rig.runs("two")
    rig("rollback")
    assert rig.runs("one")
    assert (rig.status["current"], rig.status["running"], rig.status["state"]) == (1, 1, "good")


def test_a_short_pool_costs_one_load(rig: Rig) -> None:
    """The engine is ended at its first load, the generation before comes back by itself, and the figures are told."""
    rig("switch", rig.compile("one"))
    done = rig("switch", rig.compile("short", scenario={"pool_tokens": 90_000}), code=1)
    told = " ".join(done.err.replace("= note:", "").split())
    assert "error[pool-short]: generation 2" in told
    assert "#tokens: 90000" in told
    assert "the pool holds 90,000 tokens, the promise needs 98,319: 8,319 short" in told
    assert "generation 1 is current again, and ready" in told
    assert rig.runs("one")
    assert rig.loads() == 3


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ({"faults": ["die"], "exit_code": 7}, "the server ended with exit code 7 before it was"),
        pytest.param(
            {"faults": ["hang"]},
            "the server was not ready within the time its probe has",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"faults": ["hang", "ignore-sigterm"]},
            "the server was not ready within the time its probe has",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["dies", "hangs", "hangs-deaf"],
)
def test_a_load_that_fails(rig: Rig, scenario: Mapping[str, Any], says: str) -> None:
    """It is tried once, within its start timeout; the generation before runs again, and the last lines are shown."""
    rig("switch", rig.compile("one"))
    tree = rig.compile("bad", scenario=scenario, start_s=START_S)
    began = time.monotonic()
    told = " ".join(rig("switch", tree, code=1).err.replace("= note:", "").split())
    assert time.monotonic() - began < START_S + STOP_S + SLACK_S
    assert says in told
    assert "generation 1 is current again, and ready" in told
    assert rig.runs("one")
    assert rig.loads() == 3


@pytest.mark.slow
def test_a_first_generation_that_fails_is_left_stopped(rig: Rig) -> None:
    """With nothing to go back to the unit is stopped, and not tried again."""
    done = rig("switch", rig.compile("bad", scenario={"faults": ["die"]}), code=1)
    assert "no earlier generation is known to be good" in " ".join(done.err.split())
    time.sleep(2)  # its pause before a restart is one second
    assert (rig.state.is_running, rig.loads()) == (False, 1)


@pytest.mark.slow
def test_a_failure_that_is_kept(rig: Rig) -> None:
    """`--no-rollback` leaves what failed as it is, for somebody to look at."""
    rig("switch", rig.compile("one"))
    tree = rig.compile("short", scenario={"pool_tokens": 90_000})
    assert "it is left as it is" in rig("switch", tree, "--no-rollback", code=1).err
    assert (rig.status["current"], rig.state.is_running) == (2, False)


@pytest.mark.slow
def test_a_server_that_is_late(rig: Rig) -> None:
    """It listens and says that it is not ready; it is waited for."""
    done = rig("switch", rig.compile("late", scenario={"faults": ["late"], "late_s": 3.0}))
    assert "and ready after" in done.out
    assert "waiting for the model" in "".join(rig.journal())


@pytest.mark.slow
def test_a_server_that_will_not_stop(rig: Rig) -> None:
    """One that ignores SIGTERM is killed when its time to stop is over, and the next one starts."""
    rig("switch", rig.compile("deaf", scenario={"faults": ["ignore-sigterm"]}))
    began = time.monotonic()
    done = rig("switch", rig.compile("one"))
    assert time.monotonic() - began >= STOP_S
    assert "stopping: the old server may end its requests" in done.err
    assert rig.runs("one")


@pytest.mark.slow
def test_a_promise_that_grows(rig: Rig) -> None:
    """Where nothing else changes the server runs on, if it keeps the greater promise; else nothing is touched."""
    scenario = {"pool_tokens": 80_000}
    rig("switch", rig.compile("one", concurrency=1, scenario=scenario))
    (rig.folder / "two.json").write_text((rig.folder / "one.json").read_text())
    grown = rig.folder / "profiles/one.toml"
    grown.write_text(grown.read_text().replace("concurrency = 1", "concurrency = 2"))
    rig.command("compile", "one")
    before = rig.state.invocation
    done = rig("switch", str(rig.folder / "out/one/here"))
    assert "pool 65,546, and what runs has 80,000" in " ".join(done.err.split())
    grown.write_text(grown.read_text().replace("concurrency = 2", "concurrency = 3"))
    rig.command("compile", "one")
    done = rig("switch", str(rig.folder / "out/one/here"), code=1)
    assert "error[promise-broken]" in done.err
    assert (rig.state.invocation, rig.status["current"], rig.loads()) == (before, 2, 1)


@pytest.mark.slow
def test_a_broken_promise_is_found_later(rig: Rig) -> None:
    """A server that was started with something else than the plan by an operator's drop-in is found by `verify`."""
    rig("switch", rig.compile("one"))
    rig.compile("other", scenario={"pool_tokens": 70_000})
    folder = rig.host.units() / f"{UNIT}.d"
    folder.mkdir()
    drop_in = f"[Service]\nExecStartPost=\nEnvironmentFile=\nEnvironment=STUB_SCENARIO={rig.folder}/other.json\n"
    (folder / "mine.conf").write_text(drop_in)
    rig.host.systemctl("daemon-reload")
    rig.host.systemctl("restart", UNIT)
    time.sleep(1.5)  # without its probe it is started before it listens
    told = " ".join(rig("verify", "--unit", UNIT, code=1).err.split())
    assert "pool: 98,319 tokens promised, 70,000 there" in told
    assert "warning[unit-drop-in]" in rig("status").err
    assert STATE in rig.host.systemctl("cat", UNIT)


SECOND_NODE = """
[flags]
nnodes = 2
node-rank = 1
dist-init-addr = "10.0.0.2:5000"
"""


@pytest.mark.slow
def test_a_second_node_of_a_server(rig: Rig) -> None:
    """It is ready when it is healthy, though it tells no pool; `verify` leaves the promise to node 0, `status` is as of any."""
    scenario = {"step_s": 0.01, "pool_tokens": 1000}
    done = rig("switch", rig.compile("worker", scenario=scenario, concurrency=1, more=SECOND_NODE))
    assert f"{UNIT}: generation 1 is current, and ready after " in done.out
    assert rig.runs("worker")
    assert "its pool is not checked" in "".join(rig.journal())
    verified = rig("verify", "--unit", UNIT)
    assert "the promise is kept" not in verified.out
    assert "verify the promise on the node that tells it" in verified.out
    assert rig.status["active"] == "active"
    before = rig.state.invocation
    grown = rig.compile("worker", scenario=scenario, concurrency=2, more=SECOND_NODE)
    assert "runs on" in rig("switch", grown).out
    assert (rig.state.invocation, rig.loads()) == (before, 1)
