"""What can be changed and what came of it: levers, moves, remedies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Flag, IntEnum, auto
from typing import TypeVar

from attrs import frozen

from compiler.memory.outcome import Outcome
from compiler.plan import Plan
from compiler.profile import Profile
from compiler.value import Value


To = TypeVar("To")


class Budget(Flag):
    """The two budgets of a GPU."""

    NONE = 0
    POOL = auto()
    RESERVE = auto()
    BOTH = POOL | RESERVE


class Cost(IntEnum):
    """What a change gives up, the cheapest first; the order in which changes are offered (`ranking`)."""

    NOTHING = 0
    """Room that nothing was promised for, and graphs of batches that are rare."""
    WAITING = 1
    """Fewer requests run at once."""
    START = 2
    """Long prompts start slower."""
    SPREAD = 3
    """The attention of one request runs on fewer GPUs."""
    ACCURACY = 4
    PROMISE = 5
    """The promise itself becomes smaller."""
    LOADING = 6
    """What is loaded into the server must be smaller, which only its files tell."""
    HARDWARE = 7
    DRAFT = 8
    """All of the speed that speculation gives."""


@frozen(kw_only=True, eq=False, repr=False)
class Goal(Value):
    """How well both budgets have to hold; neither is worse than `Outcome.UNCERTAIN`, but for a pool whose shortness is accepted."""

    pool: Outcome = Outcome.PASSES
    reserve: Outcome = Outcome.PASSES


CERTAIN = Goal()
"""The promise holds over the whole range of what is not known."""
LIKELY = Goal(reserve=Outcome.UNCERTAIN)
"""The pool surely holds it, the reserve by the best estimate: what passes without `--strict`."""


UNSET = "unset"
"""Stands for a setting in a change that takes a table away."""


@frozen(kw_only=True, eq=False, repr=False)
class Change(Value):
    """New settings.

    Attributes:
        settings: each with its value as TOML has it; `unset` stands for what is taken away.
        profile: the profile with them.
    """

    settings: tuple[tuple[str, str], ...]
    profile: Profile

    def __str__(self) -> str:
        """The change as it would be written."""
        return _written(self.settings)


def _written(settings: Iterable[tuple[str, str]]) -> str:
    said = {setting: value for setting, value in settings if setting != UNSET}
    gone = [value.strip("[]") for setting, value in settings if setting == UNSET]
    if gone:
        said[UNSET] = f"[{', '.join(gone)}]"
    order = dict.fromkeys(setting for setting, _ in settings)
    return " and ".join(f"{setting} = {said[setting]}" for setting in order)


def movable(profile: Profile) -> Hashable:
    """All of it that a lever moves: two profiles of one service that have the same are planned the same."""
    return (
        profile.serve,
        profile.memory,
        profile.speculative,
        profile.parallel,
        profile.gpus,
        frozenset(profile.flags.items()),
        frozenset(profile.env.items()),
    )


@frozen(kw_only=True, eq=False, repr=False)
class Moves(Value):
    """The moves of a lever from where it stands, numbered from 1, the smallest first.

    Attributes:
        instead: the same move another way, tried where a rule refuses the first.
        frees_gib: what each adds to the reserve, nearly, while it eases that alone; it only says where to look first.
        sparing: the move that asks for so many tokens of a pool less, nearly, and for no more requests than there are states
            for, where there are any; likewise.
    """

    count: int
    at: Callable[[int], Change]
    instead: Callable[[int], Change] | None = None
    frees_gib: float | None = None
    sparing: Callable[[float, int | None], int] | None = None

    def nearest(self, number: int) -> int:
        """The number itself, or that of the first or the last where it is none of them."""
        return max(1, min(number, self.count))

    @classmethod
    def only(cls, change: Change) -> Moves:
        """The one move that there is."""
        return cls(count=1, at=lambda _: change)

    @classmethod
    def to(
        cls,
        values: Sequence[To],
        change: Callable[[To], Change],
        *,
        instead: Callable[[To], Change] | None = None,
        frees_gib: float | None = None,
        sparing: Callable[[float, int | None], int] | None = None,
    ) -> Moves:
        """A move to each of these values, the nearest first."""
        return cls(
            count=len(values),
            at=lambda number: change(values[number - 1]),
            instead=None if instead is None else lambda number: instead(values[number - 1]),
            frees_gib=frees_gib,
            sparing=sparing,
        )


def _always(_: Plan) -> bool:
    return True


def _never(_: Plan, __: Plan) -> bool:
    return False


@frozen(kw_only=True, eq=False, repr=False)
class Lever(Value):
    """One thing that may be changed, in one direction.

    Attributes:
        setting: the setting it is named by.
        eases: the budgets that get better, or stay, with each further move; the other may get worse.
        advised: the budgets whose refusal shows it; `fit` tries all levers.
        moves: its moves in a plan, or why it has none there.
        applies: whether a plan has what it moves; where it has not, nothing is said of it.
        gives: what it does, for the help of a refusal, from the plans before and after.
        loses: what it costs those who use the server, likewise.
        from_now: whether that is told from what is now even where another lever was moved before it: by the plans of now and
            after. What is no loss from now is one of what the other has given.
    """

    setting: str
    eases: Budget
    cost: Cost
    advised: Budget = Budget.NONE
    moves: Callable[[Plan], Moves | str]
    applies: Callable[[Plan], bool] = _always
    gives: Callable[[Plan, Plan], str]
    loses: Callable[[Plan, Plan], str]
    from_now: Callable[[Plan, Plan], bool] = _never


@frozen(kw_only=True, eq=False, repr=False)
class Remedy(Value):
    """One change, or a pair that belongs together, that reaches a goal.

    Attributes:
        settings: the new values, by setting, as TOML would have them.
        gives: what it does, in few words.
        loses: what it costs, a sentence for each lever.
        plan: the plan it leads to.
        cost: the dearest of its parts.
        levers: what was moved.
        waivers: the entries of `[accept]` that waive nothing after it, and go with it; they are among the settings.
    """

    settings: tuple[tuple[str, str], ...]
    gives: str
    loses: tuple[str, ...]
    plan: Plan
    cost: Cost
    levers: tuple[Lever, ...]
    waivers: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The change as it would be written."""
        return _written(self.settings)


@frozen(kw_only=True, eq=False, repr=False)
class Unhelpful(Value):
    """A lever that was tried and does not help.

    Attributes:
        tried: the move that comes nearest, as it would be written; `None` where there was none to try.
        mended: the move that mends what the lever eases, where the other budget is then short.
    """

    setting: str
    tried: str | None = None
    why: str
    mended: Change | None = None

    def __str__(self) -> str:
        """What was tried, and why it does not help."""
        return f"{self.tried or self.setting}: {self.why}"
