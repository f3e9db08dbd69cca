"""A start, followed until the server is ready or is not: the unit's state, and its lines of the journal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from attrs import frozen

from compiler.engines.observers import observer_of
from compiler.engines.observing import Phase
from compiler.host.ending import Outcome, Telling, ending
from compiler.host.follow import Follower, JournalLine
from compiler.host.units import Scope, UnitState, show
from compiler.value import Value


__all__ = ["Event", "Outcome", "Watched", "watch"]

TICK_S: Final = 0.25
SHORT_TICK_S: Final = 0.1
"""Between two looks at the unit's state, each of which takes 15 ms; the shorter one where it must be ready soon."""

BEAT_S: Final = 1.0
"""Between two events when nothing new happens, so that a terminal can show the time."""

_LAG_S, _SHORT_LAG_S = 0.5, 0.1  # for the journal to catch up with a start that has ended
_SILENT_S: Final = 30.0  # systemd may be busy reloading; longer than this it is stuck


@frozen(kw_only=True, eq=False, repr=False)
class Event(Value):
    """Something to show while a start goes on.

    Attributes:
        phase: how far it has come; `None` while the old server stops.
        text: the detail, for a person: `12/64 shards`.
        elapsed_s: seconds since the watching began.
        is_new: whether phase or text are others than before; else only time went by.
    """

    phase: Phase | None
    text: str
    elapsed_s: float
    is_new: bool = True

    @property
    def line(self) -> str:
        """The event in one line, for a log or a plain terminal."""
        what = "stopping" if self.phase is None else self.phase.value
        detail = f": {self.text}" if self.text else ""
        return f"{self.elapsed_s:.0f} s  {what}{detail}"


@frozen(kw_only=True, eq=False, repr=False)
class Watched(Value):
    """How a start ended, and why.

    Attributes:
        why: one sentence without a full stop.
        lines: the log lines that matter: what was said of the pool, and the last errors.
        elapsed_s: seconds since the watching began.
    """

    outcome: Outcome
    why: str
    lines: tuple[str, ...] = ()
    elapsed_s: float = 0.0


def watch(
    unit: str,
    *,
    scope: Scope,
    before: str | None,
    timeout_s: float,
    say: Callable[[Event], None],
    engine: str | None = None,
) -> Watched:
    """Follow the start that `units.begin_restart` queued, until it has ended one way or the other.

    A start that failed is not waited for again, though systemd may be about to try once more.

    Args:
        unit: its name.
        scope: its manager.
        before: `UnitState.invocation` from before the restart was queued, so that the old process is not taken for
            the new one; `None` to follow the start that is under way.
        timeout_s: for the old process to stop and the new one to be ready; above both times of the unit.
        say: called with each event, and at least once in `BEAT_S`.
        engine: whose lines tell the phases; without it only the unit's state does.
    """
    observer = observer_of(engine)
    phase = _nothing if observer is None else observer.phase
    watching = _Watching(unit, scope=scope, before=before, phase=phase, say=say)
    try:
        return watching.until_end(timeout_s=timeout_s)
    finally:
        watching.close()


def _nothing(_: str) -> None:
    return None


class _Watching:
    """What is known of the start so far."""

    def __init__(
        self,
        unit: str,
        *,
        scope: Scope,
        before: str | None,
        phase: Callable[[str], tuple[Phase, str] | None],
        say: Callable[[Event], None],
    ) -> None:
        self.unit = unit
        self.scope = scope
        self.before = before
        self.phase = phase
        self.say = say
        self.began = time.monotonic()
        self.said_at = 0.0
        self.answered_at = self.began
        self.last: tuple[Phase | None, str] | None = None
        self.seen: UnitState | None = None
        self.follower: Follower | None = None
        self.telling = Telling()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def until_end(self, *, timeout_s: float) -> Watched:
        """Look at the unit and read its lines in turn."""
        while True:
            ended = self._look(show(self.unit, scope=self.scope))
            if ended is None and self.elapsed_s >= timeout_s:
                ended = Outcome.TIMEOUT, f"it was not ready after {timeout_s:g} s"
            if ended is not None:
                outcome, why = ended
                if outcome is Outcome.READY:
                    return Watched(outcome=outcome, why=why, elapsed_s=self.elapsed_s)
                self._read(for_s=_SHORT_LAG_S)
                lines = self.telling.lines(outcome)
                return Watched(outcome=outcome, why=why, lines=lines, elapsed_s=self.elapsed_s)
            self._read(for_s=SHORT_TICK_S if self._is_near_end else TICK_S)
            self._beat()

    @property
    def _is_near_end(self) -> bool:
        """Whether the server has said that it listens; the probe has the last word."""
        return self.last is not None and self.last[0] in (Phase.WARMUP, Phase.SERVING)

    def _look(self, state: UnitState | None) -> tuple[Outcome, str] | None:
        """What a look at the unit shows: how the start ended, or `None` while it goes on."""
        now = time.monotonic()
        if state is None:
            silent_s = now - self.answered_at
            said = f"systemd has not answered for {silent_s:.0f} s"
            return (Outcome.FAILED, said) if silent_s > _SILENT_S else None
        self.answered_at = now
        if self.seen is None and state.invocation not in (None, self.before):
            self.follower = Follower(self.unit, state, scope=self.scope)
            self._announce(Phase.STARTING, "")
        elif self.seen is None:
            if state.is_running:
                self._announce(None, "the old server may end its requests")
            return None if state.has_job else ending(state, started=False)
        if self.seen is None or state.invocation == self.seen.invocation:
            self.seen = state
            ended = ending(state, started=True)
            if ended is None or ended[0] is Outcome.READY:
                return ended
        self._read(for_s=_LAG_S)  # the last words of a start that failed are the ones that matter
        return self.telling.failure(self.seen)

    def _read(self, *, for_s: float) -> None:
        """Take the lines that come for so long."""
        end = time.monotonic() + for_s
        while (left := end - time.monotonic()) > 0:
            if self.follower is None or not self.follower.is_open:
                time.sleep(left)
                return
            for line in self.follower.read(within_s=left):
                self._take(line)

    def _take(self, line: JournalLine) -> None:
        reached = None if line.is_systemd else self.phase(line.text)
        self.telling.take(line, phase=None if reached is None else reached[0])
        if reached is not None:
            self._announce(*reached)

    def _announce(self, phase: Phase | None, text: str) -> None:
        """Say a new phase or detail; each rank writes its own lines, and the same is said once."""
        if (phase, text) != self.last:
            self._say(phase, text, is_new=True)

    def _beat(self) -> None:
        if self.last is not None and time.monotonic() - self.said_at >= BEAT_S:
            self._say(*self.last, is_new=False)

    def _say(self, phase: Phase | None, text: str, *, is_new: bool) -> None:
        self.last = phase, text
        self.said_at = time.monotonic()
        self.say(Event(phase=phase, text=text, elapsed_s=self.elapsed_s, is_new=is_new))

    def close(self) -> None:
        if self.follower is not None:
            self.follower.close()
