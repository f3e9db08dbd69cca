"""A start, followed on a real systemd: the server becomes ready, dies, hangs, or has too small a pool."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import evolve

from compiler.engines.observing import Phase
from compiler.host.ending import Telling, ending
from compiler.host.follow import Follower, JournalLine, read_entry
from compiler.host.machine import Machine
from compiler.host.units import Scope, UnitState, begin_restart, reset_failed, show
from compiler.host.watch import Event, Outcome, Watched, watch
from compiler.plan import Plan
from hosts import PrivateHost
from services import install, server_plan


FAILED = UnitState(load_state="loaded", active="failed", sub="failed", result="exit-code")


def follow(plan: Plan, *, before: str | None, timeout_s: float = 30) -> tuple[Watched, list[Event]]:
    """Follow a start of a plan's unit."""
    assert plan.service is not None
    assert plan.target is not None
    events: list[Event] = []
    watched = watch(
        plan.service.unit,
        scope=Scope(plan.target.manager),
        before=before,
        timeout_s=timeout_s,
        say=events.append,
        engine="sglang",
    )
    return watched, events


def start(host: PrivateHost, plan: Plan) -> str | None:
    """Install a plan and queue its start; the invocation from before."""
    assert plan.target is not None
    unit, scope = install(host, plan), Scope(plan.target.manager)
    state = show(unit, scope=scope)
    assert state is not None
    reset_failed(Machine(), unit, scope=scope)
    assert begin_restart(Machine(), unit, scope=scope).fine
    return state.invocation


def started(host: PrivateHost, plan: Plan, *, timeout_s: float = 30) -> tuple[Watched, list[Event]]:
    """Install a plan, start it, and follow that."""
    return follow(plan, before=start(host, plan), timeout_s=timeout_s)


@pytest.mark.parametrize("manager", ["system", "user"])
def test_a_server_becomes_ready(host: PrivateHost, manager: Literal["system", "user"]) -> None:
    """The phases are told in order while it loads, and that it is ready once its probe is content."""
    plan = server_plan("ready", "--pool 2000", "--load 0.2", manager=manager, user=None, start_s=30)
    watched, events = started(host, plan)
    host.systemctl("stop", "ready", user=manager == "user")
    assert (watched.outcome, watched.lines) == (Outcome.READY, ())
    assert [(each.phase, each.text) for each in events if each.is_new] == [
        (Phase.STARTING, ""),
        (Phase.LOADING, "94.00 GiB free"),
        (Phase.LOADING, "1/2 shards"),
        (Phase.LOADING, "2/2 shards"),
        (Phase.POOL, "2,000 tokens"),
        (Phase.SERVING, "ready"),
    ]
    assert events[2].line.endswith(" s  loading: 1/2 shards")


@pytest.mark.slow
def test_the_old_server_is_not_taken_for_the_new_one(host: PrivateHost) -> None:
    """A restart of a running server is followed from its stopping, and the new one's failure is seen."""
    watched, _ = started(host, server_plan("again", "--pool 2000", start_s=30))
    assert watched.outcome is Outcome.READY
    watched, events = started(host, server_plan("again", "--dies 7", start_s=30))
    host.systemctl("stop", "again")
    assert watched.outcome is Outcome.FAILED
    assert Phase.SERVING not in {each.phase for each in events}


def test_a_start_under_way_is_followed(host: PrivateHost) -> None:
    """Who comes late sees the start from its first line."""
    plan = server_plan("late", "--pool 2000", "--load 1", start_s=30)
    start(host, plan)
    time.sleep(0.5)
    watched, events = follow(plan, before=None)
    host.systemctl("stop", "late")
    assert watched.outcome is Outcome.READY
    assert (Phase.LOADING, "94.00 GiB free") in {(each.phase, each.text) for each in events}


def test_a_server_that_dies(host: PrivateHost) -> None:
    """The exit code and the last error are told, though systemd has begun the next try; a secret is not."""
    watched, _ = started(host, server_plan("dies", "--dies 7", start_s=30))
    host.systemctl("stop", "dies")
    assert watched.outcome is Outcome.FAILED
    assert watched.why == "the server ended with exit code 7 before it was ready"
    assert any("RuntimeError: Not enough memory" in each for each in watched.lines)
    assert "sk-abcdefghijklmnop" not in "".join(watched.lines)


