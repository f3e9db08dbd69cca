"""A service, judged: its plan, what the checks found, and the verdict about its memory; and several of them."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from compiler.diagnostics import Diagnostic
from compiler.plan import Memory, Plan
from compiler.ranges import Range
from compiler.value import Value


class Verdict(StrEnum):
    """Whether the memory holds the promise. Findings of other kinds leave the verdict as it is."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    """Over the whole range of what is not known."""
    UNCERTAIN = "uncertain"
    """By the best estimate, not over the whole range; or short, and accepted with a reason."""
    UNKNOWN = "unknown"
    """Nobody described the model, the GPU or the release."""
    REFUSED = "refused"
    """Not by the best estimate."""


@frozen(kw_only=True, eq=False, repr=False)
class Second(Value):
    """What a service finds that starts when those that share its GPUs have loaded.

    Attributes:
        others: their profiles.
        taken: what they may hold of each GPU, GiB; `None` where that is not known.
        left: both budgets of the service then; `None` where they are not known.
    """

    others: tuple[str, ...]
    taken: Range | None
    left: Memory | None


@frozen(kw_only=True, eq=False, repr=False)
class Judged(Value):
    """A profile on a target, with all that was found about it.

    Attributes:
        profile_name: `k2.6-200k`.
        target_name: the target's name; `None` for a profile without targets.
        plan: `None` when the profile could not be planned.
        diagnostics: what belongs to this service, in the order it was found.
        standing: those of them that its files gave before it was planned, which no plan shows.
        neighbours: what was found between it and others of its host, which `diagnostics` do not hold.
        unseen: profiles that name its host and could not be planned, so that nothing was found between them.
        second: how it starts beside others on its GPUs; `None` where it has them for itself.
    """

    profile_name: str
    target_name: str | None
    verdict: Verdict
    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    standing: tuple[Diagnostic, ...] = ()
    neighbours: tuple[Diagnostic, ...] = ()
    unseen: tuple[str, ...] = ()
    second: Second | None = None

    @property
    def planned(self) -> Plan:
        """The plan. Raises `ValueError` for what could not be planned: nothing is written of that."""
        if self.plan is None:
            raise ValueError(f"{self.profile_name} was not planned")
        return self.plan


def unjudged(*found: Diagnostic) -> Judged:
    """What comes of a command that these errors leave nothing to judge of."""
    return Judged(
        profile_name="",
        target_name=None,
        verdict=Verdict.UNKNOWN,
        plan=None,
        diagnostics=found,
    )


@frozen(kw_only=True, eq=False, repr=False)
class Checked(Value):
    """What came of some profiles: their services, and what belongs to none of them.

    Attributes:
        fragments: those of the profiles that have no target.
        unseen: others on their hosts that could not be planned, so that nothing was found between them.
    """

    judged: tuple[Judged, ...]
    diagnostics: tuple[Diagnostic, ...]
    fragments: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every finding, those of no service first."""
        return (*self.diagnostics, *(found for each in self.judged for found in each.diagnostics))

    @property
    def refused(self) -> bool:
        """Whether any finding is an error."""
        return any(each.is_error for each in self.all_diagnostics)
