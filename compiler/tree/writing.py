"""Make `out/` what a tree says: refuse, or stage and commit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from compiler.diagnostics import Diagnostic
from compiler.tree import troubles
from compiler.tree.comparing import judge
from compiler.tree.disk import EntryKind, look
from compiler.tree.files import OutTree
from compiler.tree.locks import WAIT_S, locked
from compiler.tree.manifest import render_manifest
from compiler.tree.places import MANIFEST, parents
from compiler.tree.record import Record, next_lines, read_record
from compiler.tree.staging import Work, abandon, commit, stage
from compiler.tree.states import Comparison, State, Written


def write(
    tree: OutTree,
    *,
    root: Path,
    profiles: frozenset[str] | None,
    overwrite: bool,
    wait_s: float = WAIT_S,
) -> Written | tuple[Diagnostic, ...]:
    """Bring `out/` to a tree, or change nothing and say why.

    Files whose bytes and mode are right are not touched. With `profiles`, only their folders and their lines of
    MANIFEST are written.

    Errors: `out-edited` and `out-foreign`, unless `overwrite`; `out-busy`, `out-unreadable` and `out-unwritable`
    when the machine would not.
    """
    made = False
    try:
        if not root.is_dir():
            if not tree.of(profiles):
                return Written()
            root.mkdir(exist_ok=True)
            made = True
        with locked(root, exclusive=True, wait_s=wait_s) as held:
            if not held:
                return (troubles.busy(root),)
            done = _write(tree, root=root, profiles=profiles, overwrite=overwrite)
    except OSError as failure:
        done = (troubles.unwritable(root, failure, begun=False),)
    if made and not isinstance(done, Written):
        with suppress(OSError):  # it was not us who made it, or it is no longer empty
            root.rmdir()
    return done


def _write(
    tree: OutTree, *, root: Path, profiles: frozenset[str] | None, overwrite: bool
) -> Written | tuple[Diagnostic, ...]:
    try:
        record = read_record(root)
        comparison = judge(tree, record, root=root, profiles=profiles)
    except OSError as failure:
        return (troubles.unreadable(root, failure),)
    refused = _refuse(comparison, root=root, overwrite=overwrite)
    if refused:
        return refused
    work = _plan(tree, record, comparison, root=root, profiles=profiles)
    if _is_needed(work, record):
        failed = _carry_out(work)
        if failed is not None:
            return (failed,)
    return Written(
        written=tuple(file.path for file in work.changes),
        removed=work.removals,
        unchanged=len(tree.of(profiles)) - len(work.changes),
        foreign=tuple(each.path for each in comparison.of(State.FOREIGN)),
        resumed=record.is_left_over,
    )


def _refuse(comparison: Comparison, *, root: Path, overwrite: bool) -> tuple[Diagnostic, ...]:
    """Why nothing may be written. A broken MANIFEST is no reason: what it has lost count as foreign."""
    immovable = [each for each in comparison.differences if each.immovable]
    if immovable:
        return (troubles.immovable(root, immovable),)
    if overwrite:
        return ()
    edited = [each for each in comparison.of(State.EDITED) if each.path != MANIFEST]
    blocked = comparison.of(State.BLOCKED)
    return (
        *((troubles.edited(root, edited),) if edited else ()),
        *((troubles.foreign(root, blocked),) if blocked else ()),
    )


def _plan(
    tree: OutTree,
    record: Record,
    comparison: Comparison,
    *,
    root: Path,
    profiles: frozenset[str] | None,
) -> Work:
    files = tree.of(profiles)
    wrong = {each.path for each in comparison.differences if each.standing != each.wanted}
    unwanted = [each.path for each in comparison.differences if each.is_unwanted]
    # A run that was cut off may have made a folder and not the file it was for.
    left = (record.paths(profiles) | record.journal.keys()) - {file.path for file in files}
    vacated = {above for path in left for above in parents(path)}
    lines = next_lines(record, files, root=root, profiles=profiles)
    return Work(
        root=root,
        changes=tuple(file for file in files if file.path in wrong),
        removals=tuple(
            path for path in unwanted if look(root, path).kind in (EntryKind.FILE, EntryKind.OTHER)
        ),
        vacated=tuple(path for path in vacated if look(root, path).kind is EntryKind.DIRECTORY),
        manifest=render_manifest(lines),
        journal=render_manifest(record.journal_for(lines)),
    )


def _is_needed(work: Work, record: Record) -> bool:
    standing = record.manifest.version
    manifest_is_right = (
        work.manifest.encode() == standing.content
        if standing is not None
        else record.manifest.kind is EntryKind.ABSENT and work.manifest == render_manifest(())
    )
    return bool(work.paths) or record.is_left_over or not manifest_is_right


def _carry_out(work: Work) -> Diagnostic | None:
    begun = False
    try:
        stage(work)
        begun = True
        commit(work)
    except OSError as failure:
        abandon(work.root)
        return troubles.unwritable(work.root, failure, begun=begun)
    return None
