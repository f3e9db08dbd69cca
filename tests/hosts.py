r"""A private host for tests: a real systemd as PID 1 of its own namespaces, with a journal and a user's manager.

Use the fixture `host` (of `conftest.py`): one machine a test module, up in less than a second, and gone with the test
process however that ends. What a test leaves in it is there for the next test of its module: give units names of their
own, or call `host.clear()`.

    def test_it(host: PrivateHost) -> None:
        host.install("mine.service", "[Service]\nExecStart=/bin/sleep 9")     # writes it, and has it read
        assert show("mine", scope=Scope.SYSTEM).exists                        # our code, in this process

While the fixture is in use, `systemctl` and `journalctl` on `PATH` are the private host's: as root, or as `USER` with
`--user` or `--user-unit`. That is all that code called in this process sees of it. Whatever looks at files, ports or
processes is run inside: `host.run(sys.executable, "-m", "compiler", "switch", ...)`; the checkout is its folder.

Inside, the outer host is read-only, and of its /tmp, /root, /home, /var and /run nothing is there but the checkout, this
Python, and `host.folder`, which can be written and has the same name on both sides: what a test hands over is put there.
`/etc/systemd`, `/var/lib`, `/etc/passwd` and `/etc/group` are kept below it, and outlive `host.reboot()`; all else is new
then. `host.path("/run/x")` is how any other file inside is reached from here. The network is a loopback of its own, so
that ports are free. No unit of the distribution can be seen, and nothing of what it runs at boot.

Not testable in it: `LoadCredential=` (the mount stays empty), and raising limits above the outer process's hard ones.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest


SYSTEMD = Path("/lib/systemd/systemd")
OLDEST = 252
"""The systemd that the units are made for."""

USER, UID = "server", 61001
OTHER, OTHER_UID = "stranger", 61002
"""Two people of the private host; the first has a manager of his own."""

DEMANDED = "POOLPROOF_DEMAND_SYSTEMD"
"""Set by continuous integration: where systemd and `unshare` work, no test that needs them may be skipped."""

CHECKOUT = Path(__file__).parent.parent
FIXED = Path(__file__).parent / "systemd"
UP_S = 20.0
HIDDEN = ("/tmp", "/root", "/home", "/run", "/var", "/dev/shm")
"""What of the outer host boot.sh hides."""
_NAMESPACES = ("--pid", "--mount", "--mount-proc", "--net", "--uts", "--ipc")
_TOOLS = ("systemctl", "journalctl", "unshare", "nsenter", "setpriv", "mount", "findmnt")


class NoHost(Exception):  # noqa: N818 - it says what there is not
    """This machine cannot have a private host, and why."""


class PrivateHost:
    """A running private host.

    Attributes:
        folder: its files, on both sides.
        pid: PID 1, as the outer host counts.
        cgroup: the outer name of the cgroup that all its processes are in.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pid = 0
        self.cgroup = f"poolproof-test-{os.getpid()}-{time.monotonic_ns()}"
        self._outer: subprocess.Popen[bytes] | None = None
        self._furnish()
        self._boot()

    def path(self, inside: str) -> Path:
        """A file inside, as this process reaches it."""
        return Path(f"/proc/{self.pid}/root{inside}")

    def run(
        self, *words: str, user: int | None = None, timeout_s: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, in the checkout, as root or as a user by number; unless told not to, demand success."""
        done = subprocess.run(
            [*self._enter(str(self.pid)), *([] if user is None else _become(user)), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            errors="surrogateescape",
            timeout=timeout_s,
            env={**os.environ, "PATH": self._outer_path(), "TMPDIR": "/tmp"},
        )
        assert done.returncode == 0 or not check, f"{words}: {done.stdout}{done.stderr}"
        return done

    def install(self, name: str, text: str, *, user: bool = False) -> None:
        """Write a unit and have the manager read it."""
        (self.units(user=user) / name).write_text(text, "utf-8")
        self.systemctl("daemon-reload", user=user)

    def units(self, *, user: bool = False) -> Path:
        """Where the units of a manager are."""
        return self.folder / ("lib/home/.config/systemd/user" if user else "etc/system")

    def systemctl(self, *words: str, user: bool = False, check: bool = True) -> str:
        """Tell a manager something; what it answers."""
        scope, uid = (("--user",), UID) if user else ((), None)
        return self.run("systemctl", *scope, *words, user=uid, check=check).stdout

    def journal(self, unit: str, *, since_s: float = 0.0) -> list[str]:
        """What a unit of the system said so far, or from a time on, and systemd about it."""
        self.run("journalctl", "--sync")
        asked = (f"--unit={unit}", f"--since=@{since_s:.6f}", "--output=cat")
        return self.run("journalctl", *asked).stdout.split("\n")

    def clear(self) -> None:
        """Kill and remove every unit that a test installed."""
        for user in (False, True):
            fixed = {each.name for each in (FIXED / "etc" / _manager(user=user)).iterdir()}
            mine = [each for each in self.units(user=user).iterdir() if each.name not in fixed]
            services = [each.name for each in mine if each.suffix == ".service"]
            if services:
                self.systemctl("kill", "--signal=KILL", *services, user=user, check=False)
                self.systemctl("stop", *services, user=user, check=False)
            for each in mine:
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each)
                else:
                    each.unlink()
            self.systemctl("daemon-reload", user=user)
            self.systemctl("reset-failed", user=user, check=False)

    def reboot(self) -> None:
        """Lose power and boot again."""
        self.power_off()
        self._boot()

    def power_off(self) -> None:
        """Kill PID 1, and with it everything inside."""
        if self._outer is not None:
            self._outer.kill()  # its --kill-child takes PID 1 along
            self._outer.wait()
            self._outer = None
            first = Path(f"/proc/{self.pid}/exe")  # none of a zombie
            eventually(lambda: self.pid == 0 or not first.exists())
        _remove_cgroup(self.cgroup)

    def _furnish(self) -> None:
        self.folder.chmod(0o755)  # its users see it, too
        shutil.copytree(FIXED / "etc", self.folder / "etc")
        home = self.folder / "lib/home"
        (home / ".config/systemd/user").mkdir(parents=True)
        for each in (home, *home.rglob("*")):
            os.chown(each, UID, UID)
        people = ((USER, UID), (OTHER, OTHER_UID))
        for file, line in (
            ("passwd", "{0}:x:{1}:{1}::/var/lib/home:/bin/sh\n"),
            ("group", "{0}:x:{1}:\n"),
        ):
            text = Path("/etc", file).read_text("utf-8").rstrip("\n")
            added = "".join(line.format(*each) for each in people)
            (self.folder / file).write_text(f"{text}\n{added}", "utf-8")
        self._wrap()

    def _wrap(self) -> None:
        """Commands of the outer host that ask the private one."""
        (self.folder / "bin").mkdir()
        enter = " ".join(self._enter(f'"$(cat {shlex.quote(str(self.folder / "pid"))})"'))
        for name in ("systemctl", "journalctl"):
            real = shutil.which(name)
            file = self.folder / "bin" / name
            file.write_text(
                "#!/bin/sh\n"
                f'case "$*" in *--user*) exec {enter} {" ".join(_become(UID))} {real} "$@" ;; esac\n'
                f'exec {enter} {real} "$@"\n',
                "utf-8",
            )
            file.chmod(0o755)

    def _boot(self) -> None:
        # A Python of the distribution is in /usr, which is there, and shown once more would bring its units back.
        needed = dict.fromkeys((CHECKOUT, Path(sys.prefix), Path(sys.base_prefix)))
        shown = [str(each) for each in needed if any(each.is_relative_to(top) for top in HIDDEN)]
        words = ["setpriv", "--pdeathsig=KILL", "unshare", "--fork", "--kill-child", *_NAMESPACES]
        words += [str(FIXED / "boot.sh"), str(self.folder), self.cgroup, str(SYSTEMD), *shown]
        with (self.folder / "boot.log").open("wb") as log:
            self._outer = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + UP_S
        while not self._is_up():
            if self._outer.poll() is not None or time.monotonic() > end:
                said = (self.folder / "boot.log").read_text("utf-8", "replace").strip()
                self.power_off()
                raise NoHost(said.rpartition("\n")[2] or f"it was not up within {UP_S:g} s")
            time.sleep(0.02)

    def _is_up(self) -> bool:
        assert self._outer is not None
        outer = self._outer.pid
        try:
            (child,) = Path(f"/proc/{outer}/task/{outer}/children").read_text("utf-8").split()
            if Path(f"/proc/{child}/exe").readlink() != SYSTEMD.resolve():
                return False
        except (OSError, ValueError):
            return False
        self.pid = int(child)
        (self.folder / "pid").write_text(child, "utf-8")
        sockets = ("/run/systemd/private", "/run/systemd/journal/stdout")
        managers = (*sockets, f"/run/user/{UID}/systemd/private")
        return all(self.path(each).exists() for each in managers)

    @staticmethod
    def _enter(pid: str) -> list[str]:
        return ["nsenter", "--target", pid, "--all", "env", f"--chdir={CHECKOUT}"]

    def _outer_path(self) -> str:
        """`PATH` without the wrappers."""
        parts = os.environ["PATH"].split(os.pathsep)
        return os.pathsep.join(each for each in parts if each != str(self.folder / "bin"))


def _manager(*, user: bool) -> str:
    return "user" if user else "system"


def _become(uid: int) -> list[str]:
    return [
        *("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
        *("env", f"XDG_RUNTIME_DIR=/run/user/{uid}", "HOME=/var/lib/home"),
    ]


def _remove_cgroup(name: str) -> None:
    """The cgroups of a host that is off; the kernel takes a moment to see that they are empty."""
    script = (
        "mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1\n"
        'for try in 1 2 3 4 5 6 7 8 9; do test -d "/sys/fs/cgroup/$0" || exit 0\n'
        'find "/sys/fs/cgroup/$0" -depth -type d -exec rmdir {} + || sleep 0.1; done'
    )
    subprocess.run(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", script, name],
        check=False,
        capture_output=True,
        timeout=UP_S,
    )


@contextmanager
def private_host(folder: Path) -> Iterator[PrivateHost]:
    """A private host with its files below `folder`. Where there can be none, the test that needs it is skipped.

    Raises:
        pytest.fail.Exception: instead of the skip, where `DEMANDED` is set, and systemd and `unshare` work.
    """
    lacking = what_is_lacking()
    if lacking is not None:
        give_up(lacking)
    try:
        host = PrivateHost(folder)
    except NoHost as refusal:
        give_up(f"no private systemd: {refusal}")
    try:
        yield host
    finally:
        host.power_off()


def what_is_lacking() -> str | None:
    """What a private host needs and this machine plainly has not."""
    if os.geteuid() != 0:
        return "a private systemd needs root"
    for program in (*_TOOLS, str(SYSTEMD)):
        if shutil.which(program) is None:
            return f"`{program}` is not installed"
    version = systemd_version()
    return None if version >= OLDEST else f"systemd {version} is older than {OLDEST}"


def give_up(reason: str) -> NoReturn:
    """Skip the test, or fail it where it could have run."""
    if os.environ.get(DEMANDED) and systemd_version() >= OLDEST and namespaces_work():
        pytest.fail(f"systemd and `unshare` work here, yet {reason}")
    pytest.skip(reason)


def systemd_version() -> int:
    """The version of the systemd that is installed; 0 without one."""
    if shutil.which("systemctl") is None:
        return 0
    asked = subprocess.run(
        ["systemctl", "--version"], check=False, capture_output=True, text=True, timeout=30
    )
    found = re.match(r"systemd (\d+)", asked.stdout)
    return int(found[1]) if found else 0


def namespaces_work() -> bool:
    """Whether `unshare` is there and allowed to make the namespaces."""
    if shutil.which("unshare") is None:
        return False
    trial = ["unshare", "--fork", *_NAMESPACES, "true"]
    return subprocess.run(trial, check=False, capture_output=True, timeout=30).returncode == 0


def eventually(holds: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Wait until something holds; an assertion fails when it does not in time."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, f"not within {within_s:g} s"
        time.sleep(0.02)
