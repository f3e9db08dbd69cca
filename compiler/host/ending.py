"""How a start ended, from the unit's state and from what it wrote. No clock, no systemd: `watch` looks, this judges."""

from __future__ import annotations

import re
import signal
from enum import StrEnum
from typing import Final

from attrs import evolve

from compiler.engines.observing import Phase
from compiler.host.follow import JournalLine
from compiler.host.units import UnitState
from compiler.secrecy import without_secrets


_LINES_KEPT: Final = 12
_POOL_LINES_KEPT: Final = 6  # of the target and its draft: a pool or two, and what is left
_PROBE_LINES_KEPT: Final = 3
_LONGEST_LINE: Final = 500
# What a probe (`templates/sglang/ready.py`) begins its lines with, and those that only say how long it has waited or what to do.
_PROBE_SAYS: Final = "ready: "
_PROBE_PROGRESS: Final = re.compile(r"ready: (?:\d+ s of |what to do|  |ending the server)")
# What systemd itself writes of an `ExecStartPost=` and of a main process that ended, and of the unit then.
_PROBE_EXITED: Final = re.compile(r": Control process exited, code=exited, status=(\d+)")
_MAIN_ENDED_SO: Final = re.compile(
    r": Main process exited, code=(exited|killed|dumped), status=(\d+)"
)
_FAILED_WITH: Final = re.compile(r": Failed with result '([a-z-]+)'\.$")
# The time and the rank in front of a line, as every logger here has them.
_WHO_AND_WHEN: Final = re.compile(r"^\[[^\]]{0,60}\] ?")
_LOOKS_BAD: Final = re.compile(
    r"\b(?:\w*error|\w*exception|critical|fatal|traceback|killed|abort\w*|out of memory)\b",
    re.IGNORECASE,
)

# The exit codes of a probe (`templates/sglang/ready.py`).
_MAIN_ENDED, _POOL_SHORT, _POOL_UNKNOWN, _TIMED_OUT = 3, 4, 5, 6
_EXITED, _KILLED = 1, 2  # CLD_EXITED and CLD_KILLED of waitid(2)


class Outcome(StrEnum):
    """How a start ended."""

    READY = "ready"
    FAILED = "failed"
    SHORT = "short"
    TIMEOUT = "timeout"


def ending(state: UnitState, *, started: bool) -> tuple[Outcome, str] | None:
    """How the start that a state belongs to ended, and why; `None` while it goes on.

    `started` is false where nothing was started though nothing is queued any more.
    """
    if not started:
        return Outcome.FAILED, _not_started(state)
    if state.active in {"active", "reloading"} and not state.has_job:
        return Outcome.READY, "the server is ready"
    if state.sub == "auto-restart" or state.active in {"failed", "inactive"}:
        return _failure(state)
    return None


def _failure(state: UnitState) -> tuple[Outcome, str]:
    by_probe = {
        _POOL_SHORT: (Outcome.SHORT, "the KV pool is smaller than promised"),
        _POOL_UNKNOWN: (
            Outcome.FAILED,
            "the server is healthy, but the size of its pool is not known",
        ),
        _TIMED_OUT: (Outcome.TIMEOUT, "the server was not ready within the time its probe has"),
    }
    if state.probe_status in by_probe:
        return by_probe[state.probe_status]
    if state.probe_status not in (None, 0, _MAIN_ENDED):
        why = f"its readiness probe ended with exit code {state.probe_status}"
        return Outcome.FAILED, f"whether the server is ready is not known: {why}"
    if state.result == "timeout":
        return Outcome.TIMEOUT, "systemd's start timeout was over"
    if state.result == "oom-kill":
        return Outcome.FAILED, "the kernel killed the server because the host's memory was full"
    if state.exec_main_code:
        return Outcome.FAILED, f"the server {_end_of_main(state)} before it was ready"
    return Outcome.FAILED, f"the start ended with `{state.result or state.active}`"


