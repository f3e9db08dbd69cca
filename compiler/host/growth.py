"""A promise that grew, and a server that would run on under it: held against what runs, as `verify` does.

The probe that a reload changes is run at the next start only, so that nobody else would look.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.engines.observers import observer_of
from compiler.engines.observing import Start
from compiler.host.live import Live
from compiler.host.promised import Promised, promised_in
from compiler.host.verifying import Row, State, findings, promises
from compiler.value import Value
from compiler.writtenplan import PLAN


@frozen(kw_only=True, eq=False, repr=False)
class Growth(Value):
    """What a plan promises beyond the one before, against what runs.

    Attributes:
        rows: only those that grew.
    """

    rows: tuple[Row, ...]

    @property
    def broken(self) -> tuple[Diagnostic, ...]:
        """Why what runs does not do. Errors: `promise-broken`."""
        return tuple(findings(tuple(each for each in self.rows if each.state is State.BROKEN)))

    @property
    def is_kept(self) -> bool:
        """Whether what runs is known to keep all of it."""
        return all(each.state is State.KEPT for each in self.rows)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What grew, and what runs, as sentences."""
        return tuple(map(_sentence, self.rows))


def growth(before: Mapping[str, bytes], after: Mapping[str, bytes], *, live: Live) -> Growth | None:
    """What the files of a generation promise beyond those of the one that runs; `None` when it is nothing."""
    promised = promised_in(after.get(PLAN, b""))
    if isinstance(promised, str):
        return None  # nothing is promised that anybody could read
    observer = observer_of(promised.engine)
    if observer is not None and observer.untold(promised.argv) is not None:
        return None  # another node is asked
    old = promised_in(before.get(PLAN, b""))
    grown = _grown(None if isinstance(old, str) else old, promised)
    if not grown:
        return None
    start = live.start(promised) or Start()
    return Growth(rows=tuple(each for each in promises(promised, start) if each.name in grown))


def _grown(old: Promised | None, new: Promised) -> frozenset[str]:
    """The names of the rows that promise more than before."""
    before = {} if old is None else _least(old)
    return frozenset(name for name, least in _least(new).items() if least > before.get(name, 0))


def _least(promised: Promised) -> dict[str, int]:
    rows = promises(promised, Start())
    return {each.name: each.promised for each in rows if isinstance(each.promised, int)}


def _sentence(row: Row) -> str:
    promised = f"it promises more than what runs was held against: {row.name} {row.promised:,}"
    if row.measured is None:
        return f"{promised}, and what runs does not tell its own"
    return f"{promised}, and what runs has {row.measured:,}"
