"""A linked profile goes in; one set of values comes out, with where each of them is from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from compiler.diagnostics import Diagnostic, Span
from compiler.language.definitions import (
    Claim,
    Effect,
    ListSettings,
    collect_claims,
    edit_faults,
    items_of,
)
from compiler.language.disputes import Disputes, same
from compiler.language.dominance import Dominance
from compiler.language.graph import Graph
from compiler.language.unsets import covers, judge_unsets
from compiler.origins import Level, Origin, Origins, SettingPath
from compiler.value import Value


if TYPE_CHECKING:
    from compiler.language.listedits import Items


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Resolved(Value):
    """A profile after merging.

    Attributes:
        name: the profile's name.
        values: nested plain dicts, keys sorted; not to be changed, as files are shared.
        origins: for each value that is no table, and for each empty table, where it is from.
        opened: for each table, who opens it.
        removed: for each removal that stands, the removal and what it did away with.
    """

    name: str
    values: Mapping[str, Any]
    origins: Origins
    opened: Mapping[SettingPath, Origin]
    removed: Mapping[SettingPath, Origin]

    @cached_property
    def tables(self) -> Mapping[SettingPath, Span]:
        """For each table, where the file nearest to the root opens it."""
        return {path: each.winner.value_span for path, each in self.opened.items()}

    def value_at(self, path: SettingPath) -> object:
        """The merged value at a path that there is."""
        value: Any = self.values
        for key in path:
            value = value[key]
        return value


def merge_graph(
    graph: Graph, *, list_settings: ListSettings
) -> tuple[Resolved | None, tuple[Diagnostic, ...]]:
    """Merge a profile with all that it extends. The order of `extends` means nothing.

    Of several definitions of a setting those at the highest level count, and of these the most derived; if that
    leaves more than one, they must agree. Everything wrong is reported; with an error there is no result.

    Errors: `merge-conflict`, `merge-shape`, `list-edit-nothing`, `unset-nothing`, `unset-forced`, `unset-and-set`,
    `wrong-type` for the parts of a list edit.
    """
    claims = collect_claims(graph, list_settings=list_settings)
    dominance, disputes = Dominance.of(graph), Disputes(graph)
    faults = list(edit_faults(claims))
    if faults:
        return None, tuple(faults)
    wrong = dict(judge_unsets(claims, dominance=dominance, disputes=disputes))
    merging = _Merging(
        graph=graph,
        dominance=dominance,
        disputes=disputes,
        removals=[each for each in claims if each.kind is Effect.REMOVAL and each not in wrong],
        forced=frozenset(each.path for each in claims if each.level is Level.FORCE),
        faults=list(wrong.values()),
    )
    by_path: defaultdict[SettingPath, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim not in wrong:
            by_path[claim.path].append(claim)
    for path in sorted(by_path):
        merging.merge(path, by_path[path])
    if merging.faults:
        return None, tuple(merging.faults)
    return merging.resolved(), ()


@frozen(eq=False, repr=False)
class _History(Mapping[SettingPath, Origin]):
    """Of each settled path its origin, made when somebody asks: a profile that passes tells nobody of its places.

    Attributes:
        settled: all claims to each path.
        edited: the items of each list that edits made.
    """

    settled: Mapping[SettingPath, Sequence[Claim]]
    dominance: Dominance
    edited: Mapping[SettingPath, Items] = field(factory=dict)

    def __getitem__(self, path: SettingPath) -> Origin:
        claims = self.settled[path]
        standing = self.dominance.standing(claims)
        first, *others = standing
        whole = items_of(first) if isinstance(first.value, list) else ()
        return Origin(
            winner=first.definition,
            agreeing=tuple(each.definition for each in others),
            losers=self.dominance.losers(claims, standing=standing),
            items=self.edited.get(path, whole),
        )

    def __iter__(self) -> Iterator[SettingPath]:
        return iter(self.settled)

    def __len__(self) -> int:
        return len(self.settled)

    def __repr__(self) -> str:
        return repr(dict(self))


@define(kw_only=True)
class _Merging:
    """A merge on its way. Paths must come in order, so that a table comes before what is in it.

    Attributes:
        forced: what any file sets by force, which nothing else can.
        broken: the last path that could not be settled; what is below it comes right after it.
        opened: the dict of each table that stands; the empty path is the profile itself.
    """

    graph: Graph
    dominance: Dominance
    disputes: Disputes
    removals: Sequence[Claim]
    forced: frozenset[SettingPath]
    faults: list[Diagnostic]
    broken: SettingPath | None = None
    opened: dict[SettingPath, dict[str, Any]] = field(factory=lambda: {(): {}})
    values: dict[SettingPath, Sequence[Claim]] = field(factory=dict)
    edited: dict[SettingPath, Items] = field(factory=dict)
    tables: dict[SettingPath, Sequence[Claim]] = field(factory=dict)
    removed: dict[SettingPath, Sequence[Claim]] = field(factory=dict)

    def merge(self, path: SettingPath, claims: Sequence[Claim]) -> None:
        """Settle one path; below one that is broken nothing more is said."""
        if self.broken is not None and covers(self.broken, path):
            return
        if self.removals:
            above = [
                each for each in self.removals if each.path != path and covers(each.path, path)
            ]
            claims = [*claims, *above]
        fault = self.settle(path, claims)
        if fault:
            self.broken = path
            self.faults += fault

    def settle(self, path: SettingPath, claims: Sequence[Claim]) -> Sequence[Diagnostic]:
        """Decide what stands at a path and keep it, or say why that cannot be decided."""
        standing = claims
        if len(claims) > 1:
            mixed = self.mixed_shapes(claims)
            if mixed:
                return [self.disputes.shape(path, mixed)]
            standing = self.dominance.standing(claims)
        kind = standing[0].kind
        if len(standing) > 1 and any(each.kind is not kind for each in standing):
            if any(each.kind is Effect.REMOVAL for each in standing):
                return [self.disputes.conflict(path, standing)]
            kind = Effect.EDIT
        if kind is Effect.VALUE:
            return self.settle_values(path, standing, claims)
        if kind is Effect.EDIT:
            return self.settle_edits(path, standing, claims)
        if kind is Effect.TABLE:
            self.tables[path] = claims
            self.opened[path] = self.opened[path[:-1]][path[-1]] = {}
        else:
            self.removed[path] = claims
        return ()

    def mixed_shapes(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """The claims that no removal did away with, when some are tables and some are none."""
        if not _mixes_shapes(claims):
            return ()
        removals = [each for each in claims if each.kind is Effect.REMOVAL]
        alive = [
            each
            for each in claims
            if each.kind is not Effect.REMOVAL
            and not any(self.dominance.beats(removal, each) for removal in removals)
        ]
        return self.dominance.nearest_first(alive) if _mixes_shapes(alive) else ()

    def settle_values(
        self, path: SettingPath, standing: Sequence[Claim], claims: Sequence[Claim]
    ) -> Sequence[Diagnostic]:
        """Keep the value on which the standing claims agree."""
        value = standing[0].value
        if len(standing) > 1 and not all(same(value, each.value) for each in standing):
            return [self.disputes.conflict(path, standing)]
        self.values[path] = claims
        self.opened[path[:-1]][path[-1]] = [*value] if isinstance(value, list) else value
        return ()

    def settle_edits(
        self, path: SettingPath, standing: Sequence[Claim], claims: Sequence[Claim]
    ) -> Sequence[Diagnostic]:
        """Keep the list on which the standing claims, edits among them, agree."""
        from compiler.language.listedits import same_items, settle_lists  # noqa: PLC0415 - few profiles edit lists

        lists, faults = settle_lists(
            standing, claims=claims, graph=self.graph, dominance=self.dominance
        )
        if faults:
            return faults
        items = lists.get(standing[0], ())
        if not all(each in lists and same_items(items, lists[each]) for each in standing):
            return [self.disputes.conflict(path, standing)]
        self.values[path] = claims
        self.edited[path] = items
        self.opened[path[:-1]][path[-1]] = [each.value for each in items]
        return ()

    def resolved(self) -> Resolved:
        """The result, when every path is settled."""
        document = self.graph.documents[self.graph.root]
        empty = {path: each for path, each in self.tables.items() if not self.opened[path]}
        settled = self.values | empty
        return Resolved(
            name=self.graph.root,
            values=self.opened[()],
            origins=Origins(
                document=document.source.span(0, 0),
                by_path=_History(settled, self.dominance, self.edited),
                forced=self.forced & settled.keys(),
            ),
            opened=_History(self.tables, self.dominance),
            removed=_History(self.removed, self.dominance),
        )


def _mixes_shapes(claims: Sequence[Claim]) -> bool:
    """Whether some of the claims are tables and some are none, leaving removals aside."""
    tables = [each.kind is Effect.TABLE for each in claims if each.kind is not Effect.REMOVAL]
    return any(tables) and not all(tables)