def test_a_short_pool(host: PrivateHost) -> None:
    """A pool smaller than promised stops the unit at the first load, and what was said of the pool is told."""
    watched, _ = started(host, server_plan("short", "--pool 999", start_s=30))
    state = show("short", scope=Scope.SYSTEM)
    assert watched.outcome is Outcome.SHORT
    assert watched.lines == (
        "KV Cache is allocated. #tokens: 999, KV size: 1.00 GB",
        "ready: the pool holds 999 tokens, the promise needs 1,000: 1 short",
    )
    assert state is not None
    assert (state.active, state.n_restarts) == ("failed", 0)


@pytest.mark.slow
def test_a_server_that_hangs(host: PrivateHost) -> None:
    """The probe's time bounds the load, though systemd begins another at once."""
    watched, events = started(host, server_plan("hangs", "--hangs", start_s=2))
    host.systemctl("stop", "hangs")
    assert watched.outcome is Outcome.TIMEOUT
    assert 1.9 < watched.elapsed_s < 8
    assert any("not ready after 2 s" in each for each in watched.lines)
    assert any(not each.is_new for each in events)


def test_patience_ends(host: PrivateHost) -> None:
    """Who waits has a time of their own; the unit is left as it is."""
    watched, _ = started(host, server_plan("slow", "--hangs", start_s=30), timeout_s=0.5)
    host.systemctl("stop", "slow")
    assert (watched.outcome, watched.why) == (Outcome.TIMEOUT, "it was not ready after 0.5 s")


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        ("mask", "the unit is masked"),
        ("break", "the unit's load state is `bad-setting`"),
        ("condition", "the unit is `inactive` with `success`"),
    ],
)
def test_a_unit_that_systemd_does_not_start(host: PrivateHost, prepare: str, why: str) -> None:
    """Nothing is waited for when systemd refuses; the reason is told."""
    name = f"never-{prepare}.service"
    texts = {
        "mask": "[Service]\nExecStart=/bin/true\n",
        "break": "[Service]\nExecStart=relative/path\n",
        "condition": "[Unit]\nConditionPathExists=/nowhere\n[Service]\nExecStart=/bin/sleep 9\n",
    }
    host.install(name, texts[prepare])
    if prepare == "mask":
        host.systemctl("mask", "--runtime", name)
        (host.units() / name).unlink()
        host.systemctl("daemon-reload")
    begin_restart(Machine(), name, scope=Scope.SYSTEM)
    watched = watch(name, scope=Scope.SYSTEM, before=None, timeout_s=10, say=lambda _: None)
    assert watched.outcome is Outcome.FAILED
    assert why in watched.why


