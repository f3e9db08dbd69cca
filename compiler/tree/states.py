"""How `out/` and what is produced can differ, and what a write did."""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen

from compiler.diagnostics import Diagnostic
from compiler.tree.manifest import Identity, digest
from compiler.value import Value


class State(StrEnum):
    """What is the matter with one path of `out/`."""

    STALE = "stale"
    """As the last compile wrote it, but the inputs give something else by now."""
    EDITED = "edited"
    """Not as any compile wrote it: its hash differs from MANIFEST, or something else stands in its place."""
    MISSING = "missing"
    """Produced or in MANIFEST, and not there; a file that is new is missing until it is written."""
    ORPHAN = "orphan"
    """In MANIFEST and no longer produced."""
    BLOCKED = "blocked"
    """Produced and not in MANIFEST, and something that no compile wrote stands in its place."""
    FOREIGN = "foreign"
    """There, not in MANIFEST and not produced; somebody else's, and left alone."""


@frozen(eq=False, repr=False)
class Version(Value):
    """A file's bytes and its executable bit."""

    content: bytes = field(repr=False)
    executable: bool

    @property
    def identity(self) -> Identity:
        """What MANIFEST keeps of it."""
        return Identity(digest(self.content), self.executable)


@frozen(kw_only=True, eq=False, repr=False)
class Difference(Value):
    """One path that is not as it should be.

    Attributes:
        path: relative to `out/`.
        state: what is the matter.
        profile: the profile it belongs to, where one is known.
        notes: more about it, each the rest of a sentence (`its inputs changed too`).
        standing: the file on the disk; `None` when there is none, or no regular file.
        wanted: the file that is produced; `None` when none is.
        immovable: whether not even `--overwrite` may put a file there.
    """

    path: str
    state: State
    profile: str | None = None
    notes: tuple[str, ...] = ()
    standing: Version | None = None
    wanted: Version | None = None
    immovable: bool = False

    @property
    def is_unwanted(self) -> bool:
        """Whether a compile would take the file away."""
        return self.wanted is None and self.state in (State.ORPHAN, State.EDITED)


@frozen(kw_only=True, eq=False, repr=False)
class Comparison(Value):
    """What a compile would change: the differences sorted by path, and why some of `out/` could not be read."""

    differences: tuple[Difference, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def of(self, *states: State) -> tuple[Difference, ...]:
        """The differences in these states."""
        return tuple(each for each in self.differences if each.state in states)

    def is_current(self, *, strict: bool = False) -> bool:
        """Whether `out/` is what is produced; foreign files count only when strict."""
        tolerated = () if strict else self.of(State.FOREIGN)
        return not self.diagnostics and len(self.differences) == len(tolerated)


@frozen(kw_only=True, eq=False, repr=False)
class Written(Value):
    """What a write did.

    Attributes:
        written: paths that got new bytes or another mode.
        removed: paths of orphans that are gone.
        unchanged: how many files were right and not touched.
        foreign: paths that are nobody's, left alone.
        resumed: whether a run that was cut off has been brought to its end.
    """

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    foreign: tuple[str, ...] = ()
    resumed: bool = False
