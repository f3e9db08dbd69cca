"""Compare what is produced with what stands in `out/`, and say of each path how it differs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from attrs import evolve

from compiler.diagnostics import printable
from compiler.tree import troubles
from compiler.tree.disk import EntryKind, Standing, look, survey
from compiler.tree.files import OutFile, OutTree
from compiler.tree.locks import WAIT_S, locked
from compiler.tree.manifest import ManifestLine, render_manifest
from compiler.tree.places import (
    JOURNAL,
    MANIFEST,
    PENDING,
    is_working_file,
    parents,
    path_fault,
)
from compiler.tree.record import Record, next_lines, read_record
from compiler.tree.states import Comparison, Difference, State, Version


def compare(
    tree: OutTree, *, root: Path, profiles: frozenset[str] | None, wait_s: float = WAIT_S
) -> Comparison:
    """How `out/` differs from a tree; reads only.

    With `profiles`, only their files, their folders and their lines of MANIFEST are looked at.

    Errors, in the comparison: `out-busy` when a compile is at work, `out-unreadable`.
    """
    try:
        if not root.exists():
            return judge(tree, read_record(root), root=root, profiles=profiles)
        with locked(root, exclusive=False, wait_s=wait_s) as held:
            if not held:
                return Comparison(diagnostics=(troubles.busy(root),))
            return judge(tree, read_record(root), root=root, profiles=profiles)
    except OSError as failure:
        return Comparison(diagnostics=(troubles.unreadable(root, failure),))


def judge(
    tree: OutTree, record: Record, *, root: Path, profiles: frozenset[str] | None
) -> Comparison:
    """`compare` for one who holds the lock and has read the record.

    Raises:
        OSError: when a folder cannot be listed.
    """
    files = tree.of(profiles)
    wanted = {file.path: file for file in files}
    found: list[Difference] = []
    seen: set[str] = set()
    for path in record.paths(profiles) - wanted.keys():
        standing = look(root, path, seen=seen)
        found += _judge_unwanted(path, standing, record.line(path, standing))
    going = {each.path for each in found if each.is_unwanted}
    for file in files:
        standing = look(root, file.path, seen=seen)
        found += _judge_wanted(file, standing, record, root=root, going=going)
    found += _judge_manifest(record, files, root=root, profiles=profiles)
    found += _judge_pending(record, profiles=profiles)
    folders = {path.rpartition("/")[0] for path in wanted}
    above = {each for folder in folders for each in parents(folder)}
    known = {*record.paths(None), *wanted, *folders, *above, MANIFEST}
    found += _foreign(root, known=known, profiles=profiles)
    return Comparison(differences=tuple(sorted(found, key=lambda each: each.path)))


def _judge_wanted(
    file: OutFile, standing: Standing, record: Record, *, root: Path, going: Collection[str]
) -> Iterator[Difference]:
    wanted = Version(file.text.encode(), file.executable)
    notes: tuple[str, ...]
    if standing.version == wanted:
        if record.manifest.kind is EntryKind.ABSENT or ManifestLine.of(file) in record.listed.get(
            file.path, ()
        ):
            return
        state, notes = State.STALE, ("the file is right, its line in MANIFEST is not",)
    else:
        state, notes = _state_of(standing, wanted, record.line(file.path, standing))
        # Without MANIFEST nobody knows what was written.
        if state is State.MISSING and record.manifest.kind is EntryKind.ABSENT:
            notes = ()
    yield Difference(
        path=file.path,
        state=state,
        profile=file.profile,
        notes=notes,
        standing=standing.version,
        wanted=wanted,
        immovable=_is_immovable(root, file.path, standing, going=going),
    )


def _state_of(
    standing: Standing, wanted: Version, line: ManifestLine | None
) -> tuple[State, tuple[str, ...]]:
    if standing.kind is EntryKind.ABSENT:
        return State.MISSING, (() if line else ("it was never written",))
    notes: tuple[str, ...] = (standing.note,) if standing.note else ()
    if line is None:
        return State.BLOCKED, notes
    if standing.version is not None and standing.version.identity == line.identity:
        return State.STALE, ()
    if standing.version is not None and standing.version.content == wanted.content:
        notes += ("only its executable bit differs",)
    elif line.identity != wanted.identity:
        notes += ("its inputs changed too",)
    return State.EDITED, notes


def _judge_unwanted(
    path: str, standing: Standing, line: ManifestLine | None
) -> Iterator[Difference]:
    found = Difference(path=path, state=State.ORPHAN, standing=standing.version)
    if line is None:
        # A run that was cut off meant to write it and did not; what stands there now is somebody's.
        if standing.kind in (EntryKind.FILE, EntryKind.OTHER):
            yield evolve(found, state=State.FOREIGN)
        return
    found = evolve(found, profile=line.profile)
    if standing.version is not None and standing.version.identity == line.identity:
        yield found
    elif standing.kind in (EntryKind.FILE, EntryKind.OTHER):
        notes = (standing.note,) if standing.note else ()
        yield evolve(found, state=State.EDITED, notes=(*notes, "it is no longer produced"))
    else:
        yield evolve(found, notes=("the file is gone, only its line in MANIFEST is left",))


def _judge_manifest(
    record: Record, files: Collection[OutFile], *, root: Path, profiles: frozenset[str] | None
) -> Iterator[Difference]:
    """MANIFEST itself. How it is written belongs to no profile, so a run for some only asks whether it is a file."""
    standing = record.manifest
    absent = standing.kind is EntryKind.ABSENT and bool(files)
    broken = record.faults and (profiles is None or standing.kind is not EntryKind.FILE)
    if absent or broken:
        lines = next_lines(record, files, root=root, profiles=profiles)
        yield Difference(
            path=MANIFEST,
            state=State.MISSING if absent else State.EDITED,
            notes=record.faults,
            standing=standing.version,
            wanted=Version(render_manifest(lines).encode(), executable=False),
            immovable=_is_immovable(root, MANIFEST, standing, going=()),
        )


def _judge_pending(record: Record, *, profiles: frozenset[str] | None) -> Iterator[Difference]:
    if record.pending.kind is EntryKind.OTHER:
        yield Difference(path=PENDING, state=State.BLOCKED, notes=(record.pending.note,))
    elif record.pending.kind is EntryKind.FILE:
        yield Difference(path=PENDING, state=State.BLOCKED, notes=("a file stands there",))
    elif record.is_left_over and profiles is None:
        notes = ("left by a compile that was cut off; the next one finishes it",)
        yield Difference(path=f"{PENDING}/{JOURNAL}", state=State.STALE, notes=notes)


def _is_immovable(root: Path, path: str, standing: Standing, *, going: Collection[str]) -> bool:
    """Whether a directory stands there with something in it that is not about to go."""
    return standing.kind is EntryKind.DIRECTORY and not set(survey(root, path)) <= set(going)


def _foreign(
    root: Path, *, known: Collection[str], profiles: frozenset[str] | None
) -> Iterator[Difference]:
    if not root.exists():
        return
    named = profiles or frozenset()
    folders = [""] if profiles is None else [name for name in named if path_fault(name) is None]
    for path in sorted({path for folder in folders for path in survey(root, folder)}):
        if path not in known and path != PENDING and not is_working_file(path):
            yield Difference(path=printable(path), state=State.FOREIGN)
