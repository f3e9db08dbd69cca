"""A start, followed until the server is ready or is not: the unit's state, and its lines of the journal."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from attrs import frozen

from compiler.engines.observing import Phase
from compiler.host.units import Scope
from compiler.value import Value


class Outcome(StrEnum):
    """How a start ended."""

    READY = "ready"
    FAILED = "failed"
    SHORT = "short"
    TIMEOUT = "timeout"


@frozen(kw_only=True, eq=False, repr=False)
class Event(Value):
    """Something to show while the start goes on.

    Attributes:
        phase: how far it has come; `None` while the old server stops.
        text: the detail, for a person: `12/64 shards`.
        elapsed_s: seconds since the watching began.
    """

    phase: Phase | None
    text: str
    elapsed_s: float


@frozen(kw_only=True, eq=False, repr=False)
class Watched(Value):
    """How a start ended, and why.

    Attributes:
        why: one sentence without a full stop.
        lines: the log lines that matter: what the server said of its pool, and its last errors.
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
) -> Watched:
    """Follow the start that `units.begin_restart` queued.

    Args:
        unit: its name.
        scope: its manager.
        before: `UnitState.invocation` from before the restart was queued, so that the old process is not taken for
            the new one.
        timeout_s: for the old process to stop and the new one to be ready; above both times of the unit.
        say: called with each event.
    """
    raise NotImplementedError
