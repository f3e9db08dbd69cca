"""A unit with its drop-ins goes in; its assignments come out in the order they count, each with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from attrs import field, frozen

from compiler.adopt.files import Files, as_source, unreadable
from compiler.diagnostics import Diagnostic, Span
from compiler.quoting.unitfile import Assignment, read_unit
from compiler.source import Source
from compiler.value import Value


_SPECIFIER = re.compile(r"%(.)")
CONTAINER = "Container"
"""The section of a quadlet that is about its container."""
_USER_QUADLETS = "/.config/containers/systemd/"
OPEN, CLOSE = "\ue000", "\ue001"
"""Around what is not known while a value is taken apart: characters for private use, which no unit holds."""

# systemd.unit(5), "Specifiers", for the system's manager; a user's manager has other folders, which depend on the user.
_SYSTEM = {
    "h": "/root",
    "u": "root",
    "U": "0",
    "g": "root",
    "G": "0",
    "s": "/bin/sh",
    "t": "/run",
    "S": "/var/lib",
    "C": "/var/cache",
    "L": "/var/log",
    "E": "/etc",
    "T": "/tmp",  # noqa: S108 - what the specifier says
    "V": "/var/tmp",  # noqa: S108 - likewise
}


@frozen(kw_only=True, eq=False, repr=False)
class Assigned(Value):
    """One assignment, its specifiers resolved where they are known.

    Attributes:
        value: unknown specifiers stand between `OPEN` and `CLOSE`.
        raw: as it is written.
    """

    section: str
    key: str
    value: str
    raw: str
    source: Source
    line: int

    @property
    def span(self) -> Span:
        """The line it begins on."""
        line = self.source.line(self.line)
        begin = len(line) - len(line.lstrip())
        end = len(line.rstrip())
        return Span(
            file=self.source.name,
            line=self.line,
            column=begin + 1,
            end_line=self.line,
            end_column=max(begin + 2, end + 1),
        )

    @property
    def start(self) -> int:
        """The offset of its value."""
        return self.source.text.find("=", self.source.line_starts[self.line - 1]) + 1


@frozen(kw_only=True, eq=False, repr=False)
class UnitSheet(Value):
    """A unit with its drop-ins."""

    name: str
    assigned: tuple[Assigned, ...]
    sources: Mapping[str, Source] = field(factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    is_user: bool = False

    @property
    def is_quadlet(self) -> bool:
        """Whether Podman makes a unit of it."""
        return any(each.section == CONTAINER for each in self.assigned)

    def of(self, section: str, key: str) -> tuple[Assigned, ...]:
        """The assignments of a key that count: an empty one takes back those before it."""
        several: list[Assigned] = []
        for each in self.assigned:
            if (each.section, each.key) == (section, key):
                several = [*several, each] if each.value else []
        return tuple(several)

    def last(self, section: str, key: str) -> Assigned | None:
        """The assignment that counts of a key with one value."""
        several = self.of(section, key)
        return several[-1] if several else None


def read_sheet(source: Source, *, files: Files, given: Mapping[str, str]) -> UnitSheet:
    """Read a unit, and the drop-ins in the folder beside it; `i` may be given for a template's instance.

    Errors: `launch-unreadable`.
    """
    name = PurePosixPath(source.name).name
    texts = [source]
    found: list[Diagnostic] = []
    folder = f"{source.name}.d"
    for each in files.beside(folder):
        data = files.read(f"{folder}/{each}") if each.endswith(".conf") else None
        if data is not None and data.strip():
            read, faults = as_source(f"{folder}/{each}", data)
            found += faults
            texts += [read] if read is not None else []
    raw: list[tuple[Source, Assignment]] = []
    for text in texts:
        unit = read_unit(text.text)
        raw += [(text, each) for each in unit.assignments]
        if unit.fault is not None:
            found.append(unreadable(text.name, unit.fault.text, line=unit.fault.line))
    # A quadlet is `WantedBy=default.target` for the system's manager, too: podman-systemd.unit(5).
    is_quadlet = any(each.section == CONTAINER for _, each in raw)
    by_place = _USER_QUADLETS if is_quadlet else "/user/"
    is_user = by_place in source.name or any(
        (each.section, each.key, each.value) == ("Install", "WantedBy", "default.target")
        for _, each in raw
        if not is_quadlet
    )
    return UnitSheet(
        name=name,
        assigned=tuple(
            _assigned(text, each, name=_instance(name, given), is_user=is_user)
            for text, each in raw
        ),
        sources={text.name: text for text in texts},
        diagnostics=tuple(found),
        is_user=is_user,
    )


def _instance(name: str, given: Mapping[str, str]) -> str:
    """The name of a template's instance, where one is given."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}{given['i']}.{suffix}" if stem.endswith("@") and "i" in given else name


def _assigned(source: Source, each: Assignment, *, name: str, is_user: bool) -> Assigned:
    return Assigned(
        section=each.section,
        key=each.key,
        value=_resolved(each.value, name=name, is_user=is_user),
        raw=each.value,
        source=source,
        line=each.line,
    )


def _resolved(value: str, *, name: str, is_user: bool) -> str:
    """The value with its specifiers resolved; `%%` is left for who takes it apart."""
    stem = name.rpartition(".")[0]
    prefix, at, instance = stem.partition("@")
    own = {"n": name, "N": stem, "p": prefix if at else stem}
    if not at:
        own |= {"i": "", "I": ""}
    elif instance:
        own |= {"i": instance, "I": instance.replace("-", "/")}
    known = own if is_user else {**_SYSTEM, **own}

    def resolve(found: re.Match[str]) -> str:
        letter = found[1]
        if letter == "%" or not letter.isalpha():
            return found[0]
        return known.get(letter, f"{OPEN}%%{letter}{CLOSE}")

    return _SPECIFIER.sub(resolve, value)
