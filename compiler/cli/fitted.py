"""What `fit` found, as lines for people and as JSON for tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from compiler.accept import verdict
from compiler.diagnostics import Diagnostic, error_codes, printable
from compiler.language.load import file_of
from compiler.plan import Plan
from compiler.planjson import plan_facts
from compiler.remedy.change import CERTAIN, Cost, Remedy, Unhelpful
from compiler.remedy.ranking import given_up
from compiler.remedy.room import Spare
from compiler.remedy.scales import Most
from compiler.report.contract import SCHEMA, diagnostic_json, outcome
from compiler.report.verdicts import memory_numbers, refused_by
from compiler.value import Value


_FACTS = (
    "fraction",
    "pool",
    "effective",
    "reserve_available_gib",
    "reserve_needed_gib",
    "reserve_margin_gib",
)
"""What of a plan's facts a change moves."""


@frozen(kw_only=True, eq=False, repr=False)
class Answer(Value):
    """What one run of `fit` found.

    Attributes:
        first: the errors that are not about memory.
        warned: what its neighbours may do to it, as things stand.
        refused_by: the codes of all errors.
        most: what was asked the most of; `None` for changes.
        short: why the most of it is not surer, or not as much as is promised now.
        spare: what a plan that keeps its promise has to spare.
        shares_gpus: whether that is so where it starts first only, as others may hold a part of its GPUs.
        into: the file that a change would be written to, where it is not the profile's own.
        chosen: the number of the change that is written, if one is.
        file: the profile whose file that change is in.
        also: the other deployable profiles that are made of this file.
        pool_ends: whether it is the pool that is short beyond what was asked the most of.
        stood: whether it stood there already, so that nothing was written.
        waivers: where the waivers stand that a change leaves stale.
    """

    plan: Plan
    first: tuple[Diagnostic, ...]
    refused_by: tuple[str, ...]
    warned: tuple[Diagnostic, ...] = ()
    most: Most | None
    plans: int = 0
    short: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    unhelpful: tuple[Unhelpful, ...] = ()
    spare: Spare | None = None
    shares_gpus: bool = False
    into: str | None = None
    chosen: int | None = None
    file: str | None = None
    also: tuple[str, ...] = ()
    stood: bool = False
    pool_ends: bool = False
    waivers: Mapping[str, str] = field(factory=dict)


def answer_lines(answer: Answer) -> Iterator[str]:
    """For people."""
    plan = answer.plan
    if answer.chosen is not None:
        yield from _remedy_lines(answer, answer.chosen)
        yield _way_on(answer)
        return
    yield f"{printable(plan.profile_name)} now: {_now(answer)}"
    yield from map(_first, answer.first)
    yield ""
    if answer.spare is not None:
        yield from _spare_lines(answer.spare, shares_gpus=answer.shares_gpus)
    if answer.remedies:
        yield _lead(answer)
        yield ""
    for number in range(1, len(answer.remedies) + 1):
        yield from _remedy_lines(answer, number)
    if answer.short:
        yield from answer.short
        yield ""
    if answer.unhelpful:
        yield "tried alone, and no help:"
        yield from _unhelpful_lines(answer)
        yield ""
    yield _way_on(answer)


def _now(answer: Answer) -> str:
    plan = answer.plan
    if not answer.first:
        return _numbers(plan)
    return refused_by(error_codes(answer.first), verdict(plan), memory_numbers(plan))


def _first(found: Diagnostic) -> str:
    return f"first mend `{found.code}`: {found.help[0] if found.help else found.summary}"


def _unhelpful_lines(answer: Answer) -> Iterator[str]:
    """A line for each; one for all that run into the same error, which stood before anything was tried."""
    standing = {found.code for found in answer.first}
    together: dict[str, dict[str, str]] = {}
    for each in answer.unhelpful:
        tried, said = each.tried or each.setting, f"{each.why}{_beside(each, answer)}"
        code = each.why.partition(",")[0]
        if code in standing:
            together.setdefault(code, {})[tried] = said
        else:
            yield f"  {tried}: {said}"
    for code, several in together.items():
        reasons = set(several.values())
        yield f"  {'; '.join(several)}: {reasons.pop() if len(reasons) == 1 else f'{code}, as now'}"


def _beside(each: Unhelpful, answer: Answer) -> str:
    """The changes that have it beside others."""
    numbers = [
        str(number)
        for number, remedy in enumerate(answer.remedies, 1)
        if each.setting in {lever.setting for lever in remedy.levers}
    ]
    return f"; it helps beside others: {', '.join(numbers)}" if numbers else ""


def _remedy_lines(answer: Answer, number: int) -> Iterator[str]:
    remedy = answer.remedies[number - 1]
    yield f"{number}  {remedy}"
    yield f"   {_numbers(remedy.plan)}"
    yield from (f"   costs: {loss}" for loss in remedy.loses)
    for waiver in remedy.waivers:
        yield f"   `{waiver}` at {answer.waivers[waiver]} waives nothing then, and goes with it"
    if answer.most is not None:
        yield f"   no more: {remedy.gives}"
    yield ""


def _numbers(plan: Plan) -> str:
    return f"{verdict(plan).value}; {memory_numbers(plan)}"


def _lead(answer: Answer) -> str:
    if answer.most is not None:
        return f"the most {answer.most.value}, with the rest as it is:"
    if answer.spare is not None:
        return "changes that make it certain, the cheapest first:"
    if answer.first:
        return "changes that mend that too, all of the promise first; then the certain ones, then the cheapest:"
    return (
        "changes that keep the promise, all of it first; then the certain ones, then the cheapest:"
    )


