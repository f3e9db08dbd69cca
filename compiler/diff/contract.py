"""The JSON of a change: what other tools build on, as typed dictionaries. A change of meaning raises `SCHEMA`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import TypeAlias, TypedDict, cast

from compiler.diagnostics import Diagnostic
from compiler.diff.comparing import Difference, ServiceChange
from compiler.diff.snapshot import Figures, Place
from compiler.diff.trees import TreeChange
from compiler.diff.wording import outcome
from compiler.planjson import RangeJson
from compiler.ranges import Range
from compiler.report.contract import DiagnosticJson, diagnostic_json


SCHEMA = 3
"""The version of this contract."""


Json: TypeAlias = "str | float | bool | list[Json] | dict[str, Json] | None"
"""A value of a setting, of its own type."""


class DifferenceJson(TypedDict):
    """A setting, a flag, or a variable that differs; null where there is none.

    A setting has its value, of its own type; a flag its words, joined by spaces, and a variable its text.
    """

    name: str
    old: Json
    new: Json
    old_place: str | None
    new_place: str | None


class FiguresJson(TypedDict):
    """What the memory of one GPU comes to."""

    fraction: float
    required_tokens: int
    pool_tokens: RangeJson
    reserve_margin_gib: RangeJson
    replicas: int


class RestartJson(TypedDict):
    """Why, and for how long; `expected_s` is an estimate, and null where there is none.

    `install` is what has to be installed before, in words.
    """

    reasons: list[str]
    expected_s: int | None
    basis: str
    limit_s: int
    stop_s: int | None
    install: str | None


class FileJson(TypedDict):
    """A file of `out/`."""

    path: str
    state: str


class PlaceJson(TypedDict):
    """Where a host has a service."""

    host: str
    unit: str
    manager: str
    state_dir: str


class ServiceJson(TypedDict):
    """What changes for one service.

    `profile_before` is null where the profile is the same; `left` is what stays installed of a service that is `moved` or
    `removed`, and `others` are the profiles that give its unit as well, or that of what is new. `outcome` is it in words.
    """

    profile: str
    profile_before: str | None
    target: str | None
    change: str
    outcome: str
    place: PlaceJson | None
    left: PlaceJson | None
    others: list[str]
    identity: dict[str, str]
    identity_before: dict[str, str]
    settings: list[DifferenceJson]
    options: list[DifferenceJson]
    environment: list[DifferenceJson]
    before: FiguresJson | None
    after: FiguresJson | None
    verdict_before: str | None
    verdict_after: str | None
    findings_new: list[str]
    findings_gone: list[str]
    restart: RestartJson | None
    files: list[FileJson]
    reasons: list[str]


class InputJson(TypedDict):
    """A file below `profiles/` that differs."""

    path: str
    state: str
    profiles: list[str]


class DiffJson(TypedDict):
    """What `diff --format json` prints; the diagnostics are the errors of the new side."""

    schema: int
    old: str
    new: str
    services: list[ServiceJson]
    inputs: list[InputJson]
    notes: list[str]
    diagnostics: list[DiagnosticJson]


def diff_json(change: TreeChange, found: Iterable[Diagnostic]) -> DiffJson:
    """The whole of a change."""
    return {
        "schema": SCHEMA,
        "old": change.old,
        "new": change.new,
        "services": [_service(each) for each in change.services],
        "inputs": [
            {"path": each.path, "state": each.state.value, "profiles": list(each.profiles)}
            for each in change.inputs
        ],
        "notes": list(change.notes),
        "diagnostics": [diagnostic_json(each) for each in found],
    }


def _service(change: ServiceChange) -> ServiceJson:
    restart = change.restart
    return {
        "profile": change.profile,
        "profile_before": change.profile_before,
        "target": change.target or None,
        "change": change.kind.value,
        "outcome": outcome(change),
        "place": _place(change.place),
        "left": _place(change.left),
        "others": list(change.others),
        "identity": dict(change.identity),
        "identity_before": dict(change.identity_before),
        "settings": [_setting(each) for each in change.settings],
        "options": [_difference(each) for each in change.options],
        "environment": [_difference(each) for each in change.environment],
        "before": _figures(change.before),
        "after": _figures(change.after),
        "verdict_before": change.verdicts[0],
        "verdict_after": change.verdicts[1],
        "findings_new": list(change.found),
        "findings_gone": list(change.gone),
        "restart": None
        if restart is None
        else {
            "reasons": list(restart.reasons),
            "expected_s": restart.start.expected_s,
            "basis": restart.start.basis,
            "limit_s": restart.start.limit_s,
            "stop_s": restart.start.stop_s,
            "install": restart.install,
        },
        "files": [{"path": f"out/{path}", "state": state.value} for path, state in change.files],
        "reasons": list(change.why),
    }


def _place(place: Place | None) -> PlaceJson | None:
    if place is None:
        return None
    return {
        "host": place.host,
        "unit": place.unit,
        "manager": place.manager,
        "state_dir": place.state_dir,
    }


def _setting(each: Difference) -> DifferenceJson:
    return {**_difference(each), "old": _value(each.old), "new": _value(each.new)}


def _value(literal: str | None) -> Json:
    """What a snapshot keeps in TOML, so that a secret is covered already."""
    return None if literal is None else cast("Json", tomllib.loads(f"value = {literal}")["value"])


def _difference(each: Difference) -> DifferenceJson:
    return {
        "name": each.name,
        "old": each.old,
        "new": each.new,
        "old_place": each.old_place,
        "new_place": each.new_place,
    }


def _figures(figures: Figures | None) -> FiguresJson | None:
    if figures is None:
        return None
    return {
        "fraction": figures.fraction,
        "required_tokens": figures.required_tokens,
        "pool_tokens": _range(figures.pool),
        "reserve_margin_gib": _range(figures.margin),
        "replicas": figures.replicas,
    }


def _range(known: Range) -> RangeJson:
    return {"low": known.low, "best": known.best, "high": known.high}


class RefusedJson(TypedDict):
    """What it prints where there is nothing to compare."""

    schema: int
    diagnostics: list[DiagnosticJson]


def refused_json(found: Iterable[Diagnostic]) -> RefusedJson:
    """Why there is nothing to compare."""
    return {"schema": SCHEMA, "diagnostics": [diagnostic_json(each) for each in found]}
