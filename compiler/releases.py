"""The types of what the catalogue knows about an engine: its releases, their flags, and private builds. No behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

from compiler.value import Value


Sources = Mapping[str, str]
"""A key of the file -> a public address, or how the figure was worked out."""

Scalar = str | int | float | bool


class Action(StrEnum):
    """What the parser does when it meets a flag."""

    STORE = "store"
    """Stores the value, or the values, that follow."""
    TRUE = "store-true"
    """Stores true; the setting is false without it."""
    TRUE_OR_UNSET = "store-true-or-unset"
    """Stores true; without it the engine decides."""
    CONST = "store-const"
    """Stores `const`, whatever follows."""
    PAIR = "pair"
    """`--x` stores true, `--no-x` stores false."""
    LORA_NAMES = "lora-names"
    """Stores paths by name, from words such as `name=path`."""
    LORA_LIST = "lora-list"
    """Stores a list of paths; a word in braces is JSON."""
    NOTHING = "nothing"
    """Warns and stores nothing."""
    REFUSE = "refuse"
    """Is there only to stop the server and say what to use instead."""


@frozen(kw_only=True, eq=False, repr=False)
class Flag(Value):
    """One command-line flag of one release.

    Attributes:
        name: with its dashes.
        aliases: its other names; the `--no-` form of a pair is not among them.
        dest: the setting it writes, where that is not its name with underscores.
        takes: what one value is (`str`, `int`, `float`, `json`, ...) or `None` for a flag without a value.
        nargs: argparse's `nargs` (`+`, `*`, `?`, a number as text) or `None`.
        choices: the values it takes, when it takes a few only, as text.
        default: what the setting is without the flag.
        const: what `CONST` stores; or what a flag with `nargs` `?` stores when no value follows.
        action: what the parser does; `None` in a table stands for `STORE`, or `TRUE` when it takes no value.
        deprecated: what the release says about its future, and what to use instead.
        custom: whether a class of the engine's own does it, and not one of argparse's; a file of settings may not know it.
        keys: the keys a JSON object may have, dotted; empty when the parser looks at none.
    """

    name: str
    aliases: tuple[str, ...] = ()
    dest: str | None = None
    takes: str | None = None
    nargs: str | None = None
    choices: tuple[str, ...] = ()
    default: Scalar | tuple[str, ...] | None = None
    const: Scalar | None = None
    action: Action | None = None
    required: bool = False
    deprecated: str | None = None
    custom: bool = False
    keys: tuple[str, ...] = ()

    @property
    def destination(self) -> str:
        """The setting it writes."""
        return self.dest or self.name.lstrip("-").replace("-", "_")

    @property
    def effect(self) -> Action:
        """What the parser does when it meets it."""
        return self.action or (Action.TRUE if self.takes is None else Action.STORE)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every name the parser knows it by, its own first."""
        names = (self.name, *self.aliases)
        if self.action is not Action.PAIR:
            return names
        return (*names, *(f"--no-{each[2:]}" for each in names))


@frozen(kw_only=True, eq=False, repr=False)
class Build(Value):
    """A private build: what it adds to a release, and what is assumed about it.

    Attributes:
        flags: flags it adds or changes, each given whole.
        removed: flags of the release that it does not have.
        algorithms: speculation algorithms it adds.
        draft_pricing: the ways it may count the draft in a token's bytes, likeliest first
            (`layer-scaled`, `exact`, `none`).
        needs: settings it works with only (`page_size = 1`).
        assumptions: sentences for the output.
    """

    id: str
    release: str
    flags: tuple[Flag, ...] = ()
    removed: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    draft_pricing: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(factory=dict)
    assumptions: tuple[str, ...] = ()
    sources: Sources = field(factory=dict)
    shipped: bool = True


@frozen(kw_only=True, eq=False, repr=False)
class Release(Value):
    """One release of an engine, with a build's overlay applied when one is asked for.

    Attributes:
        version: the release asked for.
        read_version: the release whose table is used; another one than `version` when that was not read.
        flags: by full name, in the order of names.
        aliases: other name -> full name; the `--no-` form of a pair is one of them.
    """

    engine: str
    version: str
    read_version: str
    flags: Mapping[str, Flag]
    aliases: Mapping[str, str]
    build: Build | None = None
