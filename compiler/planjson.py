"""A plan as JSON: what `check --json`, `plan.json` and later verbs have in common, as typed dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from compiler.plan import Line, Plan, Pool
from compiler.ranges import Range
from compiler.secrecy import COVER, is_secret
from compiler.unknown import Unknown


_DECIMALS = 4  # of GiB: a tenth of a MiB, and the same digits whatever the last bits of a sum are


class EngineJson(TypedDict):
    """The engine as the profile asks for it."""

    name: str
    version: str
    build: str | None


class PoolJson(TypedDict):
    """The KV pool of one GPU: tokens needed and tokens there, whole numbers."""

    required_tokens: int
    low: int
    best: int
    high: int
    cell_bytes: int
    evidence: str


class EffectiveJson(TypedDict):
    """What a client really gets."""

    context: int
    concurrency: int


class LineJson(TypedDict):
    """A line of a budget, GiB per GPU."""

    item: str
    low_gib: float
    best_gib: float
    high_gib: float
    evidence: str


class RangeJson(TypedDict):
    """A figure known to a degree."""

    low: float
    best: float
    high: float


class UnknownJson(TypedDict):
    """Something nobody described."""

    code: str
    name: str
    setting: str
    missing: str
    near: str | None


class PlanFacts(TypedDict):
    """What a plan knows. Without a plan its engine is null; without a memory plan so are pool and reserve."""

    engine: EngineJson | None
    fraction: float | None
    pool: PoolJson | None
    effective: EffectiveJson | None
    free_before_load_gib: RangeJson | None
    static: list[LineJson]
    reserve: list[LineJson]
    reserve_available_gib: RangeJson | None
    reserve_needed_gib: RangeJson | None
    reserve_margin_gib: RangeJson | None
    argv: list[str]
    env: dict[str, str]
    unknowns: list[UnknownJson]
    unpriced: list[str]
    assumptions: list[str]


def plan_facts(plan: Plan | None) -> PlanFacts:
    """The facts of a plan; GiB per GPU to four decimals."""
    memory = None if plan is None else plan.memory
    reserve = None if memory is None else memory.reserve
    return {
        "engine": None if plan is None else _engine(plan),
        "fraction": None if memory is None else memory.fraction,
        "pool": None if memory is None else _pool(memory.pool),
        "effective": None if plan is None else _effective(plan),
        "free_before_load_gib": None if memory is None else _range(memory.free_before_load_gib),
        "static": [] if memory is None else _lines(memory.static),
        "reserve": [] if memory is None else _lines(memory.reserve_lines),
        "reserve_available_gib": None if reserve is None else _range(reserve.available_gib),
        "reserve_needed_gib": None if reserve is None else _range(reserve.needed_gib),
        "reserve_margin_gib": None if reserve is None else _range(reserve.margin_gib),
        "argv": [] if plan is None else _argv(plan),
        "env": {} if plan is None else _environment(plan),
        "unknowns": [] if plan is None else _unknowns(plan.unknowns),
        "unpriced": [] if memory is None else list(memory.unpriced),
        "assumptions": [] if plan is None else list(plan.assumptions),
    }


def _argv(plan: Plan) -> list[str]:
    """The command line; what looks like a secret is refused elsewhere, and not repeated here."""
    words = list(plan.command)
    for option in plan.options:
        words += [option.flag, *(_shareable(option.flag, value) for value in option.values)]
    return words


def _environment(plan: Plan) -> dict[str, str]:
    return {each.name: _shareable(each.name, each.value) for each in plan.environment}


def _shareable(name: str, value: str) -> str:
    return COVER if is_secret(name, value) else value


def _engine(plan: Plan) -> EngineJson:
    engine = plan.profile.engine
    return {"name": engine.name, "version": engine.version, "build": engine.build}


def _pool(pool: Pool) -> PoolJson:
    return {
        "required_tokens": pool.required_tokens,
        "low": int(pool.tokens.low),
        "best": int(pool.tokens.best),
        "high": int(pool.tokens.high),
        "cell_bytes": pool.cell_bytes,
        "evidence": pool.evidence.value,
    }


def _effective(plan: Plan) -> EffectiveJson | None:
    if plan.effective is None:
        return None
    return {"context": plan.effective.context, "concurrency": plan.effective.concurrency}


def _lines(lines: Iterable[Line]) -> list[LineJson]:
    return [
        {
            "item": each.item,
            "low_gib": _gib(each.gib.low),
            "best_gib": _gib(each.gib.best),
            "high_gib": _gib(each.gib.high),
            "evidence": each.evidence.value,
        }
        for each in lines
    ]


def _unknowns(unknowns: Iterable[Unknown]) -> list[UnknownJson]:
    return [
        {
            "code": each.code,
            "name": each.name,
            "setting": each.setting,
            "missing": each.missing,
            "near": each.near,
        }
        for each in unknowns
    ]


def _range(gib: Range) -> RangeJson:
    return {"low": _gib(gib.low), "best": _gib(gib.best), "high": _gib(gib.high)}


def _gib(value: float) -> float:
    """The figure to four decimals, and never a negative zero."""
    return round(value, _DECIMALS) + 0.0
