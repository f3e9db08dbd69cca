"""How far one thing may go with the rest as it is: what a promise could ask for, and what a plan that passes has to spare."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from compiler.bisection import Margins, least, margin, most
from compiler.memory.outcome import Outcome, spare_gib, spare_tokens
from compiler.plan import Plan
from compiler.remedy.change import CERTAIN, LIKELY, Budget, Cost, Goal, Remedy
from compiler.remedy.moves import memory_of
from compiler.remedy.scales import SCALES, Most, Scale, requests
from compiler.remedy.trials import Trials, holds, margins, shortfall
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Room(Value):
    """How far a setting may go.

    Attributes:
        written: the setting with the last value at which the promise holds.
        beyond: what is short at the next one, or why there is none.
    """

    written: str
    beyond: str


@frozen(kw_only=True, eq=False, repr=False)
class Spare(Value):
    """What a plan that keeps its promise has to spare.

    Attributes:
        goal: how well it keeps it; what is spare is so at worst of what surely holds, else by the best estimate.
        rooms: how far each setting may go, by every rule; of a promise that surely holds only.
    """

    goal: Goal
    tokens: float
    gib: float
    rooms: tuple[Room, ...]


@frozen(kw_only=True, eq=False, repr=False)
class Furthest(Value):
    """The most of one thing.

    Attributes:
        remedies: the changes that ask for it, none for less than is promised now: first the one as sure as a profile that holds,
            or a sure one; then what is surer and less, or less sure and more.
        short: why nothing less certain, or nothing at all, is among them.
        pool_ends: whether it is the pool that is short beyond one of them, and a higher fraction surely leaves a larger one.
    """

    remedies: tuple[Remedy, ...]
    short: tuple[str, ...]
    pool_ends: bool = False


def the_most(asked: Most, plan: Plan, trials: Trials) -> Furthest:
    """The most of one thing at which the promise surely holds and the most by the best estimate, where that is more.

    With all the rest as it is; never less than is promised now.
    """
    scale = SCALES[asked](plan)
    if (held := trials.held(scale.at(1))) is not None:
        return Furthest(remedies=(), short=(f"{scale.at(1).settings[0][0]}: {held}",))
    found: dict[int, Remedy] = {}
    short: dict[int | None, str] = {}
    certain, likely = (holds(plan.balance, each) for each in (CERTAIN, LIKELY))
    for goal in (LIKELY, CERTAIN) if likely and not certain else (CERTAIN, LIKELY):
        number = _furthest(scale, trials, goal)
        if number is None or number < scale.now:
            short.setdefault(number, _too_far(scale, number, trials, goal))
        elif number not in found:
            found[number] = _asking(scale, number, trials, goal)
    beyond = (scale.at(each + 1).profile for each in found if each < scale.count)
    ends = any(not holds(trials.balance(each), CERTAIN, budgets=Budget.POOL) for each in beyond)
    return Furthest(
        remedies=tuple(found.values()),
        short=tuple(short.values()),
        pool_ends=ends and asked is not Most.POOL and _may_rise(plan, trials),
    )


def _may_rise(plan: Plan, trials: Trials) -> bool:
    """Whether a higher fraction than one that is written surely leaves a larger pool."""
    memory = plan.profile.memory
    if isinstance(memory.fraction, str) or memory.max_pool_tokens:
        return False
    scale = SCALES[Most.POOL](plan)
    highest = None if trials.held(scale.at(1)) else _furthest(scale, trials, CERTAIN)
    return highest is not None and highest > scale.now


def most_that_passes(asked: Most, plan: Plan, trials: Trials) -> Remedy | None:
    """The most of one thing that passes, be it less than is asked for now; surely if there is any that does."""
    scale = SCALES[asked](plan)
    for goal in (CERTAIN, LIKELY):
        number = _furthest(scale, trials, goal)
        if number is not None:
            return _asking(scale, number, trials, goal)
    return None


def _asking(scale: Scale, number: int, trials: Trials, goal: Goal) -> Remedy:
    change = scale.at(number)
    return Remedy(
        settings=change.settings,
        gives=_beyond(scale, number, trials, goal),
        loses=(),
        plan=trials.plan(change.profile),
        cost=Cost.NOTHING,
        levers=(),
    )


def spare(plan: Plan, trials: Trials) -> Spare:
    """What a plan has to spare, by the better of the two goals that it reaches."""
    balance = memory_of(plan).balance
    goal = CERTAIN if holds(balance, CERTAIN) else LIKELY
    # What holds at all holds by the best estimate, both budgets of it.
    worst = Outcome.PASSES if goal is CERTAIN else Outcome.UNCERTAIN
    return Spare(
        goal=goal,
        tokens=spare_tokens(balance, worst=worst),
        gib=spare_gib(balance, worst=worst),
        rooms=tuple(_rooms(plan, trials)) if goal is CERTAIN else (),
    )


def _rooms(plan: Plan, trials: Trials) -> Iterator[Room]:
    for make in (*SCALES.values(), requests):
        scale = make(plan)
        number = None if trials.held(scale.at(1)) else _furthest(scale, trials, CERTAIN)
        if number is not None:
            yield Room(
                written=str(scale.at(number)), beyond=_beyond(scale, number, trials, CERTAIN)
            )


def _furthest(scale: Scale, trials: Trials, goal: Goal) -> int | None:
    """The last number at which a goal is reached, and no rule refuses it."""
    number = _edge(scale, trials, goal)
    if number is not None and _refused(scale, number, trials) is not None:
        # Far below what passes now something else may be short, of which a refused first number says nothing.
        passes = scale.now < number and _refused(scale, scale.now, trials) is None
        number = most(
            low=scale.now if passes else 1,
            high=number - 1,
            margins=lambda number: margin(good=_refused(scale, number, trials) is None),
        )
    if not number or not holds(trials.balance(scale.at(number).profile), goal):
        return None
    return _least_alike(scale, number, trials)


def _least_alike(scale: Scale, number: int, trials: Trials) -> int:
    """Where a cap ends the pool, the first number from now on that has all of it: more of the fraction does nothing."""
    top = scale.at(number).profile
    whole = trials.balance(top)
    if top.memory.max_pool_tokens is None or scale.budgets is not Budget.RESERVE or whole is None:
        return number

    def over(each: int) -> Margins:
        balance = trials.balance(scale.at(each).profile)
        return (-1.0 if balance is None else balance.tokens.low - whole.tokens.low,)

    return least(low=min(scale.now, number), high=number, margins=over) or number


def _edge(scale: Scale, trials: Trials, goal: Goal) -> int | None:
    """The last number that the budgets bear which go down with the setting."""

    def over(number: int) -> Margins:
        return margins(trials.balance(scale.at(number).profile), goal, budgets=scale.budgets)

    # What is asked for now mostly holds, and then nothing below it is of interest.
    begin = scale.now if scale.now <= scale.count and min(over(scale.now)) >= 0 else 1
    return most(low=begin, high=scale.count, margins=over)


def _refused(scale: Scale, number: int, trials: Trials) -> str | None:
    return trials.objection(scale.at(number).profile)


def _beyond(scale: Scale, number: int, trials: Trials, goal: Goal) -> str:
    if number == scale.count:
        return scale.bound
    beyond = scale.at(number + 1).profile
    if _least_alike(scale, number + 1, trials) <= number:
        return (
            "`memory.max_pool_tokens` ends the pool there, and a higher one changes neither budget"
        )
    short = shortfall(trials.balance(beyond), goal)
    return f"beyond that {short or trials.objection(beyond)}"


def _too_far(scale: Scale, number: int | None, trials: Trials, goal: Goal) -> str:
    """Why what is asked for now is too much for a goal, and where that would be reached."""
    at = min(scale.now, scale.count)
    here = scale.at(at).profile
    why = (scale.bound if at < scale.now else "") or shortfall(trials.balance(here), goal)
    why = why or trials.objection(here) or ""
    # A pool is never offered by its best estimate alone: `LIKELY`.
    surely = "for certain" if goal is CERTAIN else "with the reserve by its best estimate"
    if number is None:
        edge = None if scale.budgets is Budget.BOTH else _edge(scale, trials, goal)
        if edge is not None:
            last = scale.at(edge)
            short = shortfall(trials.balance(last.profile), goal)
            short = short or trials.objection(last.profile) or why
            return f"{surely}, none is enough: {last} is the most that the reserve bears, and {short} then"
        return f"{surely}, none is enough: {why}"
    beyond = scale.at(min(number + 1, scale.count)).profile
    if holds(trials.balance(beyond), goal):  # then it is a rule that stands between
        why = trials.objection(beyond) or why
    return f"{surely}, the most is {scale.at(number)}, less than now: {why}"
