"""What is wrong, as data: a code, a severity, the places, and what to do about it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from attrs import evolve, frozen

from compiler.value import Value


class Severity(StrEnum):
    """How bad it is: an error refuses the profile, a warning is printed and passes."""

    ERROR = "error"
    WARNING = "warning"


@frozen(kw_only=True, order=True)
class Span:
    """A stretch of a text file: lines and columns count from 1, in code points; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def place(self) -> str:
        """Where it begins, as editors open it: `profiles/k2.6-200k.toml:11:12`."""
        return f"{self.file}:{self.line}:{self.column}"


@frozen(eq=False, repr=False)
class Label(Value):
    """A span with the short sentence that stands beside its carets; a secret's characters are never shown."""

    span: Span
    text: str = ""
    secret: bool = False


def present(*labels: Label | None) -> tuple[Label, ...]:
    """The labels that there are: a setting that no file sets has none."""
    return tuple(label for label in labels if label is not None)


@frozen(kw_only=True, eq=False, repr=False)
class Diagnostic(Value):
    """One finding. Built where the rule stands, shown by `report`, never raised.

    Attributes:
        code: a stable word (`pool-too-small`), the name of its explanation page.
        severity: error or warning.
        summary: one line, lower case, no full stop; values in backticks.
        primary: the place to look at first; `None` only when there is no file to point into.
        secondary: every other place that contributed, with its value.
        notes: the why, with the numbers.
        help: the smallest changes that mend it; only advice that applies.
        path: the setting concerned (`memory.fraction`), where there is one.
        accepted: the reason that its profile accepts it for; it is a warning then, and tells no more than that.
        between: of what stands between services, these: the profile and the host of each.
        profiles: of what files say that do not know of each other, the profiles that can settle it.
    """

    code: str
    severity: Severity
    summary: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    path: str | None = None
    accepted: str | None = None
    between: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """How it stands, and its code: `error pool-too-small`, `accepted pool-likely-short`."""
        return f"{self.severity.value if self.accepted is None else 'accepted'} {self.code}"

    @property
    def told(self) -> str:
        """Its summary; of what is accepted its figures, too, which nothing else shows then, and why it is."""
        if self.accepted is None:
            return self.summary
        labels = (each for each in (self.primary, *self.secondary) if each is not None)
        figures = [each.text for each in labels if any(map(str.isdigit, each.text))]
        said = ": ".join(filter(None, (self.summary, ", ".join(figures))))
        return f"{said} (accepted: {self.accepted})"

    @property
    def mends(self) -> tuple[str, ...]:
        """The lines of its help for a page that is read elsewhere: without commands of ours to run."""
        lines = (line for entry in self.help for line in entry.split("\n"))
        return tuple(line for line in lines if "poolproof " not in line)

    @property
    def is_error(self) -> bool:
        """Whether this finding refuses the profile."""
        return self.severity is Severity.ERROR


def unpadded(text: str) -> str:
    """A text without the padding of columns, for where they do not line up; what stands in backticks is as it was."""
    if "  " not in text:
        return text
    return re.sub(r"(`[^`\n]*`)|(?<=\S) {2,}(?=\S)", lambda found: found[1] or ": ", text)


def error(  # noqa: PLR0913 - the fields of a finding
    code: str,
    summary: str,
    primary: Label | None = None,
    *,
    secondary: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: tuple[str, ...] = (),  # noqa: A002 - the word every compiler uses
    path: str | None = None,
    between: tuple[tuple[str, str], ...] = (),
) -> Diagnostic:
    """A finding that refuses the profile."""
    return Diagnostic(
        code=code,
        severity=Severity.ERROR,
        summary=summary,
        primary=primary,
        secondary=secondary,
        notes=notes,
        help=help,
        path=path,
        between=between,
    )


def warning(  # noqa: PLR0913 - the fields of a finding
    code: str,
    summary: str,
    primary: Label | None = None,
    *,
    secondary: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: tuple[str, ...] = (),  # noqa: A002 - the word every compiler uses
    path: str | None = None,
    between: tuple[tuple[str, str], ...] = (),
) -> Diagnostic:
    """A finding that is printed and passes, but for `--strict`."""
    found = error(
        code,
        summary,
        primary,
        secondary=secondary,
        notes=notes,
        help=help,
        path=path,
        between=between,
    )
    return evolve(found, severity=Severity.WARNING)


def error_codes(found: Iterable[Diagnostic]) -> tuple[str, ...]:
    """The codes of the errors among findings, each once."""
    return tuple(dict.fromkeys(each.code for each in found if each.is_error))


def reason_of(fault: OSError | RuntimeError | ValueError) -> str:
    """Why the system would not, or a path cannot be, as the end of a sentence: `permission denied`."""
    if isinstance(fault, RuntimeError):  # what a circle of links is, before Python 3.13
        return os.strerror(errno.ELOOP).lower()
    said = fault.strerror if isinstance(fault, OSError) else None
    return (said or str(fault) or "the system gives no reason").lower()


def place_of(fault: OSError) -> tuple[str, ...]:
    """Where the system would not, as a note; none where it does not say."""
    place = fault.filename2 or fault.filename
    return () if place is None else (f"at `{place}`",)


def listed(names: Sequence[str], *, most: int | None = None) -> str:
    """Names as a sentence has them: `a`, `a and b`, `a, b, and c`; where there are more than the `most`, how many more."""
    if most is not None and len(names) > most:
        names = (*names[:most], f"{len(names) - most} more")
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"  # noqa: PLR2004 - a comma from three on


def printable(text: str) -> str:
    r"""The text on one line, with what cannot be seen, or steers a terminal, spelled out (`\u001b`)."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _spelled(ord(each)) for each in text)


def _spelled(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the last of four digits
