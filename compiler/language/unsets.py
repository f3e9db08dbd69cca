"""The removals of a graph go in; what is wrong with any of them comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.diagnostics import Diagnostic
from compiler.language.definitions import Claim, Effect
from compiler.language.disputes import Disputes
from compiler.language.dominance import Dominance
from compiler.origins import Level, SettingPath


def covers(path: SettingPath, other: SettingPath) -> bool:
    """Whether the second path is the first, or below it."""
    return other[: len(path)] == path


def judge_unsets(
    claims: Sequence[Claim], *, dominance: Dominance, disputes: Disputes
) -> Iterator[tuple[Claim, Diagnostic]]:
    """The removals that are wrong, at most one finding for each.

    Errors: `unset-and-set`, when the same file sets what it removes; `unset-forced`, when an ancestor forces it;
    `unset-nothing`, when nothing that is inherited is left to remove.
    """
    removals = [each for each in claims if each.kind is Effect.REMOVAL]
    if not removals:
        return
    settings = [each for each in claims if each.kind is not Effect.REMOVAL]
    for removal in removals:
        below = [each for each in settings if covers(removal.path, each.path)]
        own = [each for each in below if each.profile == removal.profile]
        inherited = [each for each in below if dominance.inherits(removal, each)]
        forced = [each for each in inherited if each.level is Level.FORCE]
        if own:
            yield removal, disputes.unset_and_set(removal, own)
        elif forced:
            yield removal, disputes.unset_forced(removal, forced)
        else:
            before = [
                each
                for each in removals
                if dominance.inherits(removal, each) or _stands_before(each, removal)
            ]
            if not any(_is_left(each, before, dominance) for each in inherited):
                known = {each.path for each in settings if dominance.inherits(removal, each)}
                yield (
                    removal,
                    disputes.unset_nothing(
                        removal,
                        [each for each in before if covers(each.path, removal.path)],
                        known=known,
                    ),
                )


def _stands_before(other: Claim, removal: Claim) -> bool:
    """Whether the same file also removes what holds this, or says the same earlier."""
    return other.profile == removal.profile and (
        (len(other.path), other.definition.key) < (len(removal.path), removal.definition.key)
    )


def _is_left(claim: Claim, removals: Sequence[Claim], dominance: Dominance) -> bool:
    """Whether none of these removals did away with a claim."""
    return not any(
        covers(each.path, claim.path) and dominance.beats(each, claim) for each in removals
    )
