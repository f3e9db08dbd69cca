"""A start as it is followed and told, on a clock that stands still: no systemd, no journal."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from attrs import evolve

from compiler.engines.observing import Phase
from compiler.host import watch as watching
from compiler.host.ending import Outcome, Telling, ending
from compiler.host.follow import JournalLine, read_entry
from compiler.host.units import Scope, UnitState, read_state
from compiler.host.watch import Event, Watched
from test_host_nearest import AFTER, BEFORE, ENDED, LOADING, READY, Clock


QUEUED = UnitState(
    load_state="loaded", active="inactive", sub="dead", result="success", has_job=True
)
OLD = evolve(QUEUED, active="deactivating", sub="stop-sigterm", invocation=BEFORE)
NEXT = evolve(READY, invocation="c" * 32)
Told = Callable[[float], UnitState | None]


def follow(
    monkeypatch: pytest.MonkeyPatch, told: Told, *, before: str | None = BEFORE
) -> tuple[Watched, list[Event]]:
    """Watch a unit whose state at each second a function tells; and what was said of it."""
    clock = Clock()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(watching, "time", clock)
    monkeypatch.setattr(watching, "show", lambda *_, **__: told(clock.now))
    events: list[Event] = []
    watched = watching.watch(
        "x", scope=Scope.SYSTEM, before=before, timeout_s=60, say=events.append
    )
    return watched, events


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        # Queued first, whether it ever ran before or not; the old one ends its requests.
        (lambda now: QUEUED if now < 2 else LOADING if now < 4 else READY, Outcome.READY),
        (lambda now: OLD if now < 2 else READY, Outcome.READY),
        (lambda now: evolve(QUEUED, invocation=BEFORE) if now < 2 else READY, Outcome.READY),
        (lambda _: evolve(QUEUED, has_job=False), Outcome.FAILED),
        (lambda _: evolve(OLD, has_job=False), Outcome.FAILED),
        # systemd tries once more by itself: that is another start, and the first one failed.
        (lambda now: LOADING if now < 2 else NEXT, Outcome.FAILED),
        (lambda now: LOADING if now < 2 else READY, Outcome.READY),
        # Silence counts from the last answer.
        (lambda now: None if now % 25 > 1 else LOADING if now < 50 else READY, Outcome.READY),
        (lambda now: None if now % 40 > 1 else LOADING, Outcome.FAILED),
    ],
)
def test_which_start_is_followed(
    monkeypatch: pytest.MonkeyPatch, told: Told, outcome: Outcome
) -> None:
    """The one that was queued, from its first look to its end, and no other before or after it."""
    assert follow(monkeypatch, told)[0].outcome is outcome


def test_what_is_said_while_it_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thing once, and once a second that time goes by."""
    watched, events = follow(
        monkeypatch, lambda now: OLD if now < 2 else LOADING if now < 4 else READY
    )
    assert watched.elapsed_s == 4
    assert [(each.phase, each.elapsed_s) for each in events if each.is_new] == [
        (None, 0),
        (Phase.STARTING, 2),
    ]
    assert [each.elapsed_s for each in events if not each.is_new] == [1, 2, 3, 4]


