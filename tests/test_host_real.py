"""The verbs of the host against a real systemd, with a unit that sleeps in place of a server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkouts import Done
from compiler.tree.manifest import Line, digest, parse_manifest, render_manifest
from generations import LARGE, OUT, SMALL, UNIT
from hosts import UID, PrivateHost, eventually


UNITS = "/etc/systemd/system"
STATE = "/var/lib/poolproof/kimi-k2.6"


class Rig:
    """A private host, a compiled tree on it, and the command run inside."""

    def __init__(self, host: PrivateHost, folder: Path) -> None:
        self.host = host
        self.out = folder / "out"
        shutil.copytree(OUT, self.out)
        secret = folder / "secret.yaml"
        secret.write_text("api-key: x\n")
        secret.chmod(0o600)
        for profile in (SMALL, LARGE):
            plan = self.out / profile / "plan.json"
            text = plan.read_text()
            for old, new in (
                ("/opt/sglang/bin/python", sys.executable),
                ("/srv/models/Kimi-K2.6-DFlash", str(folder)),
                ("/srv/models/Kimi-K2.6", str(folder)),
                ('"user": "sglang"', '"user": null'),
                ("/etc/poolproof/secrets/k26.yaml", str(secret)),
            ):
                text = text.replace(old, new)
            plan.write_text(text)
            self.sleeps(profile)

    def sleeps(
        self, profile: str, *, probe: str = "/bin/true", variable: str | None = None
    ) -> None:
        """Give a profile a unit that sleeps for as long as its name is."""
        folder = self.out / profile / "ct200"
        (folder / "kimi-k2.6.env").write_text(f"OF={variable or profile}\n")
        (folder / UNIT).write_text(
            f"[Unit]\nDescription={profile}\n[Service]\nType=exec\n"
            f"EnvironmentFile={STATE}/current/kimi-k2.6.env\n"
            f"ExecStart=/bin/sleep {len(profile)}000\nExecStartPost={probe}\nTimeoutStopSec=5\n"
            "[Install]\nWantedBy=multi-user.target\n"
        )
        self.sign()

    def plan(self, profile: str, old: str, new: str) -> None:
        """Change something in a plan."""
        file = self.out / profile / "plan.json"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        self.sign()

    def sign(self) -> None:
        """Write MANIFEST as a compile of these files would."""
        manifest = self.out / "MANIFEST"
        lines = [
            Line(
                path=each.path,
                profile=each.profile,
                sha256=digest((self.out / each.path).read_bytes()),
                executable=each.executable,
            )
            for each in parse_manifest(manifest.read_bytes()).lines
        ]
        manifest.write_text(render_manifest(lines))

    def __call__(self, *words: str, code: int = 0, user: int | None = None) -> Done:
        """Run the command inside, and demand its exit code."""
        ended = self.host.run(sys.executable, "-m", "compiler", *words, check=False, user=user)
        done = Done(code=ended.returncode, out=ended.stdout, err=ended.stderr)
        assert done.code == code, done
        return done

    def switch(self, profile: str, *words: str, code: int = 0, user: int | None = None) -> Done:
        """Switch to a profile."""
        return self("switch", str(self.out / profile / "ct200"), *words, code=code, user=user)

    @property
    def status(self) -> Any:  # noqa: ANN401 - what JSON gives
        """What `status --json` says of the unit; it exits 1 while a start is under way."""
        ended = self.host.run(
            sys.executable, "-m", "compiler", "status", UNIT, "--json", check=False
        )
        (unit,) = json.loads(ended.stdout)["units"]
        return unit

    def runs(self, profile: str) -> bool:
        """Whether the process has this profile's argv and this profile's environment."""
        pid = self.host.systemctl("show", "--property=MainPID", "--value", UNIT).strip()
        told = self.host.run("cat", f"/proc/{pid}/cmdline", f"/proc/{pid}/environ", check=False)
        words = told.stdout.split("\0")
        return f"{len(profile)}000" in words and f"OF={profile}" in words


@pytest.fixture
def rig(host: PrivateHost) -> Iterator[Rig]:
    """A host without the unit."""
    folder = host.folder / f"rig-{os.urandom(4).hex()}"
    folder.mkdir()
    yield Rig(host, folder)
    host.clear()
    shutil.rmtree(host.folder / "lib/poolproof", ignore_errors=True)


def test_there_and_back(rig: Rig) -> None:
    """Two switches and a rollback: argv and environment are of one generation each time, though file times go back."""
    assert "start: a load takes" in rig.switch(SMALL).err
    assert rig.runs(SMALL)
    before = rig.host.systemctl("show", "--property=InvocationID", UNIT)
    rig.switch(SMALL)
    assert rig.host.systemctl("show", "--property=InvocationID", UNIT) == before
    rig.switch(LARGE)
    assert rig.runs(LARGE)
    rig("rollback")
    assert rig.runs(SMALL)
    assert (rig.status["current"], rig.status["running"], rig.status["state"]) == (1, 1, "good")


@pytest.mark.slow
def test_a_probe_that_fails(rig: Rig) -> None:
    """The generation before runs again by itself, with the reason and exit 1; the first one is left stopped."""
    rig.sleeps(SMALL, probe="/bin/false")
    done = rig.switch(SMALL, code=1)
    assert "error[load-failed]" in done.err
    assert rig.status["active"] in ("failed", "inactive")
    rig.sleeps(SMALL)
    rig.switch(SMALL)
    rig.sleeps(LARGE, probe="/bin/false")
    done = rig.switch(LARGE, code=1)
    assert "generation 2 is current again, and ready" in " ".join(done.err.split())
    assert rig.runs(SMALL)
    assert rig("rollback", "3", code=1).err.count("error[load-failed]") == 1
    assert rig.status["current"] == 3


@pytest.mark.slow
def test_without_waiting_and_then_waiting(rig: Rig) -> None:
    """What `--no-wait` began the next run of the same switch follows to its end."""
    rig.sleeps(SMALL, probe="/bin/sleep 2")
    assert rig.switch(SMALL, "--no-wait").out.endswith("and starting\n")
    assert rig.status["state"] == "starting"
    assert "and ready" in rig.switch(SMALL).out
    assert (rig.status["state"], rig.status["active"]) == ("good", "active")
    rig.sleeps(LARGE)
    rig.switch(LARGE, "--no-wait")
    eventually(lambda: rig.runs(LARGE))
    assert "and ready" in rig.switch(LARGE).out


@pytest.mark.slow
def test_after_a_reboot(rig: Rig) -> None:
    """The unit is started through `current`, by the link that its own `[Install]` asked for."""
    rig.switch(SMALL)
    rig.switch(LARGE)
    rig.host.reboot()
    eventually(lambda: rig.runs(LARGE))
    eventually(lambda: rig.status["active"] == "active")
    assert rig.status["running"] == 2


@pytest.mark.slow
def test_manual_restarts_and_gc(rig: Rig) -> None:
    """A generation that still runs is not collected, though a newer one is current."""
    rig.switch(SMALL)
    rig.plan(LARGE, '"on_change": "restart"', '"on_change": "manual"')
    assert "takes effect with `systemctl restart" in rig.switch(LARGE).out
    assert rig.runs(SMALL)
    assert "generation 2 is current, and 1 runs" in rig("status", code=1).err
    assert rig("gc", "--keep", "0", "--yes").out == ""
    rig.host.systemctl("restart", UNIT)
    assert rig.runs(LARGE)
    rig.switch(LARGE)
    assert rig("gc", "--keep", "0", "--yes").out == f"deleted {UNIT} 1\n"


@pytest.mark.slow
def test_from_a_unit_made_by_hand_and_back(rig: Rig) -> None:
    """The page about managing a service holds: taken over, retired, and put back as it was."""
    by_hand = "[Service]\nExecStart=/bin/sleep 77\n[Install]\nWantedBy=multi-user.target\n"
    rig.host.install(UNIT, by_hand)
    rig.host.systemctl("enable", "--now", UNIT)
    assert "error[unit-foreign]" in rig.switch(SMALL, code=1).err
    assert f"kept at {UNITS}/{UNIT}.poolproof-1" in rig.switch(SMALL, "--replace-unit").out
    assert rig.runs(SMALL)
    done = rig("retire", UNIT, "--delete")
    assert rig.host.systemctl("is-active", UNIT, check=False) == "inactive\n"
    (line,) = (each for each in done.out.split("\n") if "`mv " in each)
    rig.host.run("sh", "-c", line.split("`")[1])
    rig.host.systemctl("daemon-reload")
    rig.host.systemctl("enable", "--now", UNIT)
    assert rig.host.systemctl("show", "--property=ExecStart", UNIT).count("sleep 77") == 1


def test_masked_and_changed_by_an_operator(rig: Rig) -> None:
    """A mask refuses a switch; a drop-in is named."""
    rig.host.systemctl("mask", UNIT)
    assert "error[unit-masked]" in rig.switch(SMALL, code=1).err
    rig.host.systemctl("unmask", UNIT)
    folder = rig.host.units() / f"{UNIT}.d"
    folder.mkdir()
    (folder / "mine.conf").write_text("[Service]\nNice=5\n")
    assert f"{UNIT}.d/mine.conf" in rig.switch(SMALL).err


@pytest.mark.slow
def test_a_switch_that_is_killed_while_it_waits(rig: Rig) -> None:
    """The load goes on without it; the same command waits for its end and starts nothing again."""
    rig.sleeps(SMALL, probe="/bin/sleep 4")
    number = rig.out.parent / "pid"
    script = 'echo $$ >"$0"; exec "$@"'
    command = [sys.executable, "-m", "compiler", "switch", str(rig.out / SMALL / "ct200")]
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(rig.host.run, "sh", "-c", script, str(number), *command, check=False)
        eventually(lambda: rig.host.path(f"{STATE}/record.json").exists())
        eventually(lambda: rig.status["state"] == "starting")
        assert "error[host-busy]" in rig.switch(SMALL, code=5).err
        rig.host.run("kill", "-KILL", number.read_text().strip())
        assert ended.result().returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    before = rig.host.systemctl("show", "--property=InvocationID", UNIT)
    assert "and ready" in rig.switch(SMALL).out
    assert rig.host.systemctl("show", "--property=InvocationID", UNIT) == before


@pytest.mark.slow
def test_a_unit_of_a_user(rig: Rig) -> None:
    """The same with a user's manager, run by that user: linked in the user's folder, started, gone back, retired."""
    state = "/var/lib/home/.local/state/poolproof/kimi"
    (rig.out.parent / "secret.yaml").chmod(0o644)
    os.chown(rig.out.parent / "secret.yaml", UID, UID)
    (rig.out.parent / "secret.yaml").chmod(0o600)
    for profile, probe in ((SMALL, "/bin/true"), (LARGE, "/bin/false")):
        unit = rig.out / profile / "ct200" / UNIT
        rig.sleeps(profile, probe=probe)
        text = unit.read_text().replace(STATE, state).replace("multi-user.", "default.")
        unit.write_text(text)
        rig.plan(profile, '"manager": "system"', '"manager": "user"')
        rig.plan(profile, f'"state_dir": "{STATE}"', f'"state_dir": "{state}"')
    assert "error[systemd-silent]" in rig.switch(SMALL, code=5).err
    assert "and ready" in rig.switch(SMALL, user=UID).out
    link = rig.host.units(user=True) / "default.target.wants" / UNIT
    assert str(link.readlink()) == f"{state}/current/{UNIT}"
    assert "error[load-failed]" in rig.switch(LARGE, code=1, user=UID).err
    assert "generation 1 of" in rig("status", user=UID).out
    assert rig("retire", UNIT, "--delete", user=UID).code == 0
    assert rig.host.systemctl("is-active", UNIT, user=True, check=False).strip() == "inactive"
