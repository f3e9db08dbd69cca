"""What became of flags: a flag or a value that a release does not take goes in, what to write instead comes out.

The facts stand in `moves.toml` beside the engine's flags. They lead from old to new, through several renames where there
were several, and back again for who moves to an older release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from attrs import field, frozen

from compiler.catalog.entries import decode
from compiler.catalog.series import SERIES, read_series
from compiler.catalog.shelves import CATALOGUE_INVALID, EntryFile, shipped_shelf
from compiler.facts import Release
from compiler.language.syntax import parse_toml
from compiler.language.typed import structure_value
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Move(Value):
    """What became of one flag.

    Attributes:
        flag: its old name.
        last: the last release read that takes it.
        to: what took its place; `None` when nothing did.
        since: the first release read that takes `to`.
        values: a value of the old flag -> one of the new; nothing stands for a flag without a value.
        exact: whether both do the same, so that the way back is open too.
        note: what else there is to know, a clause.
    """

    flag: str
    last: str
    to: str | None = None
    since: str | None = None
    values: Mapping[str, str] = field(factory=dict)
    exact: bool = True
    note: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class ValueMove(Value):
    """What became of one value of a flag that is still there. Attributes as in `Move`."""

    flag: str
    value: str
    last: str
    to: str | None = None
    since: str | None = None
    note: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Moves(Value):
    """All that is known of one engine."""

    source: str
    moves: tuple[Move, ...] = ()
    values: tuple[ValueMove, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Replacement(Value):
    """What to write instead.

    Attributes:
        name: the flag, or the value, that the release takes; `None` when it takes nothing like it.
        values: a value of the old flag -> one of the new; others stay as they are.
        exact: whether both do the same; a value means something else where they do not.
        notes: what else there is to know, clauses.
    """

    name: str | None
    values: Mapping[str, str] = field(factory=dict)
    exact: bool = True
    notes: tuple[str, ...] = ()


@cache
def read_moves(engine: str) -> Moves:
    """What is known of an engine; nothing of one we know nothing about. Ours are sound, as a test makes sure."""
    file, _ = shipped_shelf().open(f"engines/{engine}/moves.toml")
    return Moves(source="") if file is None else _structured(file)


def _structured(file: EntryFile) -> Moves:
    source, _ = decode(file, code=CATALOGUE_INVALID)
    values, _ = parse_toml(source) if source else (None, ())
    moves, faults = structure_value(values or {}, Moves)
    if moves is None:
        raise ValueError(faults)
    return moves


def replacement(flag: str, *, release: Release) -> Replacement | None:
    """What to write for a flag that a release does not take; `None` when nothing is known of it.

    Every step of the way is one rename; the shortest way to a name that the release takes counts, and to one that it is about
    to drop only where no other is.
    """
    moves = read_moves(release.engine).moves
    seen, ways = {flag}, [Replacement(name=flag)]
    late: list[Replacement] = []
    ends: list[Replacement] = []
    while ways:
        way = ways.pop(0)
        for step in _steps(way, moves):
            if step.name is None:
                ends.append(step)
            elif step.name not in seen:
                seen.add(step.name)
                ways.append(step)
                if _keeps(release, step.name):
                    return step
                if _takes(release, step.name):
                    late.append(step)
    return next(iter((*late, *ends)), None)


def _steps(way: Replacement, moves: tuple[Move, ...]) -> Iterator[Replacement]:
    """The ways that are one move longer, newer names before older ones."""
    for move in moves:
        if move.flag == way.name:
            yield _longer(way, move.to, move.values, exact=move.exact, note=move.note)
    for move in moves:
        # Several old flags may lead to one value each of a new one: the way back is not told by the name alone.
        if move.to == way.name and move.exact and "" not in move.values:
            back = {new: old for old, new in move.values.items()}
            yield _longer(way, move.flag, back)


def _longer(
    way: Replacement,
    name: str | None,
    values: Mapping[str, str],
    *,
    exact: bool = True,
    note: str | None = None,
) -> Replacement:
    known = {old: values.get(new, new) for old, new in way.values.items()}
    notes = (*way.notes, note) if note else way.notes
    return Replacement(
        name=name, values={**values, **known}, exact=way.exact and exact, notes=notes
    )


def _keeps(release: Release, name: str) -> bool:
    known = release.flags.get(release.aliases.get(name, name))
    return known is not None and not known.deprecated


def _takes(release: Release, name: str) -> bool:
    return name in release.flags or name in release.aliases


def value_replacement(flag: str, value: str, *, release: Release) -> Replacement | None:
    """What to write for a value that a flag of a release does not take; `None` when nothing is known of it."""
    known = release.flags.get(release.aliases.get(flag, flag))
    if known is None:
        return None
    for move in read_moves(release.engine).values:
        notes = (move.note,) if move.note else ()
        if (move.flag, move.value) == (known.name, value):
            taken = move.to if move.to in known.choices else None
            return Replacement(name=taken, notes=notes)
        if (move.flag, move.to) == (known.name, value) and move.value in known.choices:
            return Replacement(name=move.value)
    return None


def releases_with(flag: str, *, engine: str) -> tuple[str, ...]:
    """The releases read whose parser takes a flag by this name, the oldest first."""
    return _releases_by_name(engine).get(flag, ())


@cache
def _releases_by_name(engine: str) -> Mapping[str, tuple[str, ...]]:
    """All names that a parser took, each with its releases: a launch for another engine has dozens that none takes."""
    file, _ = shipped_shelf().open(f"engines/{engine}/{SERIES}.json")
    series, _ = read_series(file, engine=engine) if file is not None else (None, ())
    found: dict[str, tuple[str, ...]] = {}
    if series is None:
        return found
    for version in series.releases:
        table = series.table(version)
        for name in (*table.flags, *table.aliases):
            found[name] = (*found.get(name, ()), version)
    return found
