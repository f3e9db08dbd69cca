"""The text of a systemd unit in, its assignments out.

Written from what systemd 252 was seen to do with any input, not from `quoting`, so that each can judge the other. It
reads units that people wrote as well as our own. Values are left as they stand; `unitvalue` reads those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from compiler.value import Value


BLANKS: Final = " \t\n\r"
"""What systemd calls white space; a vertical tab, a no-break space and the like are ordinary characters."""

_LINE_END: Final = re.compile("\n\r?\0?|\r\n?\0?|\0")
_LINE_BYTES: Final = 1 << 20  # LONG_LINE_MAX
_UNCLEAN: Final = (  # compiled for the first text beyond ASCII; so wide a set takes long
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)


@frozen(kw_only=True, eq=False, repr=False)
class Assignment(Value):
    """One `Key=value` of a unit.

    Attributes:
        value: continuation lines joined, blanks at both ends dropped, nothing unquoted.
        line: the line it begins on, from 1.
    """

    section: str
    key: str
    value: str
    line: int


@frozen(kw_only=True, eq=False, repr=False)
class Remark(Value):
    """Something systemd warns about or refuses, and what it makes of it; the line counts from 1."""

    line: int
    text: str


@frozen(kw_only=True, eq=False, repr=False)
class Unit(Value):
    """What a unit says, in the order of the file. A `fault` makes systemd refuse the unit; reading stops there."""

    assignments: tuple[Assignment, ...]
    remarks: tuple[Remark, ...] = ()
    fault: Remark | None = None

    def values(self, section: str, *, key: str) -> tuple[str, ...]:
        """Every value of one setting, in order; what an empty one resets is for the caller to know."""
        return tuple(
            each.value for each in self.assignments if each.key == key and each.section == section
        )


def is_clean(text: str) -> bool:
    """Whether systemd takes the text for valid UTF-8: no half surrogates (undecodable bytes) and no noncharacters."""
    return text.isascii() or re.search(_UNCLEAN, text) is None


def read_unit(text: str) -> Unit:
    """The assignments of a unit. Bytes that are no UTF-8 come in as half surrogates (`surrogateescape`)."""
    section: str | None = None
    assignments: list[Assignment] = []
    remarks: list[Remark] = []
    harmless = len(text) < _LINE_BYTES // 4 and is_clean(text)
    for number, line in _logical_lines(text):
        is_header = line.startswith("[")
        fault = None if harmless and not is_header else _fault(line)
        if fault is not None:
            return Unit(
                assignments=tuple(assignments),
                remarks=tuple(remarks),
                fault=Remark(line=number, text=fault),
            )
        key, equals, value = line.partition("=")
        if is_header:
            section = line[1:-1]
        elif section is None or not equals or not key:
            remark = _remark(line, in_section=section is not None)
            remarks.append(Remark(line=number, text=remark))
        else:
            assignments.append(
                Assignment(
                    section=section, key=key.rstrip(BLANKS), value=value.lstrip(BLANKS), line=number
                )
            )
    return Unit(assignments=tuple(assignments), remarks=tuple(remarks))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line that says something, joined with its continuations and stripped, with the number of its first."""
    pending: list[str] = []
    first = 0
    for number, line in enumerate(_lines(text.removeprefix("\ufeff")), start=1):
        stripped = line.strip(BLANKS)
        if stripped.startswith(("#", ";")):
            continue  # also between two continuation lines
        first = first or number
        if line.endswith("\\") and _ends_in_continuation(line):
            pending += (line[:-1], " ")
            continue
        joined = "".join((*pending, line)).strip(BLANKS) if pending else stripped
        if joined:
            yield first, joined
        pending, first = [], 0
    joined = "".join(pending).strip(BLANKS)
    if joined:
        yield first, joined


def _lines(text: str) -> list[str]:
    """The text without its line ends; nearly every unit has one kind of these only."""
    return _LINE_END.split(text) if "\r" in text or "\0" in text else text.split("\n")


def _ends_in_continuation(line: str) -> bool:
    """Whether the last backslash is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _fault(line: str) -> str | None:
    if len(line.encode(errors="surrogatepass")) > _LINE_BYTES:
        return "the line is longer than 1 MiB; systemd refuses the file"
    if not is_clean(line):
        return "the line is no valid UTF-8; systemd refuses the file"
    if line.startswith("[") and not line.endswith("]"):
        return f"`{line}` is no section header; systemd refuses the file"
    return None


def _remark(line: str, *, in_section: bool) -> str:
    """What systemd says of a line that it ignores."""
    if not in_section:
        return "the line stands before any section and is ignored"
    if "=" not in line:
        return "the line has no `=` and is ignored"
    return "the line has no key and is ignored"
