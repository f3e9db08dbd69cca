"""The claims to a list, edits among them, go in; the lists they stand for come out, each item with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from compiler.diagnostics import Diagnostic
from compiler.language.definitions import EDITS, Claim, Effect, items_of
from compiler.language.disputes import Disputes, same
from compiler.language.dominance import Dominance
from compiler.language.graph import Graph
from compiler.origins import ItemOrigin
from compiler.value import Value


Items = tuple[ItemOrigin, ...]


def settle_lists(
    standing: Sequence[Claim], *, claims: Sequence[Claim], graph: Graph, dominance: Dominance
) -> tuple[Mapping[Claim, Items], tuple[Diagnostic, ...]]:
    """The list that each standing claim stands for; one that is wrong has none, and a diagnostic.

    An edit applies to what its file would have without it. It first removes every item that equals one of
    `remove`, then puts `prepend` before and `append` after what is left; an item may be there twice. Edits that
    nothing rests on are not looked at. Errors: `list-edit-nothing`, `merge-shape`, `merge-conflict`.
    """
    settling = _Settling(claims, graph, dominance, Disputes(graph))
    bases = settling.bases(standing)
    for edit in dominance.farthest_first(bases):
        settling.settle(edit, bases[edit])
    return settling.settled, tuple(dict.fromkeys(settling.faults))


@frozen(eq=False, repr=False)
class _Settling(Value):
    """One list on its way: what is settled so far, and what is wrong."""

    claims: Sequence[Claim]
    graph: Graph
    dominance: Dominance
    disputes: Disputes
    settled: dict[Claim, Items] = field(factory=dict)
    faults: list[Diagnostic] = field(factory=list)

    def bases(self, standing: Sequence[Claim]) -> Mapping[Claim, Sequence[Claim]]:
        """Every edit that the result rests on, with the claims that stand below it. Whole lists are settled."""
        result: dict[Claim, Sequence[Claim]] = {}
        todo = list(standing)
        for claim in todo:
            if claim.kind is Effect.EDIT and claim not in result:
                below = [each for each in self.claims if self.dominance.lies_on(claim, each)]
                result[claim] = self.dominance.standing(below)
                todo += result[claim]
            elif claim.kind is Effect.VALUE and isinstance(claim.value, list):
                self.settled[claim] = items_of(claim)
        return result

    def settle(self, edit: Claim, base: Sequence[Claim]) -> None:
        """Apply an edit to the list below it, when there is one."""
        values = [each for each in base if each.kind is Effect.VALUE]
        if all(each.kind is Effect.REMOVAL for each in base):
            others = (
                each
                for each in self.claims
                if each.kind is not Effect.REMOVAL
                and each is not edit
                and not self.dominance.lies_on(edit, each)
                and not self.dominance.lies_on(each, edit)
            )
            self.faults.append(self.disputes.no_base(edit, unset_by=base, elsewhere=others))
        elif any(not isinstance(each.value, list) for each in values):
            self.faults.append(self.disputes.no_list(edit, values=values))
        elif any(each.kind is Effect.REMOVAL for each in base):
            self.faults.append(self.disputes.conflict(edit.path, base))
        elif all(each in self.settled for each in base):
            lists = [self.settled[each] for each in base]
            if all(same_items(lists[0], each) for each in lists):
                self.apply(edit, base, lists[0])
            else:
                self.faults.append(self.disputes.conflict(edit.path, base))

    def apply(self, edit: Claim, base: Sequence[Claim], inherited: Items) -> None:
        """Settle an edit of this list, unless it removes what is not there."""
        parts = {name: items_of(edit, edit=name) for name in EDITS}
        left = inherited
        stale: list[ItemOrigin] = []
        for item in parts["remove"]:
            kept = tuple(each for each in left if not same(each.value, item.value))
            if len(kept) == len(left):
                stale.append(item)
            left = kept
        self.faults.extend(self.disputes.no_item(edit, item=each.span, base=base) for each in stale)
        if not stale:
            self.settled[edit] = (*parts["prepend"], *left, *parts["append"])


def same_items(one: Items, other: Items) -> bool:
    """Whether two lists hold the same values, wherever these come from."""
    return same([each.value for each in one], [each.value for each in other])
