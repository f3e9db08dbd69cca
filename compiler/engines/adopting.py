"""What an engine makes of a launch that somebody wrote: settings of a profile, and what there is to say about them.

Words are told by their index in the launch; whoever read it knows where each stands. No behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from attrs import field, frozen

from compiler.diagnostics import Diagnostic, error
from compiler.engines.engine import ReadFile
from compiler.engines.found import Found
from compiler.profile import Argument
from compiler.value import Value


class ChangeKind(StrEnum):
    """What became of a part of the launch that does not stand in the profile as it stood there."""

    FOLDED = "folded"
    """Given twice: only the last one counts."""
    RENAMED = "renamed"
    """Written by another name: an abbreviation, or a flag on its way out."""
    SECRET = "secret"  # noqa: S105 - a word, not a password
    """Left out: it goes to a file on the host."""
    UNKNOWN = "unknown"
    """Left out: what it says is known at start only."""
    DROPPED = "dropped"
    """Left out: the profile has no place for it."""
    ASSUMED = "assumed"
    """Taken for granted, since the launch does not say."""
    OPEN = "open"
    """Left to say: the profile is not compiled before."""


@frozen(kw_only=True, eq=False, repr=False)
class Noted(Value):
    """One such part, as the engine sees it."""

    kind: ChangeKind
    text: str
    words: tuple[int, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Carried(Value):
    """One flag of the launch on its way into a profile.

    Attributes:
        flag: its full name, with dashes.
        argument: what `[flags]` would say.
        words: its words in the launch.
        settings: the typed settings that say the same; empty where there are none.
        dest: the setting of the engine that it writes; `None` for a flag that the release refuses.
    """

    flag: str
    argument: Argument
    words: tuple[int, ...]
    settings: Mapping[str, object] = field(factory=dict)
    dest: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class LeftOpen(Value):
    """A flag whose value is known at start only, or a word that may hold more flags.

    Attributes:
        flag: as it is written; the word itself where it is no flag.
        sizes: whether memory may hang on it.
        setting: the typed setting that it decides; empty where there is none.
        how: how it is made known, where that is not by a value.
    """

    flag: str
    words: tuple[int, ...]
    sizes: bool = True
    setting: str = ""
    how: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class Reading(Value):
    """A launch, read.

    Attributes:
        carried: the flags that count, in their order.
        secrets: the flags whose values are secrets, with their words.
        secrets_by_file: whether the release reads them from a file as well.
        lost: words that belong to no flag.
        open: what is known at start only and decides more than an address or a name.
        notes: what there is to say.
        values: what the release's parser makes of it, by the engine's own names, without the flags it refuses and without
            what is not known.
        refused: of `carried`, the flags that the release refuses.
        missing: the settings that the server needs and the launch does not give, each with a stand-in, which `values` has too.
        refusal: why the server does not start even without these; `None` when it would.
    """

    carried: tuple[Carried, ...] = ()
    secrets: Mapping[str, tuple[int, ...]] = field(factory=dict)
    secrets_by_file: bool = True
    lost: tuple[tuple[int, ...], ...] = ()
    open: tuple[LeftOpen, ...] = ()
    notes: tuple[Noted, ...] = ()
    values: Mapping[str, object] = field(factory=dict)
    refused: tuple[Carried, ...] = ()
    missing: Mapping[str, object] = field(factory=dict)
    refusal: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Difference(Value):
    """One setting of the engine that two command lines give different values."""

    dest: str
    wanted: object
    found: object


def unread(engine: str) -> Diagnostic:
    """`reader-missing`: an engine whose flags are known, and whose launches nobody wrote a reader for."""
    return error(
        "reader-missing",
        f"the launches of `{engine}` cannot be read",
        notes=("its parser was not rebuilt, so nobody can say what a command of it comes to",),
        help=("write its settings into a profile, and run `poolproof check`",),
    )


@frozen(kw_only=True, eq=False, repr=False)
class Unfolded(Value):
    """A launch with the flags of a file that it names among its own.

    Attributes:
        words: the words of the launch, each with the index of the word that it comes from.
        notes: what there is to say; the words that they name are those of the launch as it was.
        refusal: why the server stops at the file; then there are no words.
        open: the flag that names a file which is not here.
    """

    words: tuple[tuple[str, int], ...] = ()
    notes: tuple[Noted, ...] = ()
    refusal: str | None = None
    open: tuple[LeftOpen, ...] = ()


class Adopter(Protocol):
    """Reads the launches of one release; make it once for many."""

    def unfold(
        self, words: Sequence[str], *, found: Found, unknown: frozenset[int], read_file: ReadFile
    ) -> Unfolded | None:
        """Put the flags of a file that the launch names among its words; `None` where it names none that is known."""

    def lacks(self, words: Sequence[str], *, found: Found, unknown: frozenset[int]) -> int:
        """At least so many flags of a launch are refused, told without the release's parser."""

    def read(self, words: Sequence[str], *, found: Found, unknown: frozenset[int]) -> Reading:
        """Read a launch; `unknown` are the words that hold what is known at start only."""

    def differences(self, reading: Reading, argv: Sequence[str]) -> tuple[Difference, ...]:
        """What the release's parser reads from `argv` otherwise than from the launch; secrets are not compared."""
