"""What is known of earlier compiles: the lines of MANIFEST, and those of the journal of one that was cut off."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import frozen

from compiler.tree.disk import EntryKind, Standing, look
from compiler.tree.files import OutFile
from compiler.tree.manifest import ManifestLine, Parsed, parse_manifest
from compiler.tree.places import JOURNAL, MANIFEST, PENDING, is_working_file
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Record(Value):
    """Every line that may describe what stands in `out/`.

    Attributes:
        manifest: MANIFEST itself.
        faults: what is wrong with it, as sentences.
        listed: its lines by path; several for one path where a merge left both sides.
        journal: the lines of the journal by path.
        pending: what stands at `.pending`.
        is_left_over: whether a run that was cut off left it.
    """

    manifest: Standing
    faults: tuple[str, ...]
    listed: Mapping[str, tuple[ManifestLine, ...]]
    journal: Mapping[str, tuple[ManifestLine, ...]]
    pending: Standing
    is_left_over: bool

    def candidates(self, path: str) -> tuple[ManifestLine, ...]:
        """All lines of a path, those of MANIFEST first."""
        return (*self.listed.get(path, ()), *self.journal.get(path, ()))

    def line(self, path: str, standing: Standing) -> ManifestLine | None:
        """The line that describes what stands at a path; else the one that MANIFEST holds it to, if any."""
        candidates = self.candidates(path)
        if candidates and standing.version is not None:
            identity = standing.version.identity
            for line in candidates:
                if line.identity == identity:
                    return line
        return next(iter(self.listed.get(path, ())), None)

    def paths(self, profiles: frozenset[str] | None) -> frozenset[str]:
        """The paths that a line gives to one of these profiles; `None` means all."""
        return frozenset(
            path
            for path in {*self.listed, *self.journal}
            if profiles is None or any(line.profile in profiles for line in self.candidates(path))
        )

    def journal_for(self, lines: Iterable[ManifestLine]) -> frozenset[ManifestLine]:
        """What the journal of a run that writes these lines must hold."""
        return frozenset(lines).union(*self.journal.values())


def read_record(root: Path) -> Record:
    """Read MANIFEST and the journal; whatever is wrong with them is in the record.

    Raises:
        OSError: when `.pending` cannot be listed.
    """
    manifest = look(root, MANIFEST)
    parsed = _parse(manifest)
    pending = look(root, PENDING)
    names = os.listdir(root / PENDING) if pending.kind is EntryKind.DIRECTORY else ["foreign"]  # noqa: PTH208 - names
    return Record(
        manifest=manifest,
        faults=(manifest.note,) if manifest.note else parsed.faults,
        listed=_by_path(parsed.lines),
        journal=_by_path(_parse(look(root, f"{PENDING}/{JOURNAL}")).lines),
        pending=pending,
        is_left_over=not names or any(is_working_file(f"{PENDING}/{name}") for name in names),
    )


def _parse(standing: Standing) -> Parsed:
    return Parsed() if standing.version is None else parse_manifest(standing.version.content)


def _by_path(lines: Iterable[ManifestLine]) -> Mapping[str, tuple[ManifestLine, ...]]:
    found: dict[str, tuple[ManifestLine, ...]] = {}
    for line in lines:
        found[line.path] = (*found.get(line.path, ()), line)
    return found


def next_lines(
    record: Record, files: Iterable[OutFile], *, root: Path, profiles: frozenset[str] | None
) -> tuple[ManifestLine, ...]:
    """The lines of the MANIFEST to come: those of the files, and those of other profiles as they stand."""
    wanted = {file.path: ManifestLine.of(file) for file in files}
    others = record.paths(None) - record.paths(profiles) - wanted.keys()
    settled = (_settle(record, path, root=root) for path in sorted(others))
    return (*wanted.values(), *(line for line in settled if line is not None))


def _settle(record: Record, path: str, *, root: Path) -> ManifestLine | None:
    """The one line for a path that we leave alone; the disk decides where a merge or a cut-off run left several."""
    candidates = record.candidates(path)
    if len(candidates) == 1 and path in record.listed:
        return candidates[0]
    return record.line(path, look(root, path))
