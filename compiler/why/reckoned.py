"""A plan goes in; the values that it reckons with for settings that nobody sets, and that have no fixed default, come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.engines.engine import Facts
from compiler.engines.known import ENGINES
from compiler.language.settings import find_setting
from compiler.language.spans import split_key
from compiler.language.written import written
from compiler.origins import SettingPath, dotted
from compiler.plan import Plan
from compiler.quantities import Duration
from compiler.service import (
    GRAPHS_AND_WARMUP_S,
    READ_GB_PER_S,
    SHORTEST_START_S,
    STATE_ROOT,
    STEP_S,
    checkpoint_gb,
)
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Reckoned(Value):
    """A value as a profile writes it, and whose choice it is.

    Attributes:
        how: what it is worked out from, with its figures, a clause; `None` where the engine chose it.
    """

    value: str
    by: str
    how: str | None = None


_ENGINE = "the engine's choice"
_OURS = "worked out from the rest"


def reckoned(plans: tuple[Plan, ...]) -> Mapping[str, Reckoned]:
    """By setting (`memory.chunked_prefill`, `targets.gpu1.start_timeout`); none of what is not known."""
    return {
        dotted(path): Reckoned(
            value=written(value, key=path[-1]), by=_ENGINE if how is None else _OURS, how=how
        )
        for plan in plans
        for path, value, how in (*_of_engine(plan), *_of_target(plan))
    }


def engine_choices(plan: Plan) -> Mapping[str, int | str]:
    """By setting what the plan's engine takes where it is left open, also in the place of a word that stands for a default."""
    engine, profile = ENGINES.get(plan.profile.engine.name), plan.profile
    if engine is None:
        return {}
    facts = Facts(gpu=plan.gpu, model=plan.model, draft=plan.draft, release=plan.release)
    found = dict(engine.choices(profile, facts))
    if plan.running_each is not None:
        # A limit of a server whose replicas do not share it is each one's own.
        found["serve.max_running_requests"] = profile.parallel.limit_of(plan.running_each)
    return found


_Row = tuple[SettingPath, int | str, str | None]


def _of_engine(plan: Plan) -> Iterator[_Row]:
    for setting, value in engine_choices(plan).items():
        path = split_key(setting) or ()
        known = find_setting(path)
        if known is not None and known.default is None:
            yield path, value, None


def _of_target(plan: Plan) -> Iterator[_Row]:
    service, name = plan.service, plan.target_name
    if service is not None and name is not None:
        above = ("targets", name)
        yield (*above, "unit"), service.unit, _unit_from(plan)
        yield (
            (*above, "state_dir"),
            service.state_dir,
            f"{STATE_ROOT}, and below it the name of the unit",
        )
        yield (*above, "start_timeout"), str(Duration(service.start_timeout_s)), _start_from(plan)


def _unit_from(plan: Plan) -> str:
    model = plan.profile.model
    name = (
        f"what of model.id = {written(model.id, key='id')} stands behind the last `/`"
        if model.served_name is None
        else f"model.served_name = {written(model.served_name, key='served_name')}"
    )
    return f"{name}, in small letters, with `-` for what a unit's name cannot have"


def _start_from(plan: Plan) -> str:
    steps = f"in whole steps of {Duration(STEP_S)}, and {Duration(SHORTEST_START_S)} at least"
    warm = f"{Duration(GRAPHS_AND_WARMUP_S)} for graphs and warm-up"
    if plan.model is None:
        return f"the least there is: nobody described the model, so the size of its checkpoint is not known; else {steps}"
    size = checkpoint_gb(plan.model)
    read = f"{size:,.0f} GB of weight files at {READ_GB_PER_S:g} GB/s"
    return f"twice the {size / READ_GB_PER_S:,.0f} s to read {read}, and {warm}; {steps}"
