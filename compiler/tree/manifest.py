"""MANIFEST: its lines, from text and to text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter

from attrs import frozen

from compiler.tree.files import OutFile
from compiler.tree.places import path_fault
from compiler.value import Value


HEADER = "# sha256  mode  path  profile"

_LINE = re.compile(r"([0-9a-f]{64})  (644|755)  (\S+)  (\S+)")
_CONFLICT = re.compile(r"(<{7}|\|{7}|={7}|>{7})( |$)")
_SHOWN_FAULTS = 3


@frozen(eq=False, repr=False)
class Identity(Value):
    """What tells one version of a file from another: the digest of its bytes, and its executable bit."""

    sha256: str
    executable: bool


@frozen(kw_only=True)
class ManifestLine:
    """One file that a compile wrote."""

    path: str
    profile: str
    sha256: str
    executable: bool

    @property
    def identity(self) -> Identity:
        """What must stand on the disk for the file to be as it was written."""
        return Identity(self.sha256, self.executable)

    @classmethod
    def of(cls, file: OutFile) -> ManifestLine:
        """The line of a file to write."""
        return cls(
            path=file.path,
            profile=file.profile,
            sha256=_digest_of(file.text),
            executable=file.executable,
        )


@frozen(kw_only=True, eq=False, repr=False)
class Parsed(Value):
    """What a MANIFEST says: its good lines, and what is wrong with the text, as sentences."""

    lines: tuple[ManifestLine, ...] = ()
    faults: tuple[str, ...] = ()


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 - only what touches `out/` pays for the import

    return sha256(content).hexdigest()


@lru_cache(maxsize=64)  # the probe, half of what a service writes, is the same text in each
def _digest_of(text: str) -> str:
    return digest(text.encode())


def render_manifest(lines: Iterable[ManifestLine]) -> str:
    """The text of a MANIFEST: a heading, then one line a file, sorted by path."""
    rows = (
        f"{line.sha256}  {mode(executable=line.executable)}  {line.path}  {line.profile}"
        for line in sorted(lines, key=attrgetter("path", "profile", "sha256", "executable"))
    )
    return "".join(f"{row}\n" for row in (HEADER, *rows))


def mode(*, executable: bool) -> str:
    """The mode as MANIFEST writes it."""
    return "755" if executable else "644"


def parse_manifest(content: bytes) -> Parsed:
    """Read a MANIFEST; a line that is none is a fault, and the others still count."""
    text = content.decode("utf-8", "replace")
    lines: list[ManifestLine] = []
    faults: list[str] = []
    for number, row in enumerate(text.split("\n"), start=1):
        line = _parse_line(row.rstrip("\r"))
        if isinstance(line, ManifestLine):
            lines.append(line)
        elif line is not None:
            faults.append(f"line {number} {line}")
    if len(faults) > _SHOWN_FAULTS:
        faults[_SHOWN_FAULTS:] = [f"{len(faults) - _SHOWN_FAULTS} more of its lines are no better"]
    if not faults and render_manifest(lines) != text:
        faults.append("its lines are repeated, out of order, or not as a compile writes them")
    return Parsed(lines=tuple(lines), faults=tuple(faults))


def _parse_line(row: str) -> ManifestLine | str | None:
    if not row or row.startswith("#"):
        return None
    if _CONFLICT.match(row):
        return "is a merge conflict marker"
    match = _LINE.fullmatch(row)
    if match is None:
        return "is not of the form `sha256  mode  path  profile`"
    sha256, bits, path, profile = match.groups()
    fault = path_fault(path)
    if fault is not None:
        return f"names a path that {fault}"
    return ManifestLine(path=path, profile=profile, sha256=sha256, executable=bits == "755")
