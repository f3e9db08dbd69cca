"""The generations of one unit as they stand on the disk, read without changing anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from compiler.diagnostics import Diagnostic, error
from compiler.host.places import (
    CURRENT,
    GENERATION,
    MANIFEST,
    NEW,
    NEW_CURRENT,
    NEW_RECORD,
    OLD,
    RECORD,
    Places,
)
from compiler.host.record import Record, State, read_record
from compiler.tree.disk import EntryKind, look, survey
from compiler.tree.manifest import parse_manifest
from compiler.value import Value


_NAME = re.compile(rf"{GENERATION}([1-9][0-9]{{0,8}})")
_OURS = frozenset({CURRENT, RECORD, NEW, NEW_CURRENT, NEW_RECORD})
_SHOWN_DAMAGE = 5


@frozen(kw_only=True, eq=False, repr=False)
class Generation(Value):
    """One generation: a numbered folder that nobody changes.

    Attributes:
        source: what was staged, `PROFILE/TARGET`.
        manifest: the text of its MANIFEST; two generations with the same are the same.
    """

    number: int
    path: Path
    source: str
    manifest: bytes

    @property
    def damage(self) -> tuple[str, ...]:
        """How it is not as it was written, as sentences; empty for a whole one. Every file is read for it."""
        return _shortened(_damage(self.path, self.manifest))

    @property
    def profile(self) -> str:
        """The profile it was compiled from."""
        return self.source.partition("/")[0]

    @property
    def target(self) -> str:
        """The target it was compiled for."""
        return self.source.partition("/")[2]

    def content(self) -> Mapping[str, bytes]:
        """Its files by name, as they stand; what is gone is left out."""
        lines = parse_manifest(self.manifest).lines
        found = {line.path: look(self.path, line.path).version for line in lines}
        return {name: each.content for name, each in found.items() if each is not None}


@frozen(kw_only=True, eq=False, repr=False)
class Store(Value):
    """All generations of a unit.

    Attributes:
        current: the number that `current` names, whether or not there is such a generation.
        leftovers: what a run that was cut off left behind.
    """

    places: Places
    generations: Mapping[int, Generation]
    current: int | None
    record: Record
    leftovers: tuple[Path, ...] = ()

    @property
    def highest(self) -> int:
        """The highest number that was ever given; 0 before the first."""
        return max(self.record.last, self.current or 0, *self.generations, 0)

    @property
    def in_use(self) -> Generation | None:
        """The current generation, where it is there."""
        return None if self.current is None else self.generations.get(self.current)

    def may_return_to(self, number: int) -> bool:
        """Whether a way back may end here: it is whole, and it did not fail."""
        if self.record.note(number).state is State.FAILED:
            return False
        one = self.generations.get(number)
        return one is not None and not one.damage


def read_store(places: Places) -> Store | Diagnostic:
    """What stands in the folder of generations; an empty store where there is no folder.

    Errors: `state-foreign` where something else is there.

    Raises:
        OSError: when the folder cannot be read.
    """
    state = places.state
    try:
        names = sorted(os.listdir(state))  # noqa: PTH208 - names, not paths
    except FileNotFoundError:
        names = []
    except NotADirectoryError:
        return _foreign(places, "it is no folder")
    record = read_record(state)
    numbers = [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]
    foreign = [name for name in names if not _is_ours(name)]
    if foreign and record is None and not numbers:
        return _foreign(places, f"it holds `{foreign[0]}`, which no switch wrote")
    if record is not None and record.unit != places.unit:
        return _foreign(places, f"it holds the generations of `{record.unit}`")
    current = _read_current(places)
    if isinstance(current, Diagnostic):
        return current
    return Store(
        places=places,
        generations={number: read_generation(places, number) for number in sorted(numbers)},
        current=current,
        record=record or Record(unit=places.unit),
        leftovers=tuple(state / name for name in names if _is_leftover(name)),
    )


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(OLD) or _NAME.fullmatch(name) is not None


def _is_leftover(name: str) -> bool:
    return name in (NEW, NEW_CURRENT, NEW_RECORD) or name.startswith(OLD)


def _read_current(places: Places) -> int | Diagnostic | None:
    path = places.state / CURRENT
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISLNK(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a file"
        return _foreign(places, f"`{CURRENT}` in it is {kind}, where a link belongs")
    text = str(path.readlink())
    match = _NAME.fullmatch(text)
    if match is None:
        return _foreign(places, f"`{CURRENT}` in it is a link to `{text}`, which is no generation")
    return int(match[1])


def _foreign(places: Places, why: str) -> Diagnostic:
    return error(
        "state-foreign",
        f"`{places.state_dir}` cannot hold the generations of `{places.unit}`: {why}",
        notes=("nothing was changed",),
        help=("move it away, or give the target another `state_dir` and compile",),
    )


def read_generation(places: Places, number: int) -> Generation:
    """One generation; of its files only MANIFEST is read, since a host may have very many.

    Raises:
        OSError: when it cannot be read.
    """
    path = places.generation(number)
    standing = look(path, MANIFEST).version
    content = b"" if standing is None else standing.content
    sources = {line.profile for line in parse_manifest(content).lines}
    return Generation(number=number, path=path, source=min(sources, default=""), manifest=content)


def _damage(path: Path, manifest: bytes) -> list[str]:
    parsed = parse_manifest(manifest)
    found = [f"MANIFEST: {fault}" for fault in parsed.faults]
    if (
        look(path, MANIFEST).kind is not EntryKind.FILE
        or len({e.profile for e in parsed.lines}) != 1
    ):
        return [*found, "its MANIFEST is missing, or not that of a generation"]
    lines = parsed.lines
    for line in lines:
        standing = look(path, line.path)
        if standing.kind is EntryKind.ABSENT:
            found.append(f"`{line.path}` is gone")
        elif standing.version is None:
            found.append(f"`{line.path}` is no file any more: {standing.note}")
        elif standing.version.identity != line.identity:
            found.append(f"`{line.path}` has another hash")
    known = {MANIFEST, *(line.path for line in lines)}
    return found + [f"`{each}` was added" for each in survey(path) if each not in known]


def _shortened(damage: list[str]) -> tuple[str, ...]:
    more = len(damage) - _SHOWN_DAMAGE
    return tuple(damage) if more <= 1 else (*damage[:_SHOWN_DAMAGE], f"and {more} more")
