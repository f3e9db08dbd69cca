"""What a rollback asks the host before it goes back: what ran there once ran with what the host had then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from compiler.host.finding import service_in
from compiler.host.intent import Intent
from compiler.host.rollback import intend_rollback
from generations import LARGE, OUT, SMALL, Host
from test_host_switch import rewritten
from test_preflight import FakeProbe


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host with two generations, the first of which is for a public 0.5.10 at the same path."""
    out = tmp_path / "out"
    shutil.copytree(OUT, out)
    plan = json.loads((out / SMALL / "plan.json").read_text("utf-8"))
    plan["engine"] |= {"version": "0.5.10", "build": None}
    rewritten(out, f"{SMALL}/plan.json", json.dumps(plan).encode())
    made = Host(tmp_path / "host")
    made.switch(SMALL, out=out)
    made.switch(LARGE)
    return made


def back(host: Host, *, checks: bool = True) -> Intent:
    """A rollback to the first generation that is only worked out."""
    one = host.store.generations[1]
    service = service_in(one)
    assert service is not None
    return intend_rollback(host.store, one, service, live=host.manager, checks=checks)


def test_a_release_that_was_replaced_refuses_the_way_back(host: Host) -> None:
    """`host-release` as in a switch, with the way to go back all the same; where the release is there nothing is said."""
    host.live.probe = FakeProbe(release="0.5.10")
    assert (back(host).findings, back(host).skipped) == ((), ())
    host.live.probe = FakeProbe(release="0.5.11")
    intent = back(host)
    (found,) = intent.findings
    assert (found.code, intent.refused) == ("host-release", True)
    assert found.help[-1] == "to go back all the same: `poolproof rollback --unchecked`"
    host.live.probe = FakeProbe(release="0.5.10.post1")
    (found,) = back(host).findings
    assert (found.is_error, any("--unchecked" in each for each in found.help)) == (False, False)


def test_everything_that_a_switch_asks_is_asked(host: Host) -> None:
    """Another of the checks: the shared memory of the host."""
    host.live.probe = FakeProbe(release="0.5.10", shared=1)
    assert [each.code for each in back(host).findings] == ["host-shared-memory"]


def test_a_way_back_may_be_taken_unchecked(host: Host) -> None:
    """Nothing is asked then, and that is said."""
    host.live.probe = FakeProbe(release="0.5.11")
    intent = back(host, checks=False)
    assert (intent.findings, intent.skipped) == ((), ("the checks of the host: as asked",))


def test_a_plan_that_says_too_little_does_not_bar_the_way(tmp_path: Path) -> None:
    """An older Poolproof wrote less: its generation comes back, and what was not checked is said."""
    out = tmp_path / "older"
    shutil.copytree(OUT, out)
    plan = json.loads((out / SMALL / "plan.json").read_text("utf-8"))
    del plan["gpus"]
    rewritten(out, f"{SMALL}/plan.json", json.dumps(plan).encode())
    older = Host(tmp_path / "older-host")
    older.switch(SMALL, out=out)
    older.switch(LARGE)
    older.live.probe = FakeProbe(release="0.5.11")
    intent = back(older)
    assert intent.findings == ()
    assert intent.skipped == (
        "the checks of the host: of its `plan.json`: it does not say `gpus`: an older Poolproof wrote it",
    )
