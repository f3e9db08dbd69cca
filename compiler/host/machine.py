"""The one seam between the host verbs and the machine: every change to a file and every command goes through it.

A test stops a verb after its nth step by a `Machine` whose `step` raises; nothing else of the host side writes or runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Finished(Value):
    """A command that ended. `code` is `None` where it did not within its time, or is not installed."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def fine(self) -> bool:
        """Whether it ended with 0."""
        return self.code == 0


class Machine:
    """Changes files and runs commands, one named step at a time. Files raise `OSError`; commands never raise."""

    def step(self, name: str) -> None:
        """Called before each change and each command, with what it is about to do."""

    def make_folder(self, path: Path, *, mode: int = 0o755) -> None:
        """Make a folder and those above it, with this mode whatever the umask; fine when it is there."""
        for each in (*reversed(path.parents), path):
            if not each.is_dir():
                self.step(f"mkdir {each}")
                each.mkdir()
                each.chmod(mode)
                self.sync(each.parent)

    def write(self, path: Path, data: bytes, *, mode: int) -> None:
        """Write a file that is not there yet, whole and synced."""
        self.step(f"write {path}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(path, flags, mode), "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())

    def sync(self, folder: Path) -> None:
        """Make the names in a folder lasting."""
        self.step(f"sync {folder}")
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def symlink(self, path: Path, target: str) -> None:
        """Make a link that is not there yet."""
        self.step(f"symlink {path} -> {target}")
        path.symlink_to(target)

    def rename(self, old: Path, new: Path) -> None:
        """Rename, replacing a file or link that is there, in one step."""
        self.step(f"rename {old} -> {new}")
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""
        self.step(f"remove {path}")
        path.unlink()

    def remove_tree(self, path: Path) -> None:
        """Remove a folder and all in it; links in it are removed, not followed."""
        self.step(f"remove-tree {path}")
        shutil.rmtree(path)

    def run(self, command: Sequence[str], *, timeout_s: float) -> Finished:
        """Run a command that changes the machine, and wait; its output as text, bytes that are not UTF-8 replaced."""
        self.step(f"run {' '.join(command)}")
        return ask(command, timeout_s=timeout_s)

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()


def ask(
    command: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    user: tuple[int, Collection[int]] | None = None,
) -> Finished:
    """Run a command that changes nothing (`systemctl show`, `nvidia-smi`); it is no step.

    `environment` is all that it gets, where it is given; `user` is whom root runs it as, with their groups.
    """
    groups = sorted(user[1]) if user is not None else []
    try:
        ended = subprocess.run(  # noqa: S603 - words, no shell
            list(command),
            env=environment,
            cwd="/",
            user=user[0] if user is not None else None,
            group=groups[0] if groups else None,
            extra_groups=groups or None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Finished(code=None, stdout="", stderr=f"no answer within {timeout_s:g} s")
    except OSError as fault:
        return Finished(code=None, stdout="", stderr=(fault.strerror or str(fault)).lower())
    return Finished(code=ended.returncode, stdout=ended.stdout, stderr=ended.stderr)
