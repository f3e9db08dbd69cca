"""What is asked of systemd and told to it, and what our units do on a real one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import evolve

from compiler.host.machine import Finished, Machine
from compiler.host.units import (
    Scope,
    UnitState,
    begin_restart,
    reachable,
    read_state,
    reload,
    reset_failed,
    service_name,
    show,
    stop,
)
from compiler.plan import Option
from hosts import OTHER_UID, UID, PrivateHost, eventually
from nasty import draw
from services import install, server_plan


def start(machine: Machine, unit: str, *, scope: Scope, timeout_s: float) -> Finished:
    """Have a manager start a unit, and wait until its probe has ended."""
    command = ("systemctl", scope.option, "--no-ask-password", "start", service_name(unit))
    return machine.run(command, timeout_s=timeout_s)


def seen(unit: str, *, scope: Scope = Scope.SYSTEM) -> UnitState:
    """A unit's state."""
    state = show(unit, scope=scope)
    assert state is not None
    return state


def active(unit: str, *, scope: Scope = Scope.SYSTEM) -> str:
    """Whether it runs."""
    return seen(unit, scope=scope).active


@pytest.mark.parametrize("scope", Scope)
def test_a_unit_is_started_and_stopped(host: PrivateHost, scope: Scope) -> None:
    """Each manager does what it is told, and a restart is another invocation."""
    machine, user = Machine(), scope is Scope.USER
    (host.units(user=user) / "sleeper.service").write_text("[Service]\nExecStart=/bin/sleep 99\n")
    assert reload(machine, scope=scope).fine
    assert not seen("sleeper", scope=scope).is_running
    assert seen("sleeper", scope=scope).invocation is None
    assert start(machine, "sleeper", scope=scope, timeout_s=10).fine
    first = seen("sleeper.service", scope=scope)
    assert (first.active, first.sub, first.load_state) == ("active", "running", "loaded")
    assert begin_restart(machine, "sleeper", scope=scope).fine
    eventually(lambda: seen("sleeper", scope=scope).invocation != first.invocation)
    second = seen("sleeper", scope=scope)
    assert second.main_pid not in (None, first.main_pid)
    assert second.invocation not in (None, first.invocation)
    assert second.started_us > first.started_us > 0
    assert begin_restart(machine, "sleeper", scope=scope).fine
    eventually(lambda: seen("sleeper", scope=scope).invocation != second.invocation)
    assert stop(machine, "sleeper", scope=scope, timeout_s=10).fine
    assert active("sleeper", scope=scope) == "inactive"


def test_a_wait_has_an_end(host: PrivateHost) -> None:
    """A start that takes too long is not waited for; systemd goes on with it."""
    host.install("long.service", "[Service]\nType=oneshot\nExecStart=/bin/sleep 99\n")
    waited = start(Machine(), "long", scope=Scope.SYSTEM, timeout_s=0.3)
    assert waited.code is None
    assert seen("long").has_job
    host.systemctl("stop", "long")


def test_a_unit_that_is_not_there(host: PrivateHost) -> None:
    """An unknown unit has a state, and starting it fails with systemd's words."""
    assert host.pid
    assert not seen("nobody").exists
    started = start(Machine(), "nobody", scope=Scope.SYSTEM, timeout_s=10)
    assert not started.fine
    assert "not found" in started.stderr


def test_a_masked_unit(host: PrivateHost) -> None:
    """An operator's mask is seen, and no start gets past it."""
    host.systemctl("mask", "--runtime", "forbidden.service")
    assert seen("forbidden").is_masked
    started = start(Machine(), "forbidden", scope=Scope.SYSTEM, timeout_s=10)
    assert "masked" in started.stderr


def test_a_drop_in(host: PrivateHost) -> None:
    """An operator's drop-in is named."""
    (host.units() / "changed.service.d").mkdir()
    (host.units() / "changed.service.d/mine.conf").write_text("[Service]\nNice=5\n")
    host.install("changed.service", "[Service]\nExecStart=/bin/true\n")
    assert seen("changed").drop_ins == ("/etc/systemd/system/changed.service.d/mine.conf",)


