"""The command in a fork of this process: one that can be killed, timed, and be another user, and need import nothing."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import NoReturn, TextIO

import pytest
from attrs import asdict

from checkouts import NOBODY, REPOSITORY, Checkout, Done, checkout


_UNREACHABLE = 99
LONGEST_S = 60.0


class Fork:
    """A run of the command in a tree, by its own process.

    Where a test is about the start of Python, its streams, or its signals, `checkouts.run_apart` is what it needs.
    """

    def __init__(self, tree: Checkout, *words: str, user: int | None = None) -> None:
        _import_everything()
        self._answer = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - `done` closes it
        self._ended: int | None = None
        with warnings.catch_warnings():
            # This process may have threads (those of pytest-xdist), which the other neither has nor needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _answer(self._answer, tree, *words, user=user)

    def poll(self) -> int | None:
        """How it ended, as `subprocess` tells it; `None` while it runs."""
        if self._ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._ended = os.waitstatus_to_exitcode(status) if pid else None
        return self._ended

    def kill(self) -> None:
        """End it where it is."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end, but not for ever; how it ended."""
        end = time.monotonic() + LONGEST_S
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                self.kill()
            time.sleep(0.001)
        return code

    def done(self) -> Done:
        """What came of it, once it has ended by itself."""
        code = self.wait()
        with self._answer as answer:
            answer.seek(0)
            said = answer.read()
        if code == _UNREACHABLE:
            pytest.skip("this repository cannot be read by an unprivileged user")
        assert code == 0, f"it ended with {code}: {said}"
        return Done(**json.loads(said))

    def ended(self) -> int:
        """How it ended, when nobody asks what it said."""
        self._answer.close()
        return self.wait()


def run_forked(tree: Checkout, *words: str) -> Done:
    """Run the command where it may wait for ever."""
    return Fork(tree, *words).done()


def run_unprivileged(tree: Checkout, *words: str) -> Done:
    """Run the command as a user whom file modes bind: not root. Skips the test where the repository is out of its reach.

    The Python itself may be, so all is imported before.
    """
    return Fork(tree, *words, user=NOBODY if os.geteuid() == 0 else None).done()


def _answer(answer: TextIO, tree: Checkout, *words: str, user: int | None) -> NoReturn:
    code = 1
    try:
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        if os.access(REPOSITORY / "templates", os.R_OK | os.X_OK):
            json.dump(asdict(tree.run(*words)), answer)
            code = 0
        else:
            code = _UNREACHABLE
    except BaseException:  # noqa: BLE001 - whatever it is, the parent fails by it
        traceback.print_exc(file=answer)
    finally:
        answer.flush()
        os._exit(code)  # not on into the parent's tests


@cache
def _import_everything() -> None:
    """Have all modules of a compile and of a refusal."""
    with tempfile.TemporaryDirectory() as scratch:
        warm = checkout(Path(scratch, "tree"))
        for words in (("compile",), ("check", "nothing")):
            warm.run(*words)
