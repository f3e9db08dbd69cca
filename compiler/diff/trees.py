"""Two trees go in; the change of every service that differs comes out, and which files made it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.diff.comparing import Fate, FileState, ServiceChange, appeared, compare, vanished
from compiler.diff.ingredients import ingredients_of
from compiler.diff.sides import Side
from compiler.diff.snapshot import Snapshot, snapshot
from compiler.judged import Checked, Judged
from compiler.memory.outcome import MEMORY_CODES
from compiler.pipeline import check_profiles, render_profile, resolve
from compiler.tree import OutFile
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class InputChange(Value):
    """A file below `profiles/` that differs, and the deployable profiles that are made of it on either side."""

    path: str
    state: FileState
    profiles: tuple[str, ...]


@frozen(kw_only=True, eq=False, repr=False)
class TreeChange(Value):
    """What changes from one tree to another.

    Attributes:
        old, new: what they are called.
        services: the changes, by profile and target.
        inputs: the files below `profiles/` that differ.
        notes: what the reader must know about the comparison itself.
    """

    old: str
    new: str
    services: tuple[ServiceChange, ...]
    inputs: tuple[InputChange, ...] = ()
    notes: tuple[str, ...] = ()


def compare_trees(
    old: Side, new: Side, *, checked: Checked, only: Collection[str] = ()
) -> TreeChange:
    """Compare two trees; `checked` is what came of the new one, `only` the profiles that were asked for.

    Of the old tree only what a changed file can reach is compiled.
    """
    inputs = _inputs(old, new)
    reached = {name for each in inputs for name in each.profiles if not only or name in only}
    before = _outcomes(
        check_profiles([name for name in old.names if name in reached], old.inputs), old
    )
    after = _outcomes(checked, new, only=reached)
    changes = [
        change
        for key in sorted(before.keys() | after.keys())
        if (change := _change(key, before, after)) is not None
    ]
    return TreeChange(
        old=old.label,
        new=new.label,
        services=tuple(changes),
        inputs=tuple(
            each for each in inputs if not only or any(name in only for name in each.profiles)
        ),
        notes=tuple(_notes(old, before)),
    )


def _inputs(old: Side, new: Side) -> list[InputChange]:
    """The files that differ, sorted by path."""
    paths = sorted(old.texts.keys() | new.texts.keys())
    differing = [path for path in paths if old.texts.get(path) != new.texts.get(path)]
    if not differing:
        return []
    made = (ingredients_of(old.names, old.inputs), ingredients_of(new.names, new.inputs))
    return [
        InputChange(
            path=path,
            state=_state(path, old, new),
            profiles=tuple(
                sorted({name for side in made for name, parts in side.items() if path in parts})
            ),
        )
        for path in differing
    ]


def _state(path: str, old: Side, new: Side) -> FileState:
    if path not in old.texts:
        return FileState.NEW
    return FileState.CHANGED if path in new.texts else FileState.REMOVED


def snapshots_of(checked: Checked, side: Side) -> tuple[Snapshot, ...]:
    """All services of a tree that were planned."""
    return tuple(each for each in _outcomes(checked, side).values() if isinstance(each, Snapshot))


Key = tuple[str, str]
"""A profile and a target; no target for a profile that was not planned."""

Outcome = Snapshot | tuple[str, ...]
"""A service, or why there is none."""


def _outcomes(
    checked: Checked, side: Side, *, only: Collection[str] | None = None
) -> Mapping[Key, Outcome]:
    found: dict[Key, Outcome] = {}
    for name, group in groupby(checked.judged, key=lambda each: each.profile_name):
        if only is not None and name not in only:
            continue
        several = tuple(group)
        resolved, _ = resolve(name, side.inputs)
        files = _files(name, several)
        for each in several:
            if each.plan is None or resolved is None or each.target_name is None:
                found[name, ""] = _reasons(each.diagnostics)
            else:
                found[name, each.target_name] = snapshot(each, resolved, files=files)
    return found


def _files(name: str, several: tuple[Judged, ...]) -> list[OutFile] | None:
    """What is written for a profile; `None` when it is refused, and nothing is."""
    if any(found.is_error for each in several for found in each.diagnostics):
        return None
    return render_profile(name, several)[0]


def _reasons(found: Iterable[Diagnostic]) -> tuple[str, ...]:
    return tuple(
        f"{each.code}{f' at {each.primary.span.place}' if each.primary else ''}"
        for each in found
        if each.is_error and each.code not in MEMORY_CODES
    )


def _change(
    key: Key, before: Mapping[Key, Outcome], after: Mapping[Key, Outcome]
) -> ServiceChange | None:
    name, target = key
    old, new = before.get(key), after.get(key)
    if isinstance(old, Snapshot) and isinstance(new, Snapshot):
        return compare(old, new)
    if isinstance(new, Snapshot):
        why = before.get((name, ""))
        if isinstance(why, tuple):
            return appeared(new, kind=Fate.MENDED, why=why)
        return appeared(new)
    if isinstance(old, Snapshot):
        why = after.get((name, ""))
        if isinstance(why, tuple):
            return vanished(old, kind=Fate.BROKEN, why=why)
        return vanished(old)
    if isinstance(new, tuple) and not any(
        isinstance(each, Snapshot) for (other, _), each in before.items() if other == name
    ):
        return ServiceChange(
            profile=name, target=target, kind=Fate.BROKEN, identity={}, identity_before={}, why=new
        )
    return None


def _notes(old: Side, before: Mapping[Key, Outcome]) -> Iterable[str]:
    if not old.names:
        yield f"there are no profiles at {old.label}: everything is new"
    broken = [name for (name, _), each in before.items() if isinstance(each, tuple)]
    schema = any(
        "schema-unknown" in " ".join(each) for each in before.values() if isinstance(each, tuple)
    )
    if broken:
        names = ", ".join(f"`{name}`" for name in broken)
        yield f"at {old.label} this compiler cannot compile {names}, so there is nothing to compare with"
    if schema:
        yield f"the profiles at {old.label} are written in a schema that this compiler does not read"
