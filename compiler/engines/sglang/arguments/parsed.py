"""What a release's parser makes of a command line: settings with the words that set them, or its refusal. No behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

from compiler.value import Value


class Entry(StrEnum):
    """How the server is started."""

    MODULE = "module"
    """`python -m sglang.launch_server`, in every release."""
    SERVE = "serve"
    """`sglang serve`, from 0.5.5 on."""


class RefusalKind(StrEnum):
    """Why a command line is refused."""

    ENTRY = "entry"
    """What starts the server stops before its parser is asked."""
    CONFIG = "config"
    """The file of `--config` cannot be used."""
    UNRECOGNIZED = "unrecognized"
    """Words that belong to no flag."""
    AMBIGUOUS = "ambiguous"
    """The beginning of several flags."""
    VALUE = "value"
    """A flag whose value, or the number of its values, is wrong."""
    REQUIRED = "required"
    """A flag that must be given is not."""
    RETIRED = "retired"
    """A flag that is only there to stop the server."""
    HELP = "help"
    """The parser prints its help and ends."""


@frozen(kw_only=True, eq=False, repr=False)
class Refusal(Value):
    """Why the server does not start.

    Attributes:
        message: what the parser says, or our words where it would end in a traceback.
        flag: the full name of the flag concerned, where there is one.
        words: the words it is about, where the parser names some.
    """

    kind: RefusalKind
    message: str
    flag: str | None = None
    words: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Given(Value):
    """One flag of the command line, or of the file of `--config`.

    Attributes:
        flag: its full name.
        spelling: the option string the parser took it for; another than `written` for an abbreviation.
        written: the word as it stands there, without a value behind `=`.
        dest: the setting it writes; nothing is written by a flag that only warns.
        value: what it writes, read as the parser reads it.
        places: the indices of its words in the command line; none for an entry of the file.
    """

    flag: str
    spelling: str
    written: str
    dest: str | None
    value: object
    places: tuple[int, ...] = ()

    @property
    def abbreviated(self) -> bool:
        """Whether only the beginning of its name is written."""
        return self.written != self.spelling


@frozen(kw_only=True, eq=False, repr=False)
class Parsed(Value):
    """A command line as one release reads it.

    Attributes:
        values: each setting's value, defaults filled in; empty when the command line is refused.
        given: the flags in the order they count, those of the file first; when refused, those before the fault.
        config: the path of the file of `--config`, when its entries count.
        config_read: whether that file was there to be read; if not, it may set more than is known here.
        refusal: why the server does not start; `None` when it does.
    """

    values: Mapping[str, object] = field(factory=dict)
    given: tuple[Given, ...] = ()
    config: str | None = None
    config_read: bool = True
    refusal: Refusal | None = None

    @property
    def overridden(self) -> tuple[Given, ...]:
        """The flags without effect, because a later one writes the same setting."""
        last = {each.dest: each for each in self.given if each.dest is not None}
        return tuple(
            each for each in self.given if each.dest is not None and last[each.dest] is not each
        )