def _spare_lines(spare: Spare, *, shares_gpus: bool) -> Iterator[str]:
    certain = "at worst" if spare.goal is CERTAIN else "by the best estimate"
    first = " and where it starts first on the GPUs that it shares" if shares_gpus else ""
    yield f"to spare, {certain}{first}: {spare.tokens:,.0f} tokens of pool; the reserve's margin is {spare.gib:.2f} GiB"
    yield ""
    if spare.rooms:
        others = " and beside the others as they are" if shares_gpus else ""
        yield f"each may go this far, with the rest as it is{others}:"
        yield from (f"  {each.written}; {each.beyond}" for each in spare.rooms)
        yield ""


def _way_on(answer: Answer) -> str:
    name = printable(answer.plan.profile_name)
    if answer.chosen is not None and answer.file is not None and answer.stood:
        return f"nothing to change: it stands in {file_of(answer.file)} already"
    if answer.chosen is not None and answer.file is not None:
        also = f"; it also changes {', '.join(answer.also)}" if answer.also else ""
        return (
            f"wrote change {answer.chosen} to {file_of(answer.file)}, and nothing else in it{also}"
        )
    if answer.remedies:
        return f"{_to_write(answer, name)}{_fraction_stays(answer)}"
    if answer.spare is not None:
        beside = "; what makes it sure beside the others is said above" if answer.warned else ""
        return f"nothing to change{beside}"
    if answer.most is not None and not answer.refused_by:
        return f"the {answer.most.value} stays as it is, with which the promise holds"
    if answer.most is not None:
        return f"{_NO_SUCH[answer.most]} keeps the promise with the rest as it is; what does, or gives up the least: poolproof fit {name}"
    if answer.first:
        codes = ", ".join(f"`{each}`" for each in error_codes(answer.first))
        return f"nothing that was tried keeps the promise and passes the check: mend {codes}, and ask again"
    return "nothing that was tried keeps the promise; promise less, or use other GPUs"


_NO_SUCH: Mapping[Most, str] = {
    Most.CONTEXT: "no context as long as now",
    Most.CONCURRENCY: "no concurrency as high as now",
    Most.POOL: "no fraction",
}


def _to_write(answer: Answer, name: str) -> str:
    most = "" if answer.most is None else f" --max {answer.most.value}"
    into = "" if answer.into is None else f" --in {printable(answer.into)}"
    first, now = answer.remedies[0].plan.profile, answer.plan.profile
    same = (first.serve, first.memory, first.accept) == (now.serve, now.memory, now.accept)
    if answer.most is not None and same:
        return "nothing to change: the first one is what the profile asks for"
    dear = given_away(answer)
    if dear is not None:
        return f"the first one {dear}; to write it all the same: poolproof fit {name}{most} --write 1{into}"
    return f"to write the first one: poolproof fit {name}{most} --write{into}"


def _fraction_stays(answer: Answer) -> str:
    """Where a fraction by its number ends a pool that could be larger: who asks for the most may not think of it."""
    if not answer.pool_ends:
        return ""
    fraction, name = answer.plan.profile.memory.fraction, printable(answer.plan.profile_name)
    return f"; memory.fraction stays at {fraction}, and a higher one leaves more: poolproof fit {name} --max pool"


def given_away(answer: Answer) -> str | None:
    """Why the first change is written only by its number: who reads no list gives nothing of a promise away."""
    first = answer.remedies[0]
    if given_up(answer.plan, first.plan) > 0:
        return "gives up a part of the promise"
    return _GRAVE.get(first.cost)


_GRAVE = {Cost.HARDWARE: "asks for more GPUs", Cost.LOADING: "may keep adapters from loading"}
"""What is bought or looked at before."""


def answer_json(answer: Answer) -> dict[str, Any]:
    """For tools; settings are written as TOML has them."""
    spare = answer.spare
    return {
        "schema": SCHEMA,
        "profile": answer.plan.profile_name,
        "verdict": verdict(answer.plan).value,
        "outcome": outcome(answer.refused_by, verdict(answer.plan)),
        "refused_by": list(answer.refused_by),
        **_facts(answer.plan),
        "max": None if answer.most is None else answer.most.value,
        "short": list(answer.short),
        "changes": [_change_json(each) for each in answer.remedies],
        "unhelpful": [
            {"setting": each.setting, "tried": each.tried, "why": each.why}
            for each in answer.unhelpful
        ],
        "spare": None
        if spare is None
        else {
            "certain": spare.goal is CERTAIN,
            "tokens": int(spare.tokens),
            "gib": round(spare.gib, 4),
            "shares_gpus": answer.shares_gpus,
            "rooms": [{"written": each.written, "beyond": each.beyond} for each in spare.rooms],
        },
        "plans": answer.plans,
        "written": None
        if answer.file is None or answer.stood
        else {
            "change": answer.chosen,
            "file": file_of(answer.file),
            "also": list(answer.also),
        },
        "diagnostics": [diagnostic_json(each) for each in (*answer.first, *answer.warned)],
    }


def _facts(plan: Plan) -> dict[str, Any]:
    facts = plan_facts(plan)
    return {key: value for key, value in facts.items() if key in _FACTS}


def _change_json(remedy: Remedy) -> dict[str, Any]:
    return {
        "settings": [
            {"setting": setting, "value": written} for setting, written in remedy.settings
        ],
        "verdict": verdict(remedy.plan).value,
        "gives": remedy.gives,
        "costs": list(remedy.loses),
        **_facts(remedy.plan),
    }
