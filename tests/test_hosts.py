"""The private host itself: it sees nothing dear of the outer one, changes nothing of it, and goes without a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hosts
from hosts import CHECKOUT, PrivateHost, give_up, private_host


OUTER = (
    "/",
    "/etc",
    "/usr",
    "/dev",
    "/opt",
    "/srv",
    "/proc/sys/kernel",
    "/sys/kernel",
    str(CHECKOUT),
)
EMPTY = ("/usr/lib/systemd/system", "/usr/lib/tmpfiles.d", "/usr/lib/sysctl.d", "/home")


def test_the_outer_host_cannot_be_written(host: PrivateHost) -> None:
    """As root inside, no file can be made outside of what is its own."""
    for folder in OUTER:
        made = host.run("touch", f"{folder}/poolproof-test", check=False)
        assert made.returncode != 0, folder
    for folder in ("/tmp", "/run", "/var/lib", "/var/log", "/root", str(host.folder)):
        host.run("touch", f"{folder}/poolproof-test")
    assert [
        each for each in ("/tmp", "/run", "/root") if Path(each, "poolproof-test").exists()
    ] == []


def test_the_outer_hosts_things_are_not_seen(host: PrivateHost) -> None:
    """Nothing is in /tmp but what belongs to the test; no unit and no tmpfiles of the distribution are there."""
    top = host.folder.relative_to("/tmp").parts[0] if host.folder.is_relative_to("/tmp") else None
    seen = set(host.run("ls", "-A", "/tmp").stdout.split())
    shown = {
        Path(each).relative_to("/tmp").parts[0]
        for each in (str(CHECKOUT), sys.prefix, sys.base_prefix)
        if Path(each).is_relative_to("/tmp")
    }
    assert seen - shown - {"poolproof-test"} <= {top}
    for folder in EMPTY:
        assert host.run("ls", "-A", folder).stdout == ""
    units = host.systemctl("list-units", "--all", "--plain", "--no-legend", "--type=service")
    assert {line.split()[0] for line in units.strip().split("\n") if " not-found " not in line} == {
        "systemd-journald.service",
        f"user@{hosts.UID}.service",
    }


def test_what_no_namespace_parts_is_out_of_reach(host: PrivateHost) -> None:
    """No disk is there, and what the manager starts can neither set the clock nor make a device."""
    seen = host.run("ls", "/dev").stdout.split()
    expected = {"fd", "full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"}
    assert set(seen) == expected
    tries = "date --set=@1 || mknod /tmp/disk b 7 0 || exit 42"
    host.install("tries.service", f"[Service]\nType=oneshot\nExecStart=/bin/sh -c '{tries}'\n")
    host.systemctl("start", "tries", check=False)
    assert "ExecMainStatus=42" in host.systemctl("show", "--property=ExecMainStatus", "tries")


def test_it_goes_without_a_trace(tmp_path: Path) -> None:
    """Neither a process nor a cgroup is left when the power is off."""
    with private_host(tmp_path) as host:
        host.install("stays.service", "[Service]\nExecStart=/bin/sleep 4711\n")
        host.systemctl("start", "stays")
        pid = host.pid
    assert not Path(f"/proc/{pid}/exe").exists()
    found = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    assert "sleep 4711" not in found.stdout
    assert list(Path("/sys/fs/cgroup").glob(f"**/{host.cgroup}")) == []


def test_a_reboot_keeps_what_is_on_disk(host: PrivateHost) -> None:
    """Units and /var/lib stay; /run does not."""
    host.install("lasting.service", "[Service]\nExecStart=/bin/true\n")
    host.path("/var/lib/lasting").write_text("x")
    host.path("/run/passing").write_text("x")
    host.reboot()
    assert "lasting" in host.systemctl("cat", "lasting")
    assert host.path("/var/lib/lasting").exists()
    assert not host.path("/run/passing").exists()


def test_clearing_leaves_its_own_units(host: PrivateHost) -> None:
    """What a test installed is stopped and gone; the journal and the user's manager go on."""
    for user in (False, True):
        host.install("mine.service", "[Service]\nExecStart=/bin/sleep 99\n", user=user)
        host.systemctl("start", "mine", user=user)
    host.clear()
    for user in (False, True):
        assert "not-found" in host.systemctl("show", "--property=LoadState", "mine", user=user)
    assert host.systemctl("is-active", "systemd-journald").strip() == "active"


@pytest.mark.parametrize(
    ("demanded", "version", "works", "outcome"),
    [
        ("1", 252, True, pytest.fail.Exception),
        ("", 252, True, pytest.skip.Exception),
        ("1", 251, True, pytest.skip.Exception),
        ("1", 252, False, pytest.skip.Exception),
    ],
)
def test_when_a_skip_is_a_failure(
    demanded: str,
    version: int,
    works: bool,  # noqa: FBT001 - a parameter of the case
    outcome: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Continuous integration may not skip where a recent systemd and `unshare` work."""
    monkeypatch.setenv(hosts.DEMANDED, demanded)
    monkeypatch.setattr(hosts, "systemd_version", lambda: version)
    monkeypatch.setattr(hosts, "namespaces_work", lambda: works)
    with pytest.raises(outcome, match="no luck"):
        give_up("no luck")