def test_a_start_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who names no earlier start follows the one that is there."""
    assert follow(monkeypatch, lambda _: READY, before=None)[0].outcome is Outcome.READY
    assert follow(monkeypatch, lambda _: READY, before=AFTER)[0].outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("active", "runs"),
    [
        ("active", True),
        ("activating", True),
        ("deactivating", True),
        ("reloading", True),
        ("inactive", False),
        ("failed", False),
        ("maintenance", False),
    ],
)
def test_when_a_process_may_be_there(active: str, *, runs: bool) -> None:
    """A unit that goes down still has one."""
    assert evolve(READY, active=active).is_running is runs


def test_what_a_unit_is_to_systemd() -> None:
    """A masked one exists, and one that systemd cannot read too; a job of number 0 is none."""
    for state, exists in (
        ("loaded", True),
        ("masked", True),
        ("bad-setting", True),
        ("not-found", False),
    ):
        assert evolve(READY, load_state=state).exists is exists
    assert evolve(READY, load_state="masked").is_masked
    assert read_state("Job=0\nMainPID=0\nInvocationID=\n") == read_state("")
    assert read_state("Job=1\nMainPID=2\n").has_job
    assert read_state("DropInPaths=/a.conf /b.conf\n").drop_ins == ("/a.conf", "/b.conf")


def by_systemd(text: str) -> JournalLine:
    """A line that systemd writes about the unit."""
    return JournalLine(text=f"x.service: {text}", is_systemd=True)


@pytest.mark.parametrize(
    ("state", "said", "why"),
    [
        (
            evolve(ENDED, exec_main_code=1, exec_main_status=2),
            "Main process exited, code=exited, status=7/X",
            "exit code 2",
        ),
        (evolve(ENDED, result="oom-kill"), "Failed with result 'timeout'.", "memory was full"),
        (evolve(ENDED, result="success"), "Failed with result 'oom-kill'.", "memory was full"),
        (evolve(ENDED, probe_status=0, result="timeout"), "nothing", "start timeout"),
        (evolve(ENDED, probe_status=3, result="resources"), "nothing", "`resources`"),
        (evolve(ENDED, result="", active="failed"), "nothing", "`failed`"),
    ],
)
def test_what_the_journal_adds(state: UnitState, said: str, why: str) -> None:
    """Only what systemd does not tell any more; what it tells comes first."""
    telling = Telling()
    telling.take(by_systemd(said), phase=None)
    assert why in telling.failure(state)[1]


def test_a_start_that_is_over_and_one_that_goes_on() -> None:
    """Systemd's own next try ends this one."""
    waiting = evolve(ENDED, active="activating", sub="auto-restart")
    assert ending(waiting, started=True) is not None
    assert ending(evolve(waiting, sub="start"), started=True) is None


def own(text: str) -> JournalLine:
    """A line that the server or its probe writes."""
    return JournalLine(text=text, is_systemd=False)


def test_the_lines_that_matter() -> None:
    """Errors, else the last lines, but not where the pool was short; of the probe what it found, not how it waited."""
    telling = Telling()
    for text in ("INFO a", "ready: 5 s of 60", "ready: the pool is short", "ready: what to do: x"):
        telling.take(own(text), phase=None)
    assert telling.lines(Outcome.FAILED) == ("INFO a", "ready: the pool is short")
    assert telling.lines(Outcome.SHORT) == ("ready: the pool is short",)
    telling.take(own("RuntimeError: x"), phase=None)
    assert telling.lines(Outcome.FAILED) == ("ready: the pool is short", "RuntimeError: x")


def test_every_secret_of_a_line_is_covered() -> None:
    """However many there are."""
    telling = Telling()
    telling.take(own("Error: sk-abcdefghijklmnop and sk-qrstuvwxyzabcdef, both"), phase=None)
    (line,) = telling.lines(Outcome.FAILED)
    assert line == "Error: *** and ***, both"


@pytest.mark.parametrize(("since_us", "is_told"), [(99, True), (100, True), (101, False)])
def test_entries_of_an_earlier_start(since_us: int, *, is_told: bool) -> None:
    """What is older than the start is not of it, where only the time can tell."""
    entry = json.dumps({"MESSAGE": "a", "__MONOTONIC_TIMESTAMP": "100"}).encode()
    assert bool(list(read_entry(entry, since_us=since_us))) is is_told


@pytest.mark.parametrize("field", ["CODE_FUNC", "UNIT", "USER_UNIT"])
def test_who_wrote_an_entry(field: str) -> None:
    """Systemd's own entries say which unit they are about; a unit's own do not."""
    (line,) = read_entry(json.dumps({"MESSAGE": "a", field: "x"}).encode())
    assert line.is_systemd
    (line,) = read_entry(json.dumps({"MESSAGE": "a", "_SYSTEMD_UNIT": "x"}).encode())
    assert not line.is_systemd
