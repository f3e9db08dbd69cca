"""A plan in; the levers of what only its engine's own flags and variables move out, by the names that the engine gives them.

There are none where a plan has nothing that they move, so that a search of it asks for nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from attrs import evolve

from compiler.buffers import Adapters, Unfolds
from compiler.language.written import written
from compiler.plan import Plan
from compiler.profile import Text
from compiler.remedy.change import Budget, Change, Cost, Lever, Moves
from compiler.remedy.moves import powers_below
from compiler.remedy.saying import pool, reserve_needs


_LEAST_UNFOLDED = 8192
_LEAST_RANK = 8  # adapters of fewer are rare


def raw_levers(plan: Plan) -> Iterator[Lever]:
    """Those that it has something to move for, in the order in which they are tried."""
    unfolds, adapters = plan.unfolds, plan.adapters
    if unfolds is not None and unfolds.variable is not None:
        yield _less_unfolding(unfolds, unfolds.variable)
    if unfolds is not None and unfolds.switch is not None:
        yield _no_unfolding(unfolds.switch)
    if adapters is not None:
        yield fewer_adapters(adapters)
        yield _lower_rank(adapters)


def _less_unfolding(unfolds: Unfolds, variable: str) -> Lever:
    """What a prefill step makes keys of at once, down through the powers of two."""

    def moves(plan: Plan) -> Moves | str:
        fewer = powers_below(_unfolded(plan), least=_LEAST_UNFOLDED)
        if not fewer:
            return f"no less than {_LEAST_UNFOLDED} at once is tried"
        return Moves.to(fewer, lambda each: _with_variable(plan, variable, each))

    return Lever(
        setting=f"env.{variable}",
        eases=Budget.BOTH,
        cost=Cost.START,
        advised=Budget.RESERVE,
        moves=moves,
        gives=lambda _, after: (
            f"{reserve_needs(after)}; what stands before a chunk is unfolded in smaller parts"
        ),
        loses=lambda _, after: (
            f"what stands before a chunk is unfolded {_unfolded(after):,} tokens at a time, not {unfolds.tokens:,}: "
            "long prompts start a little slower"
        ),
    )


def _unfolded(plan: Plan) -> int:
    return plan.unfolds.tokens if plan.unfolds is not None else 0


def _no_unfolding(switch: str) -> Lever:
    """Prefill steps that make no keys of what stands before."""
    return Lever(
        setting=f"flags.{switch}",
        eases=Budget.BOTH,
        cost=Cost.START,
        advised=Budget.RESERVE,
        moves=lambda plan: Moves.only(with_flag(plan, switch, value=True)),
        gives=lambda _, after: f"{reserve_needs(after)}; long prompts start slower",
        loses=lambda _, __: (
            "what stands before a chunk is read as latents, which takes more work a token: long prompts, and those with "
            "a cached beginning, start slower"
        ),
    )


@lru_cache(maxsize=16)  # the same one alone and in a pair
def fewer_adapters(adapters: Adapters) -> Lever:
    """Buffers of adapters, down to those that must be there."""
    flag, now, fewest = adapters.number_flag, adapters.number, adapters.fewest
    fewer = range(now - 1, fewest - 1, -1)
    none = f"a batch may use {now}, and no fewer is possible"
    return Lever(
        setting=f"flags.{flag}",
        eases=Budget.POOL,
        cost=Cost.WAITING,
        advised=Budget.POOL,
        moves=lambda plan: flag_moves(plan, flag, fewer, none=none),
        gives=lambda _, after: f"{pool(after)}; fewer adapters in one batch",
        loses=lambda _, after: (
            f"one batch may use {_number(after)} different adapters, not {now}, and the base model counts as one: "
            "requests for others wait"
        ),
    )


def _number(plan: Plan) -> int:
    return plan.adapters.number if plan.adapters is not None else 0


def _lower_rank(adapters: Adapters) -> Lever:
    """The largest rank of an adapter, down through the powers of two."""
    flag, lower = adapters.rank_flag, powers_below(adapters.rank, least=_LEAST_RANK)
    none = f"no lower one than {_LEAST_RANK} is tried"
    return Lever(
        setting=f"flags.{flag}",
        eases=Budget.POOL,
        cost=Cost.LOADING,
        advised=Budget.POOL,
        moves=lambda plan: flag_moves(plan, flag, lower, none=none),
        gives=lambda _, after: f"{pool(after)}; only where no adapter has a higher rank",
        loses=lambda _, after: (
            f"an adapter of a higher rank than {_rank(after)} is not loaded: look at `r` in the adapter_config.json of each"
        ),
    )


def _rank(plan: Plan) -> int:
    return plan.adapters.rank if plan.adapters is not None else 0


def flag_moves(plan: Plan, flag: str, values: Sequence[int], *, none: str) -> Moves | str:
    """Numbers of a flag, the first the smallest move; `none` says why there is no such number."""
    return Moves.to(values, lambda each: with_flag(plan, flag, value=each)) if values else none


def with_flag(plan: Plan, flag: str, *, value: int) -> Change:
    """A flag with a number, or `True`, which is one that has no value."""
    flags = {**plan.profile.flags, flag: value}
    return Change(
        settings=((f"flags.{flag}", written(value, key=flag)),),
        profile=evolve(plan.profile, flags=flags),
    )


def _with_variable(plan: Plan, variable: str, value: int) -> Change:
    env = {**plan.profile.env, variable: Text(str(value))}
    return Change(
        settings=((f"env.{variable}", f'"{value}"'),), profile=evolve(plan.profile, env=env)
    )
