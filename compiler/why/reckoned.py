"""A plan goes in; the values that it reckons with for settings that nobody sets, and that have no fixed default, come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from compiler.language.written import written
from compiler.origins import SettingPath, dotted
from compiler.plan import Plan
from compiler.quantities import Duration
from compiler.value import Value


@frozen(kw_only=True, eq=False, repr=False)
class Reckoned(Value):
    """A value as a profile writes it, and whose choice it is."""

    value: str
    by: str


_ENGINE = "the engine's choice"
_OURS = "worked out from the rest"


def reckoned(plans: tuple[Plan, ...]) -> Mapping[str, Reckoned]:
    """By setting (`memory.chunked_prefill`, `targets.gpu1.start_timeout`); none of what is not known."""
    return {
        dotted(path): Reckoned(value=written(value, key=path[-1]), by=by)
        for plan in plans
        for path, value, by in (*_of_engine(plan), *_of_target(plan))
        if value is not None
    }


_Row = tuple[SettingPath, int | str | None, str]


def _of_engine(plan: Plan) -> Iterator[_Row]:
    yield ("memory", "chunked_prefill"), plan.prefill_chunk, _ENGINE
    yield ("serve", "max_running_requests"), plan.running_requests, _ENGINE
    yield ("engine", "attention_backend"), plan.attention_backend, _ENGINE


def _of_target(plan: Plan) -> Iterator[_Row]:
    service, name = plan.service, plan.target_name
    if service is not None and name is not None:
        above = ("targets", name)
        yield (*above, "unit"), service.unit, _OURS
        yield (*above, "state_dir"), service.state_dir, _OURS
        yield (*above, "start_timeout"), str(Duration(service.start_timeout_s)), _OURS
