"""What the host verbs decide at the turns that no larger test passes: one comparison, one state on each side of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from compiler.host.change import Action, decide
from compiler.host.intent import Intent, Step, running_generation
from compiler.host.record import State, write_record
from compiler.host.units import UnitState
from generations import SMALL, Host, Stopping
from test_change import FILES, UNIT, changed


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which nothing was switched to."""
    return Host(tmp_path / "host")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "ExecStart=:/opt/sglang/bin/python",
            "ExecStart=:/usr/bin/python",
            "`ExecStart` changed from `:/opt/sglang/bin/python` to `:/usr/bin/python`",
        ),
        (
            "  --enable-metrics\n",
            "  --enable-metrics ; /bin/true\n",
            "the commands of `ExecStart` changed",
        ),
        (
            "EnvironmentFile=/",
            "EnvironmentFile=-/",
            "`EnvironmentFile` changed from `/var/lib/poolproof/kimi-k2.6/current/kimi-k2.6.env` to `-/",
        ),
        ("--port 30000", '--port 30000 --x "a\\x1bb"', "`--x` is new: `a b`"),
        ("--port 30000", f"--port 30000 --x {'y' * 80}", f"`--x` is new: `{'y' * 80}`"),
        ("--port 30000", f"--port 30000 --x {'y' * 81}", f"`--x` is new: `{'y' * 80}...`"),
        ("--port 30000", '--port 30000 --x "a', "the commands of `ExecStart` changed"),
        ("[Install]", "[Install", "a unit file cannot be read whole"),
    ],
)
def test_why_a_restart_is_needed(old: str, new: str, reason: str) -> None:
    """The reason names what changed, on one line that a terminal can take; of what cannot be read only that."""
    change = changed(old, new)
    assert change.action is Action.RESTART
    assert any(each.startswith(reason) for each in change.reasons), change.reasons


def test_a_damaged_unit_on_one_side() -> None:
    """Whichever of two units cannot be read whole, the service is started again."""
    whole, damaged = FILES, {**FILES, UNIT: FILES[UNIT].replace(b"[Install]", b"[Install")}
    for before, after in ((whole, damaged), (damaged, whole)):
        assert decide(before, after, unit=UNIT).reasons == ("a unit file cannot be read whole",)
    assert decide(damaged, dict(damaged), unit=UNIT).action is Action.NOTHING


RUNNING = UnitState(load_state="loaded", active="active", sub="running", result="success")


@pytest.mark.parametrize(
    ("seen", "remembered", "loaded", "runs"),
    [
        ("a", "a", None, 1),
        ("a", "b", None, None),
        (None, None, None, None),
        ("a", "b", 1, 1),
        ("a", "b", 2, None),
    ],
)
def test_which_generation_a_start_belongs_to(
    host: Host, seen: str | None, remembered: str | None, loaded: int | None, runs: int | None
) -> None:
    """The one that a verb started, by its invocation; else the one that systemd has read, where that is current."""
    host.switch(SMALL)
    record = evolve(host.store.record, started=1, invocation=remembered, loaded=loaded)
    store = evolve(host.store, record=record)
    assert running_generation(store, evolve(RUNNING, invocation=seen)) == runs
    assert running_generation(store, evolve(RUNNING, active="failed", invocation=seen)) is None


def test_a_unit_that_was_put_in_the_place_of_ours(host: Host) -> None:
    """What runs may be somebody's own by now, whatever a switch remembers of it: taking the name again restarts it."""
    host.switch(SMALL)
    host.link.unlink()
    host.link.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    host.live.begin_restart(Stopping())
    assert running_generation(host.store, host.live.show() or RUNNING) == 1
    intent = host.intend(SMALL, replace=True)
    assert isinstance(intent, Intent)
    assert (intent.step, intent.takes_it_down) == (Step.RESTART, True)


@pytest.mark.parametrize(
    ("state", "step"),
    [
        (State.NEW, Step.WAIT),
        (State.STARTING, Step.WAIT),
        (State.GOOD, Step.NOTHING),
        (State.FAILED, Step.NOTHING),
    ],
)
def test_a_start_that_nobody_saw_the_end_of(host: Host, state: State, step: Step) -> None:
    """It is waited for where the same generation is asked for again; another one is held against what runs."""
    host.switch(SMALL)
    write_record(Stopping(), host.places.state, host.store.record.noted(1, state=state))
    intent = host.intend(SMALL)
    assert isinstance(intent, Intent)
    assert intent.step is step
