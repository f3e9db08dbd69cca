"""What a host is asked before a switch. It only reads; what it cannot tell it says why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from attrs import frozen

from compiler.diagnostics import reason_of
from compiler.host.machine import ask
from compiler.host.ports import Listener, listeners
from compiler.host.units import ASK_S, Scope
from compiler.value import Value


SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the place itself, not a file in it
GPU_S: Final = 30.0
"""For `nvidia-smi`, which wakes every GPU where no daemon keeps them awake."""

PYTHON_S: Final = 30.0
"""For an interpreter that only looks for modules, on a cold disk."""
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
"""What systemd gives a service of the system manager (systemd.exec(5), `$PATH`); older ones add /sbin and /bin."""

_FINDS: Final = """\
import sys
from importlib.util import find_spec
print(*(name for name in sys.argv[1:] if find_spec(name) is None))
"""
_TELLS: Final = """\
import sys
from importlib.metadata import PackageNotFoundError, version
try:
    print(version(sys.argv[1]))
except PackageNotFoundError:
    pass
"""
_CAP_SYS_RESOURCE: Final = 1 << 24  # capability.h: may raise hard limits


@frozen(kw_only=True, eq=False, repr=False)
class Untold(Value):
    """Something that this host does not tell, and why."""

    why: str


@frozen(kw_only=True, eq=False, repr=False)
class Account(Value):
    """Who the service runs as."""

    name: str
    uid: int
    gids: frozenset[int]


@frozen(kw_only=True, eq=False, repr=False)
class Entry(Value):
    """A folder or file: whose it is and who may do what, as stat(2) has it."""

    path: str
    mode: int
    uid: int
    gid: int


@frozen(kw_only=True, eq=False, repr=False)
class Gpu(Value):
    """One GPU as the driver names it."""

    index: int
    uuid: str
    name: str


class HostProbe(Protocol):
    """A host, as far as preflight asks it."""

    def account(self, name: str | None) -> Account | None:
        """A user; without a name whoever runs this. `None` when there is no such user."""

    def trail(self, path: str) -> tuple[Entry, ...] | Untold | None:
        """What a path leads through, links followed, from the root to its end; `None` when it is not there."""

    def others_in_group(self, gid: int, *, uid: int) -> tuple[str, ...]:
        """Who but this user is in a group."""

    def gpus(self) -> tuple[Gpu, ...] | Untold | None:
        """The GPUs; `None` without `nvidia-smi`; untold where it fails."""

    def listeners(self, port: int) -> tuple[Listener, ...] | Untold:
        """What listens on a TCP port."""

    def memlock_bytes(self, scope: Scope) -> int | Untold | None:
        """The most memory that a manager can let a service lock; `None` for no limit."""

    def shared_memory_bytes(self) -> int | Untold:
        """What is free in /dev/shm."""

    def free_disk_bytes(self, path: str) -> int | Untold:
        """What is free where a path is, or will be."""

    def memory_bytes(self) -> int | Untold:
        """All memory that the host has."""

    def lacking(
        self,
        python: str,
        modules: Collection[str],
        *,
        account: Account | None,
        environment: Mapping[str, str],
    ) -> tuple[str, ...] | Untold:
        """Which of these modules an interpreter does not find, asked as a user."""

    def installed(
        self, python: str, package: str, *, account: Account | None, environment: Mapping[str, str]
    ) -> str | Untold:
        """The version of a package of an interpreter, asked as a user; untold where it knows none of that name."""


class RealProbe:
    """This host; each method is as in `HostProbe`."""

    def account(self, name: str | None) -> Account | None:
        """From the user database."""
        import pwd  # noqa: PLC0415 - not on every system that compiles

        try:
            found = pwd.getpwuid(os.geteuid()) if name is None else pwd.getpwnam(name)
        except KeyError:
            return None
        groups = os.getgrouplist(found.pw_name, found.pw_gid)
        return Account(name=found.pw_name, uid=found.pw_uid, gids=frozenset(groups))

    def trail(self, path: str) -> tuple[Entry, ...] | Untold | None:
        """By stat(2) of each part."""
        try:
            real = Path(path).resolve(strict=True)
            return tuple(_entry(each) for each in (*reversed(real.parents), real))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            return Untold(why=f"`{path}`: {reason_of(fault)}")
        except RuntimeError:  # before Python 3.13
            return Untold(why=f"`{path}` is a circle of links")

    def others_in_group(self, gid: int, *, uid: int) -> tuple[str, ...]:
        """Whom the group database lists, and whose own group it is; root reads everything anyway."""
        import grp  # noqa: PLC0415 - not on every system that compiles
        import pwd  # noqa: PLC0415 - as above

        try:
            listed = set(grp.getgrgid(gid).gr_mem)
        except KeyError:
            listed = set()
        people = {each.pw_name: each for each in pwd.getpwall()}
        listed |= {name for name, each in people.items() if each.pw_gid == gid}
        return tuple(
            sorted(n for n in listed if n not in people or people[n].pw_uid not in (0, uid))
        )

    def gpus(self) -> tuple[Gpu, ...] | Untold | None:
        """What `nvidia-smi` lists."""
        if shutil.which("nvidia-smi") is None:
            return None
        query = ("--query-gpu=index,uuid,name", "--format=csv,noheader")
        asked = ask(("nvidia-smi", *query), timeout_s=GPU_S)
        if not asked.fine:
            said = (asked.stdout.strip() or asked.stderr.strip()).split("\n")[0]
            return Untold(why=said or f"`nvidia-smi` ended with {asked.code}")
        return tuple(_gpus(asked.stdout))

    def listeners(self, port: int) -> tuple[Listener, ...] | Untold:
        """From /proc."""
        try:
            return listeners(port, proc=Path("/proc"))
        except OSError as fault:
            return Untold(why=f"`{fault.filename}`: {reason_of(fault)}")

    def memlock_bytes(self, scope: Scope) -> int | Untold | None:
        """The hard limit of the manager's own process, unless it may raise that."""
        pid = "1" if scope is Scope.SYSTEM else _pid_of_users_systemd()
        try:
            capable = _field(Path(f"/proc/{pid}/status"), "CapEff:")[0]
            hard = _field(Path(f"/proc/{pid}/limits"), "Max locked memory")[1]
        except (OSError, LookupError):
            return Untold(why="the limits of the manager's process cannot be read")
        if int(capable, 16) & _CAP_SYS_RESOURCE or hard == "unlimited":
            return None
        return int(hard)

    def shared_memory_bytes(self) -> int | Untold:
        """By statvfs(3)."""
        return _free(Path(SHARED_MEMORY))

    def free_disk_bytes(self, path: str) -> int | Untold:
        """By statvfs(3) of the nearest folder that there is."""
        nearest = next((each for each in (Path(path), *Path(path).parents) if each.is_dir()), None)
        return Untold(why=f"`{path}` is nowhere") if nearest is None else _free(nearest)

    def memory_bytes(self) -> int | Untold:
        """From /proc/meminfo."""
        try:
            return int(_field(Path("/proc/meminfo"), "MemTotal:")[0]) << 10
        except (OSError, LookupError, ValueError):
            return Untold(why="`/proc/meminfo` does not say how much there is")

    def lacking(
        self,
        python: str,
        modules: Collection[str],
        *,
        account: Account | None,
        environment: Mapping[str, str],
    ) -> tuple[str, ...] | Untold:
        """By the interpreter itself, which looks for them and imports none."""
        said = _told((python, "-c", _FINDS, *modules), account, environment)
        if isinstance(said, Untold):
            return said
        return tuple(each for each in said.split() if each in modules)

    def installed(
        self, python: str, package: str, *, account: Account | None, environment: Mapping[str, str]
    ) -> str | Untold:
        """By what was written beside the package when it was installed."""
        said = _told((python, "-c", _TELLS, package), account, environment)
        if isinstance(said, Untold):
            return said
        return said.strip() or Untold(why=f"`{python}` knows no installed package `{package}`")