def test_without_a_journal_the_state_is_followed(
    host: PrivateHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where `journalctl` ends at once, the end of the start is still seen."""
    (tmp_path / "journalctl").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    watched, events = started(host, server_plan("dark", "--pool 2000", start_s=30))
    host.systemctl("stop", "dark")
    assert watched.outcome is Outcome.READY
    assert {each.phase for each in events} == {Phase.STARTING}


@pytest.mark.parametrize("scope", Scope)
def test_no_journalctl_at_all(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower without its program gives no lines, and does not raise."""
    monkeypatch.setenv("PATH", "/nowhere")
    follower = Follower("x", FAILED, scope=scope)
    assert not follower.is_open
    assert list(follower.read(within_s=0)) == []
    follower.close()


def test_an_unknown_unit(host: PrivateHost) -> None:
    """A unit that is not there is told as such."""
    assert host.pid
    watched = watch("nobody", scope=Scope.SYSTEM, before=None, timeout_s=10, say=lambda _: None)
    assert watched.why == "systemd did not start it: it knows no such unit"


def failed(**told: Any) -> UnitState:  # noqa: ANN401 - any attribute of a state
    """A unit that has failed."""
    return evolve(FAILED, **told)


@pytest.mark.parametrize(
    ("state", "outcome", "why"),
    [
        (failed(probe_status=4), Outcome.SHORT, "smaller than promised"),
        (failed(probe_status=5), Outcome.FAILED, "size of its pool is not known"),
        (failed(probe_status=6), Outcome.TIMEOUT, "within the time"),
        (failed(probe_status=1), Outcome.FAILED, "probe ended with exit code 1"),
        (failed(probe_status=203), Outcome.FAILED, "probe ended with exit code 203"),
        (failed(result="timeout"), Outcome.TIMEOUT, "start timeout"),
        (failed(result="oom-kill", exec_main_code=2, exec_main_status=9), Outcome.FAILED, "memory"),
        (failed(exec_main_code=2, exec_main_status=9), Outcome.FAILED, "ended by SIGKILL"),
        (failed(exec_main_code=2, exec_main_status=99), Outcome.FAILED, "ended by signal 99"),
        (failed(probe_status=3, exec_main_code=1, exec_main_status=2), Outcome.FAILED, "code 2"),
        (failed(result="resources"), Outcome.FAILED, "`resources`"),
        (failed(sub="auto-restart", active="activating", probe_status=4), Outcome.SHORT, "smaller"),
    ],
)
def test_how_a_start_failed(state: UnitState, outcome: Outcome, why: str) -> None:
    """The probe's exit code says it first, then systemd's result, then how the main process ended."""
    ended = ending(state, started=True)
    assert ended is not None
    assert ended[0] is outcome
    assert why in ended[1]


@pytest.mark.parametrize("active", ["activating", "deactivating"])
def test_a_start_goes_on(active: str) -> None:
    """While a unit comes up or goes down nothing is decided."""
    assert ending(failed(active=active, sub="start-post"), started=True) is None


@pytest.mark.parametrize(
    ("state", "said", "why"),
    [
        (
            failed(result="signal"),
            "Control process exited, code=exited, status=4/X",
            "smaller than",
        ),
        (failed(result="success"), "Failed with result 'timeout'.", "start timeout"),
        (failed(), "Main process exited, code=exited, status=7/X", "exit code 7"),
        (failed(), "Main process exited, code=killed, status=9/KILL", "SIGKILL"),
        (failed(probe_status=4), "Control process exited, code=exited, status=1/X", "smaller than"),
    ],
)
def test_what_systemd_forgot_is_in_the_journal(state: UnitState, said: str, why: str) -> None:
    """What the state does not show any more, after a reload or in the next start, systemd has written down."""
    telling = Telling()
    telling.take(JournalLine(text=f"x.service: {said}", is_systemd=True), phase=None)
    telling.take(
        JournalLine(text="y: Failed with result 'protocol'.", is_systemd=False), phase=None
    )
    assert why in telling.failure(state)[1]


def test_what_every_rank_says_is_kept_once() -> None:
    """Eight ranks say the same of their pools; the line with the tokens is not crowded out."""
    telling = Telling()
    for text in ("KV Cache is allocated. #tokens: 9", "Memory pool end. avail mem=1.00 GB"):
        for rank in range(8):
            line = JournalLine(text=f"[2026-05-20 10:00:0{rank} TP{rank}] {text}", is_systemd=False)
            telling.take(line, phase=Phase.POOL)
    assert telling.lines(Outcome.SHORT) == (
        "[2026-05-20 10:00:07 TP7] KV Cache is allocated. #tokens: 9",
        "[2026-05-20 10:00:07 TP7] Memory pool end. avail mem=1.00 GB",
    )


def test_few_lines_are_kept() -> None:
    """Of a long log the last errors are shown, each once, and no line longer than a screen."""
    telling = Telling()
    for number in range(1000):
        telling.take(
            JournalLine(text=f"ValueError: {number} " + "x" * 9999, is_systemd=False), phase=None
        )
        telling.take(JournalLine(text="INFO fine", is_systemd=False), phase=None)
    lines = telling.lines(Outcome.FAILED)
    assert [each.split()[1] for each in lines] == [str(number) for number in range(988, 1000)]
    assert max(map(len, lines)) < 600


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (json.dumps({"MESSAGE": "a"}), ["a"]),
        (json.dumps({"MESSAGE": list(b"1/2\r2/2\xff")}), ["1/2", "2/2\ufffd"]),
        (json.dumps({"MESSAGE": None}), []),
        (json.dumps({"MESSAGE": [["a"], "b"]}), []),
        (json.dumps({"MESSAGE": [999]}), []),
        (json.dumps([1]), []),
        ("{", []),
        ("", []),
    ],
)
def test_entries_of_the_journal(entry: str, texts: list[str]) -> None:
    """A message may be text or bytes, and what is no entry is left out."""
    assert [each.text for each in read_entry(entry.encode())] == texts