def test_a_manager_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without systemd there is a reason and no state; nothing raises."""
    refusing = tmp_path / "systemctl"
    refusing.write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert reachable(Scope.USER) == "Failed to connect to bus"
    assert show("x", scope=Scope.USER) is None
    refusing.unlink()
    assert reachable(Scope.SYSTEM) == "`systemctl` is not installed"


def test_managers_that_answer(host: PrivateHost) -> None:
    """Nothing is wrong with those of the private host."""
    assert host.pid
    assert [reachable(scope) for scope in Scope] == [None, None]


def test_the_words_of_a_probe_do_not_pass_for_its_end() -> None:
    """Only the end of `ExecStartPost=` tells how the probe ended."""
    words = "argv[]=/p --x ; code=exited ; status=4 }"
    told = "ExecStartPost={ path=/p ; %s ; pid=7 ; code=%s }\n"
    assert read_state(told % (words, "exited ; status=5")).probe_status == 5
    assert read_state(told % (words, "(null) ; status=0/0")).probe_status is None
    assert read_state(told % (words, "killed ; status=9/KILL")).probe_status is None
    assert read_state("") == UnitState(load_state="", active="", sub="", result="")


def test_a_crash_loop_ends(host: PrivateHost) -> None:
    """A server that always dies is started as often as the target allows, and no more, by the limit we computed."""
    plan = server_plan("loop", "--dies 1", restarts=2)
    start(Machine(), install(host, plan), scope=Scope.SYSTEM, timeout_s=30)
    eventually(lambda: active("loop") == "failed", within_s=30)
    assert seen("loop").n_restarts == 2
    loads = [each for each in host.journal("loop") if each.startswith("Load weight begin")]
    assert len(loads) == 2
    again = start(Machine(), "loop", scope=Scope.SYSTEM, timeout_s=10)
    assert not again.fine
    assert "loop.service: Start request repeated too quickly." in host.journal("loop")
    assert reset_failed(Machine(), "loop", scope=Scope.SYSTEM).fine
    assert begin_restart(Machine(), "loop", scope=Scope.SYSTEM).fine
    eventually(lambda: seen("loop").n_restarts > 0, within_s=10)
    host.systemctl("stop", "loop")


def test_the_start_timeout_is_a_net(host: PrivateHost) -> None:
    """Where the probe itself hangs, `TimeoutStartSec=` ends the start."""
    plan = server_plan("net", "--hangs", start_s=60)
    unit = install(host, plan)
    file = host.folder / "lib/poolproof/net/current" / unit
    text = file.read_text("utf-8")
    file.write_text(re.sub("TimeoutStartSec=.*", "TimeoutStartSec=1", text), "utf-8")
    (file.parent / "ready.py").write_text("import time; time.sleep(99)", "utf-8")
    host.systemctl("daemon-reload")
    assert not start(Machine(), unit, scope=Scope.SYSTEM, timeout_s=30).fine
    eventually(lambda: seen("net").n_restarts > 0)
    assert "net.service: Failed with result 'timeout'." in host.journal("net")
    host.systemctl("stop", "net")


def test_a_unit_comes_back_after_a_reboot(host: PrivateHost) -> None:
    """A unit linked through `current`, and wanted by a link of our own, starts at boot: the generation that is current."""
    unit = install(host, server_plan("boots", "--pool 1111"))
    wants = host.units() / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / unit).symlink_to(f"/var/lib/poolproof/boots/current/{unit}")
    install(host, server_plan("boots", "--pool 2222"))
    host.reboot()
    eventually(lambda: active("boots") == "active", within_s=20)
    pid = seen("boots").main_pid
    words = host.run("cat", f"/proc/{pid}/cmdline").stdout.split("\0")
    assert "2222" in words
    assert "1111" not in words
    host.systemctl("stop", "boots")
    (wants / unit).unlink()


def test_a_secret_is_for_the_service_only(host: PrivateHost) -> None:
    """The service's user reads the secret file, another does not, and no argv or environment holds the secret."""
    secret = host.path("/var/lib/secret.yaml")
    secret.write_text("api-key: sesame-opens\n")
    secret.chmod(0o600)
    host.run("chown", f"{UID}:{UID}", "/var/lib/secret.yaml")
    unit = install(host, server_plan("keeps", "--pool 2000", "--config /var/lib/secret.yaml"))
    assert start(Machine(), unit, scope=Scope.SYSTEM, timeout_s=20).fine
    assert host.run("cat", "/var/lib/secret.yaml", user=UID).stdout.startswith("api-key")
    refused = host.run("cat", "/var/lib/secret.yaml", user=OTHER_UID, check=False)
    assert "Permission denied" in refused.stderr
    pid = seen("keeps").main_pid
    for file in ("cmdline", "environ"):
        assert "sesame-opens" not in host.run("cat", f"/proc/{pid}/{file}").stdout
    peeking = host.run("cat", f"/proc/{pid}/environ", user=OTHER_UID, check=False)
    assert "Permission denied" in peeking.stderr
    host.systemctl("stop", "keeps")


def test_the_process_gets_what_the_plan_says(host: PrivateHost) -> None:
    """A thousand nasty values reach the server unchanged, half as words and half as variables."""
    texts = [text for text in draw(1100, seed=11) if not text.startswith("-")][:1000]
    assert len(texts) == 1000
    flags = {"--dump": "/run/dump/told.json", "--pool": "2000"}
    flags |= {f"--t{number}": text for number, text in enumerate(texts[:500])}
    plan = evolve(
        server_plan("nasty", environment={f"T_{n}": text for n, text in enumerate(texts[500:])}),
        options=tuple(
            Option(flag=flag, values=(text,), setting="flags.x") for flag, text in flags.items()
        ),
    )
    host.run("install", "-d", "-o", str(UID), "/run/dump")
    assert start(Machine(), install(host, plan), scope=Scope.SYSTEM, timeout_s=30).fine
    argv, environment = json.loads(host.path("/run/dump/told.json").read_text("utf-8"))
    assert argv == list(plan.argv[1:])
    assert {name: text for name, text in environment.items() if name.startswith("T_")} == {
        each.name: each.value for each in plan.environment
    }
    host.systemctl("stop", "nasty")
