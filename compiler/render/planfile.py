"""plan.json: the plan of one profile on all its targets, for `verify`, `diff` and other tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import TypedDict

from compiler.judged import Judged
from compiler.plan import Plan
from compiler.planjson import PlanFacts, plan_facts
from compiler.render.beside import between
from compiler.writtenplan import SCHEMA


class GpusJson(TypedDict):
    """The cards of the service; no names where nobody described their kind."""

    kind: str
    names: list[str]
    count: int


class PromiseJson(TypedDict):
    """What is promised; `auto` for a context of a model that nobody described."""

    context: int | str
    concurrency: int
    required_tokens: int | None


class FindingJson(TypedDict):
    """What was found, without its words."""

    code: str
    severity: str


class NeighbourJson(FindingJson):
    """What was found between this service and others of a host, whose profiles `others` names."""

    target: str
    others: list[str]


class TargetJson(TypedDict):
    """How a host runs it; times in seconds, no user for the manager's own."""

    kind: str
    manager: str
    user: str | None
    unit: str
    state_dir: str
    start_timeout_s: int
    stop_timeout_s: int
    on_change: str


class PlanJson(PlanFacts):
    """What plan.json holds. Hosts read it, maybe with a later release: a key may come, none may change its meaning."""

    schema: int
    profile: str
    description: str | None
    verdict: str
    model: str
    draft: str | None
    gpus: GpusJson
    promise: PromiseJson
    running_requests: int | None
    findings: list[FindingJson]
    neighbours: list[NeighbourJson]
    accepted: dict[str, str]
    targets: dict[str, TargetJson]


def render_plan_file(several: Sequence[Judged]) -> str:
    """The text of plan.json; memory, argv and environment are the same on each target."""
    return lay_out(plan_content(several))


def lay_out(content: Mapping[str, object]) -> str:
    """JSON with each entry of a table or a list on a line, so that a review shows a row of a budget as one line."""
    members = (f"  {_json(key)}: {_entries(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(members) + "\n}\n"


def plan_content(several: Sequence[Judged]) -> PlanJson:
    """The content, as it is laid out."""
    first = several[0]
    plan = first.planned
    return {
        "schema": SCHEMA,
        "profile": plan.profile_name,
        "description": plan.profile.description,
        "verdict": first.verdict.value,
        "model": plan.profile.model.id,
        "draft": None if plan.profile.speculative is None else plan.profile.speculative.draft,
        "gpus": {
            "kind": plan.profile.gpus.kind,
            "names": [] if plan.gpu is None else list(plan.gpu.names),
            "count": plan.profile.gpus.count,
        },
        "promise": {
            "context": plan.profile.serve.context,
            "concurrency": plan.profile.serve.concurrency,
            "required_tokens": plan.required_tokens,
        },
        "running_requests": plan.running_requests,
        **plan_facts(plan),
        "findings": [
            {"code": each.code, "severity": each.severity.value} for each in first.diagnostics
        ],
        "neighbours": [
            {
                "code": each.found.code,
                "severity": each.found.severity.value,
                "target": each.target,
                "others": list(each.others),
            }
            for each in between(several)
        ],
        "accepted": dict(sorted(plan.profile.accept.items())),
        "targets": {
            each.target_name: _target(each.plan)
            for each in several
            if each.plan and each.target_name
        },
    }


def _entries(value: object) -> str:
    if isinstance(value, dict) and value:
        rows = [f"    {_json(key)}: {_json(each)}" for key, each in value.items()]
        return "{\n" + ",\n".join(rows) + "\n  }"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"    {_json(each)}" for each in value) + "\n  ]"
    return _json(value)


def _json(value: object) -> str:
    """As `json` writes it on one line; asked itself it makes a new encoder for each cell, which costs more than the cell."""
    if isinstance(value, str):
        return encode_basestring(value)
    if type(value) is int or (isinstance(value, float) and isfinite(value)):
        return repr(value)
    if isinstance(value, dict):
        members = [f"{encode_basestring(key)}: {_json(each)}" for key, each in value.items()]
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _target(plan: Plan) -> TargetJson:
    service, target = plan.service, plan.target
    if service is None or target is None:
        raise ValueError(f"{plan.profile_name} has no target to write for")
    return {
        "kind": target.kind,
        "manager": target.manager,
        "user": target.user,
        "unit": f"{service.unit}.service",
        "state_dir": service.state_dir,
        "start_timeout_s": service.start_timeout_s,
        "stop_timeout_s": service.stop_timeout_s,
        "on_change": target.on_change,
    }