def _told(
    words: tuple[str, ...], account: Account | None, environment: Mapping[str, str]
) -> str | Untold:
    """What an interpreter prints, run as a user with the unit's environment."""
    asked = ask(
        words,
        timeout_s=PYTHON_S,
        environment={"PATH": SYSTEM_PATH, **environment},
        user=None if account is None or os.geteuid() != 0 else (account.uid, account.gids),
    )
    if asked.fine:
        return asked.stdout
    said = (asked.stderr.strip() or asked.stdout.strip()).split("\n")[-1]
    return Untold(why=said or f"`{words[0]}` ended with {asked.code}")


def _entry(path: Path) -> Entry:
    found = path.stat()
    return Entry(path=str(path), mode=found.st_mode, uid=found.st_uid, gid=found.st_gid)


def _gpus(text: str) -> Iterator[Gpu]:
    for line in text.split("\n"):
        index, _, rest = line.partition(", ")
        uuid, _, name = rest.partition(", ")
        if index.isdecimal() and name:
            yield Gpu(index=int(index), uuid=uuid, name=name.strip())


def _pid_of_users_systemd() -> str:
    """The process of this user's manager."""
    unit = f"user@{os.geteuid()}.service"
    asked = ask(("systemctl", "show", "--property=MainPID", "--value", unit), timeout_s=ASK_S)
    pid = asked.stdout.strip()
    return pid if pid.isdecimal() and pid != "0" else "none"


def _field(file: Path, name: str) -> list[str]:
    """The words after a name that begins a line; `LookupError` when none does."""
    for line in file.read_text("utf-8", "replace").split("\n"):
        if line.startswith(name):
            return line.removeprefix(name).split()
    raise LookupError(name)


def _free(path: Path) -> int | Untold:
    try:
        found = os.statvfs(path)
    except OSError as fault:
        return Untold(why=f"`{path}`: {reason_of(fault)}")
    return found.f_bavail * found.f_frsize
