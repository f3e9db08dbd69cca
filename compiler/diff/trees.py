"""Two trees go in; the change of every service that differs comes out, and which files made it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import groupby

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, error_codes
from compiler.diff.comparing import Fate, FileState, ServiceChange, appeared, compare, vanished
from compiler.diff.ingredients import ingredients_of
from compiler.diff.pairing import Key, Outcome, paired
from compiler.diff.sides import Side
from compiler.diff.snapshot import Place, Snapshot, place_of, snapshot
from compiler.inputs import hosts_of, names_on, resolve
from compiler.judged import Checked, Judged
from compiler.memory.outcome import MEMORY_CODES
from compiler.pipeline import check_profiles, render_profile
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

    Of the old tree only what a changed file can reach is compiled, and what was beside that.
    """
    inputs = _inputs(old, new)
    both = set(old.names) & set(new.names)
    # What is asked for may have another name on the other side, and is there under it alone.
    touched = {name for each in inputs for name in each.profiles}
    touched |= (_beside(touched, old) | _beside(touched, new)) & _written(checked)
    reached = {name for name in touched if not only or name in only or name not in both}
    before = _outcomes(_check_old(old, reached), old)
    after = _outcomes(checked, new, only=reached)
    changes = [
        change
        for change in _changes(before, after, _givers(checked))
        if not only or change.profile in only or change.profile_before in only
    ]
    return TreeChange(
        old=old.label,
        new=new.label,
        services=tuple(changes),
        inputs=tuple(
            each for each in inputs if not only or any(name in only for name in each.profiles)
        ),
        notes=(*_notes(old, before, only), *_unchanged(checked, reached, only)),
    )


def _beside(names: AbstractSet[str], side: Side) -> frozenset[str]:
    """The profiles on the hosts of these: what is said of each beside the others may change with them."""
    if names >= frozenset(side.names):
        return frozenset(side.names)
    return frozenset(names_on(hosts_of(names, side.inputs), side.inputs))


def _written(checked: Checked) -> frozenset[str]:
    """The profiles whose files nothing keeps from being written, as far as they and those beside them go."""
    refused = {
        each.profile_name
        for each in checked.judged
        if each.plan is None or error_codes((*each.diagnostics, *each.neighbours))
    }
    return frozenset(each.profile_name for each in checked.judged) - refused


def _check_old(old: Side, reached: AbstractSet[str]) -> Checked:
    """The old side of what is reached, judged beside all that was on its hosts, as it was compiled."""
    names = [name for name in old.names if name in reached]
    others = sorted(_beside(set(names), old) - set(names))
    return check_profiles(names, old.inputs, beside=others)


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
    """Codes with their places; those of several settings, which nothing may set, stand at one place with all of them."""
    told: dict[str, dict[str, None]] = {}
    for each in found:
        if each.is_error and each.code not in MEMORY_CODES:
            place = f" at {each.primary.span.place}" if each.primary else ""
            paths = told.setdefault(f"{each.code}{place}", {})
            paths.update({each.path: None} if each.path else {})
    return tuple(f"{text} ({', '.join(paths)})" if paths else text for text, paths in told.items())


def _givers(checked: Checked) -> Mapping[Place, tuple[str, ...]]:
    """The profiles that give the service of each place now."""
    found: dict[Place, list[str]] = {}
    for each in checked.judged:
        if each.plan is not None and each.plan.service is not None:
            found.setdefault(place_of(each.plan), []).append(each.profile_name)
    return {place: tuple(names) for place, names in found.items()}


def _changes(
    before: Mapping[Key, Outcome],
    after: Mapping[Key, Outcome],
    givers: Mapping[Place, tuple[str, ...]],
) -> Iterator[ServiceChange]:
    """The changes by profile and target; of a profile that compiles on no side one, by what is wrong now."""
    found: list[ServiceChange] = []
    for old, new in paired(before, after):
        change = _change(old, new, before, after)
        if change is not None:
            found.append(evolve(change, others=_others(change, givers)))
    planned = {name for (name, _), each in before.items() if isinstance(each, Snapshot)}
    found += [
        ServiceChange(
            profile=name, target="", kind=Fate.BROKEN, identity={}, identity_before={}, why=why
        )
        for (name, _), why in after.items()
        if isinstance(why, tuple) and name not in planned
    ]
    yield from sorted(found, key=lambda each: (each.profile, each.target))


def _others(change: ServiceChange, givers: Mapping[Place, tuple[str, ...]]) -> tuple[str, ...]:
    """Who else gives the unit that is left, or the new one."""
    place = change.place if change.kind in (Fate.NEW, Fate.MENDED) else change.left
    several = () if place is None else givers.get(place, ())
    return tuple(each for each in several if each != change.profile)


def _change(
    old: Snapshot | None,
    new: Snapshot | None,
    before: Mapping[Key, Outcome],
    after: Mapping[Key, Outcome],
) -> ServiceChange | None:
    if new is None:
        why = after.get((old.profile, "")) if old is not None else None
        if old is None or why is None:
            return None if old is None else vanished(old)
        return vanished(old, kind=Fate.BROKEN, why=_why(why))
    if old is not None:
        return compare(old, new)
    why = before.get((new.profile, ""))
    return appeared(new) if why is None else appeared(new, kind=Fate.MENDED, why=_why(why))


def _why(outcome: Outcome) -> tuple[str, ...]:
    return () if isinstance(outcome, Snapshot) else outcome


def _unchanged(checked: Checked, reached: Collection[str], only: Collection[str]) -> Iterator[str]:
    """What no change touches and that compiles on no side, so that nothing was compared of it."""
    for name, group in groupby(checked.judged, key=lambda each: each.profile_name):
        why = [
            reason for each in group if each.plan is None for reason in _reasons(each.diagnostics)
        ]
        if why and name not in reached and (not only or name in only):
            yield f"`{name}` compiles on neither side, and was not compared: {', '.join(dict.fromkeys(why))}"


def _notes(old: Side, before: Mapping[Key, Outcome], only: Collection[str]) -> Iterator[str]:
    if not old.names:
        yield f"there are no profiles at {old.label}: everything is new"
    broken = [
        name
        for (name, _), each in before.items()
        if isinstance(each, tuple) and (not only or name in only)
    ]
    schema = any(
        "schema-unknown" in " ".join(each) for each in before.values() if isinstance(each, tuple)
    )
    if broken:
        names = ", ".join(f"`{name}`" for name in broken)
        yield f"at {old.label} this compiler cannot compile {names}, so there is nothing to compare with"
    if schema:
        yield f"the profiles at {old.label} are written in a schema that this compiler does not read"
