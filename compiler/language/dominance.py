"""Several claims to one setting go in; which of them stand, and why the others lost, comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from attrs import frozen

from compiler.language.definitions import Claim, Effect
from compiler.language.graph import Graph
from compiler.origins import Level, Loser
from compiler.value import Value


@frozen(eq=False, repr=False)
class Dominance(Value):
    """The rule: a claim beats those of the files that its own file extends, at its level or below.

    Attributes:
        ancestors: as in `Graph`.
        places: the place of each file in a line that starts at the root and has every file before those it
            extends; files that are as far from the root, by the longest way, stand in the order of their names.
    """

    ancestors: Mapping[str, frozenset[str]]
    places: Mapping[str, int]

    @classmethod
    def of(cls, graph: Graph) -> Dominance:
        """The dominance among the claims of a graph."""
        distance = dict.fromkeys(graph.documents, 0)
        for name in sorted(distance, key=lambda each: -len(graph.ancestors[each])):
            for parent in graph.documents[name].directives.extends:
                distance[parent.name] = max(distance[parent.name], distance[name] + 1)
        line = sorted(distance, key=lambda name: (distance[name], name))
        return cls(graph.ancestors, {name: place for place, name in enumerate(line)})

    def beats(self, claim: Claim, other: Claim) -> bool:
        """Whether a claim is more derived than another, and not weaker."""
        return claim.level >= other.level and self.inherits(claim, other)

    def inherits(self, claim: Claim, other: Claim) -> bool:
        """Whether a claim's file extends that of another."""
        return other.profile in self.ancestors[claim.profile]

    def lies_on(self, claim: Claim, other: Claim) -> bool:
        """Whether another claim is part of what a claim's file gives, were this claim not there."""
        return self.beats(claim, other) or (
            claim.profile == other.profile and claim.level > other.level
        )

    def nearest_first(self, claims: Iterable[Claim]) -> list[Claim]:
        """The claims by the places of their files, stronger ones of a file first."""
        return sorted(claims, key=self._order)

    def farthest_first(self, claims: Iterable[Claim]) -> list[Claim]:
        """The same backwards, so that a claim comes before all that beat it, the nearest to it first."""
        return sorted(claims, key=self._order, reverse=True)

    def _order(self, claim: Claim) -> int:
        return self.places[claim.profile] * len(Level) - claim.level

    def standing(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Those at the highest level that no other beats, nearest first; they may yet differ."""
        if len(claims) == 1:
            return claims
        top = max((each.level for each in claims), default=None)
        result: list[Claim] = []
        beaten: set[str] = set()
        for claim in self.nearest_first(each for each in claims if each.level == top):
            if claim.profile not in beaten:
                result.append(claim)
                beaten |= self.ancestors[claim.profile]
        return result

    def losers(self, claims: Sequence[Claim], *, standing: Sequence[Claim]) -> tuple[Loser, ...]:
        """The claims that do not stand, nearest first, each with what it lost to."""
        if len(standing) == len(claims):
            return ()
        line = self.farthest_first(claims)
        losers: list[Loser] = []
        for place, claim in enumerate(line, 1):
            if claim in standing:
                continue
            # When no claim beats it, its level made it lose.
            beating = (each for each in islice(line, place, None) if self.beats(each, claim))
            by = next(beating, standing[0])
            losers.append(Loser(definition=claim.definition, reason=_reason(claim, by=by)))
        return tuple(reversed(losers))


def _reason(loser: Claim, *, by: Claim) -> str:
    """Why one claim lost to another."""
    who, weaker = by.profile, by.level > loser.level
    if weaker and loser.level is Level.PLAIN:
        return f"forced by {who}"
    if weaker and by.level is Level.FORCE:
        return f"a default; {who} forces it"
    if by.kind is Effect.REMOVAL:
        return f"a default; {who} unsets it" if weaker else f"unset by {who}"
    if by.kind is Effect.EDIT:
        return f"a default; {who} edits it" if weaker else f"edited by {who}"
    if loser.kind is Effect.REMOVAL:
        return f"set again by {who}"
    return f"a default; {who} sets it" if weaker else f"overridden by {who}"
