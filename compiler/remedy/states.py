"""A plan in; the levers of its pool of states out, by which more requests run at once, or tokens have more room.

There are none where no layer has a state.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.buffers import StateSlots
from compiler.plan import Plan
from compiler.quantities import counted
from compiler.remedy.change import Budget, Change, Cost, Lever, Moves
from compiler.remedy.moves import memory_of
from compiler.remedy.raw import flag_moves, with_flag
from compiler.remedy.saying import pool, reserve_moves, tokens


def state_levers(plan: Plan) -> Iterator[Lever]:
    """More slots where they admit fewer than are promised, else fewer of them."""
    states = plan.states
    if states is None:
        return
    short = states.requests < plan.profile.parallel.share(plan.profile.serve.concurrency)
    if short:
        yield _FITTED
    if states.flag is not None:
        yield (_more_slots if short else _fewer_slots)(states, states.flag)


def _fitted(plan: Plan) -> Moves | str:
    """The least fraction that admits them; more than one of them may be refused, the low by a rule and the high by the reserve."""
    if plan.profile.memory.fraction == "fit":
        return "it is the least already"
    memory = evolve(plan.profile.memory, fraction="fit")
    fitted = evolve(plan.profile, memory=memory)
    return Moves.only(Change(settings=(("memory.fraction", '"fit"'),), profile=fitted))


_FITTED = Lever(
    setting="memory.fraction",
    eases=Budget.NONE,  # it is a rule that they fall short of
    cost=Cost.NOTHING,
    moves=_fitted,
    gives=lambda before, after: (
        f"{memory_of(after).fraction:g}, where states of as many as are promised have room; {reserve_moves(before, after)}"
    ),
    loses=lambda _, __: "nothing that a client sees; the reserve becomes smaller",
)
"""The states have a share of what the weights leave, so that a higher fraction has slots for more."""


def _more_slots(states: StateSlots, flag: str) -> Lever:
    """Slots for the states of as many requests as are promised."""
    return Lever(
        setting=f"flags.{flag}",
        eases=Budget.NONE,  # it is a rule that they fall short of
        cost=Cost.NOTHING,
        moves=lambda plan: Moves.only(with_flag(plan, flag, value=states.slots_for(plan.profile))),
        gives=lambda _, after: f"states of as many as are promised; {pool(after)}",
        loses=lambda before, after: (
            f"{pool(after)}, {tokens(before) - tokens(after):,.0f} tokens fewer: fewer prefixes are kept"
        ),
    )


def _fewer_slots(states: StateSlots, flag: str) -> Lever:
    """Slots for states, down to those of as many requests as are promised."""

    def moves(plan: Plan) -> Moves | str:
        now, fewest = plan.profile.parallel.limit_of(states.slots), states.slots_for(plan.profile)
        fewer = range(now - 1, fewest - 1, -1)
        return flag_moves(plan, flag, fewer, none=f"{now} are there, and {fewest} are needed")

    return Lever(
        setting=f"flags.{flag}",
        eases=Budget.BOTH,
        cost=Cost.WAITING,
        advised=Budget.POOL,
        moves=moves,
        gives=lambda _, after: f"{pool(after)}; less of the budget goes to states",
        loses=lambda before, after: (
            f"{counted(after.running_requests or 0, 'request', does='run')} at once, not {before.running_requests:,}, "
            "and fewer prefixes are kept"
        ),
    )