def _end_of_main(state: UnitState) -> str:
    if state.exec_main_code == _EXITED:
        return f"ended with exit code {state.exec_main_status}"
    try:
        return f"was ended by {signal.Signals(state.exec_main_status).name}"
    except ValueError:
        return f"was ended by signal {state.exec_main_status}"


def _not_started(state: UnitState) -> str:
    if state.is_masked:
        return "systemd did not start it: the unit is masked"
    if not state.exists:
        return "systemd did not start it: it knows no such unit"
    if state.load_state != "loaded":
        return f"systemd did not start it: the unit's load state is `{state.load_state}`"
    if state.result == "start-limit-hit":
        return "systemd did not start it: it was started too often, and its start limit was hit"
    return f"systemd did not start it; the unit is `{state.active}` with `{state.result}`"


class _Kept:
    """The last few lines of a kind, each with its number; of what several ranks say alike the last one's."""

    def __init__(self, *, most: int) -> None:
        """None yet."""
        self.most = most
        self.lines: dict[str, tuple[int, str]] = {}

    def take(self, number: int, text: str) -> None:
        """Keep a line, with what looks like a secret covered, in the place of its like."""
        shown = _shown(text)
        like = _WHO_AND_WHEN.sub("", shown)
        self.lines.pop(like, None)
        self.lines[like] = number, shown
        if len(self.lines) > self.most:
            del self.lines[next(iter(self.lines))]


class Telling:
    """What a start wrote that is worth showing when it has failed; of a log of any length little is kept."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._count = 0
        self._pool = _Kept(most=_POOL_LINES_KEPT)
        self._bad = _Kept(most=_LINES_KEPT)
        self._probe = _Kept(most=_PROBE_LINES_KEPT)
        self._any = _Kept(most=_LINES_KEPT // 2)
        self._probe_status: int | None = None
        self._main: tuple[int, int] | None = None
        self._result: str | None = None

    def take(self, line: JournalLine, *, phase: Phase | None) -> None:
        """Remember a line if it is worth it, with what looks like a secret covered."""
        self._count += 1
        if line.is_systemd:
            self._take_systemd(line.text)
            return
        kept = self._any
        if line.text.startswith(_PROBE_SAYS):
            if _PROBE_PROGRESS.match(line.text) is not None:
                return
            kept = self._probe
        elif phase is Phase.POOL:
            kept = self._pool
        elif _LOOKS_BAD.search(line.text):
            kept = self._bad
        kept.take(self._count, line.text)

    def _take_systemd(self, text: str) -> None:
        if (found := _PROBE_EXITED.search(text)) is not None:
            self._probe_status = int(found[1])
        if (found := _MAIN_ENDED_SO.search(text)) is not None:
            self._main = (_EXITED if found[1] == "exited" else _KILLED), int(found[2])
        if (found := _FAILED_WITH.search(text)) is not None:
            self._result = found[1]

    def failure(self, seen: UnitState) -> tuple[Outcome, str]:
        """How a start failed, by the last look at it, and by the journal for what that does not show any more.

        systemd may have begun another start, and forgets how a probe ended when somebody has it reload its units.
        """
        code, status = seen.exec_main_code, seen.exec_main_status
        if not code and self._main is not None:
            code, status = self._main
        probe = self._probe_status if seen.probe_status is None else seen.probe_status
        result = seen.result if seen.result != "success" else self._result or seen.result
        return _failure(
            evolve(
                seen,
                probe_status=probe,
                result=result,
                exec_main_code=code,
                exec_main_status=status,
            )
        )

    def lines(self, outcome: Outcome) -> tuple[str, ...]:
        """What was said of the pool, the last errors, and the probe's last words, in their order.

        Without errors the last lines stand for them, but where the pool was short: then nothing else was wrong.
        """
        worst = self._bad.lines or ({} if outcome is Outcome.SHORT else self._any.lines)
        chosen = {*self._pool.lines.values(), *worst.values(), *self._probe.lines.values()}
        return tuple(dict.fromkeys(text for _, text in sorted(chosen)))


def _shown(text: str) -> str:
    text = without_secrets(text, ())
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."
