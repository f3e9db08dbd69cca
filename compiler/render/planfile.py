"""plan.json: the plan of one profile on all its targets, for `verify`, `diff` and other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from compiler.judged import Judged
from compiler.plan import Plan
from compiler.planjson import plan_facts


SCHEMA = 1
"""The version of this file's meaning."""


def render_plan_file(several: Sequence[Judged]) -> str:
    """The text of plan.json; memory, argv and environment are the same on each target."""
    return json.dumps(plan_content(several), indent=2, ensure_ascii=False) + "\n"


def plan_content(several: Sequence[Judged]) -> dict[str, Any]:
    """What plan.json holds."""
    first = several[0]
    plan = first.plan
    if plan is None:
        raise ValueError(f"{first.profile_name} was not planned")
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
        "accepted": dict(sorted(plan.profile.accept.items())),
        "targets": {each.plan.target_name: _target(each.plan) for each in several if each.plan},
    }


def _target(plan: Plan) -> dict[str, Any]:
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
