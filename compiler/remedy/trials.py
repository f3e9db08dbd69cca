"""What other settings come to, worked out once for each set of them, and how far from a goal that is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Protocol, TypeVar

from attrs import define, field

from compiler.bisection import Margins
from compiler.memory.outcome import Outcome, spare_gib, spare_tokens
from compiler.plan import Balance, Plan
from compiler.profile import Profile
from compiler.quantities import counted
from compiler.ranges import Range
from compiler.remedy.change import UNSET, Budget, Change, Goal, movable
from compiler.remedy.objections import Objection, Rules


Made = TypeVar("Made")


class Replan(Protocol):
    """Plans a service with other settings."""

    def __call__(self, profile: Profile) -> Plan:
        """The whole plan."""

    def balance(self, profile: Profile) -> Balance | None:
        """What its budgets come to, much sooner; `None` where its memory is not known."""


@define(kw_only=True)
class Trials:
    """What was asked on the way to an answer; levers share it.

    A search asks for balances; a plan is made of what is offered, and held against the rules.

    Attributes:
        rules: why a plan is refused for whatever reason; nothing is offered that they object to.
        forced: settings that are set by force, and where; nothing is offered that moves them.
    """

    replan: Replan
    rules: Objection = field(factory=Rules)
    forced: Mapping[str, str] = field(factory=dict)
    _weighed: dict[Hashable, Balance | None] = field(factory=dict, init=False)
    _made: dict[Hashable, Plan] = field(factory=dict, init=False)
    _judged: dict[Hashable, str | None] = field(factory=dict, init=False)

    @property
    def asked(self) -> int:
        """How many settings were weighed."""
        return len(self._weighed.keys() | self._made.keys())

    @property
    def count(self) -> int:
        """How many plans were made."""
        return len(self._made)

    def balance(self, profile: Profile) -> Balance | None:
        """What the budgets of that plan come to."""
        return once(self._weighed, movable(profile), lambda: self.replan.balance(profile))

    def plan(self, profile: Profile) -> Plan:
        """The plan of a profile that differs from the others in what levers move, and in nothing else."""
        return once(self._made, movable(profile), lambda: self.replan(profile))

    def held(self, change: Change) -> str | None:
        """Why a change would do nothing where it is written; `None` when it would do something."""
        for setting, written in change.settings:
            name = written.strip('[]"') if setting == UNSET else setting
            for forced, profile in self.forced.items():
                if f"{forced}.".startswith(f"{name}."):
                    what = "it" if forced == change.settings[0][0] else f"`{forced}`"
                    return f"{what} is set by force in `{profile}`; `--in {profile}` moves it there"
        return None

    def objection(self, profile: Profile) -> str | None:
        """Why that plan is refused, in words; `None` when it is not."""
        return once(self._judged, movable(profile), lambda: self.rules(self.plan(profile)))


def once(known: dict[Hashable, Made], key: Hashable, make: Callable[[], Made]) -> Made:
    """What is known under a key, made where it is not; a key of settings is hashed field by field, so it is asked for once."""
    try:
        return known[key]
    except KeyError:
        made = known[key] = make()
        return made


def margins(balance: Balance | None, goal: Goal, *, budgets: Budget = Budget.BOTH) -> Margins:
    """How far each of some budgets is above what a goal asks, tokens and GiB; negative where it is short.

    What is not known is short of every goal; no budget at all is short of none.
    """
    if budgets is Budget.NONE:
        return (0.0,)
    tokens = spare_tokens(balance, worst=goal.pool) if balance is not None else -1.0
    gib = spare_gib(balance, worst=goal.reserve) if balance is not None else -1.0
    if budgets is Budget.BOTH:
        return (tokens, gib)
    return (tokens if budgets is Budget.POOL else gib,)


def holds(balance: Balance | None, goal: Goal, *, budgets: Budget = Budget.BOTH) -> bool:
    """Whether some budgets reach a goal."""
    return min(margins(balance, goal, budgets=budgets)) >= 0


def shortfall(balance: Balance | None, goal: Goal) -> str:
    """What is short of a goal, in words: `the pool is 98,871 tokens short`."""
    if balance is None:
        return "its memory is not known"
    tokens, gib = spare_tokens(balance, worst=goal.pool), spare_gib(balance, worst=goal.reserve)
    said = [
        f"the pool is {counted(-tokens, 'token')} short{_at_worst(balance.tokens, goal.pool)}"
        if tokens < 0
        else "",
        f"the reserve is {max(-gib, 0.01):.2f} GiB short{_at_worst(balance.reserve.margin_gib, goal.reserve)}"
        if gib < 0
        else "",
    ]
    return " and ".join(filter(None, said))


def _at_worst(known: Range, asked: Outcome) -> str:
    return "" if known.is_exact or asked is not Outcome.PASSES else " at worst"
