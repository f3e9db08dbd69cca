"""plan.json in, what it promises and predicts out. The file was written by a compile, maybe of another release, or by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.host.service import PLAN, parse_plan
from compiler.host.units import Scope, reachable, show
from compiler.ranges import Range
from compiler.value import Value


_LEFT_TO_ENGINE: Final = "auto"  # `profile.AUTO` of the compiler
MOST_BYTES: Final = 4 * 2**20
"""Of a plan.json; a long one has some 30,000."""


@frozen(kw_only=True, eq=False, repr=False)
class Promised(Value):
    """What verify and measure need of a plan; `None` for what it does not know.

    Attributes:
        context: of one request, tokens; the engine's own of a model that nobody described is not known.
        draft: its catalogue id; an older Poolproof did not write it.
        required_tokens: slots that the promise needs.
        pool: slots that are predicted.
        lines: the budget, GiB per GPU, by the names of its lines.
        argv: the command line that was reviewed.
    """

    profile: str
    engine: str
    version: str
    build: str | None
    model: str
    draft: str | None
    gpu: str
    gpu_count: int
    context: int | None
    concurrency: int
    running_requests: int | None
    required_tokens: int | None
    pool: Range | None
    free_before_gib: Range | None
    lines: Mapping[str, Range]
    argv: tuple[str, ...]


def installed_plan(unit: str, *, scope: Scope) -> Path | Diagnostic:
    """The plan.json of the generation that a unit's file belongs to.

    Errors: `unit-unplanned`, `systemd-silent`.
    """
    state = show(unit, scope=scope)
    if state is None:
        why = reachable(scope) or "no answer"
        summary = f"the {scope.value} manager of systemd does not answer: {why}"
        return error("systemd-silent", summary, help=("name the plan: `--plan FILE`",))
    if state.fragment_path is None:
        return error("unit-unplanned", f"systemd knows no file of a unit `{unit}`")
    plan = Path(state.fragment_path).resolve().parent / PLAN
    if plan.is_file():
        return plan
    return error(
        "unit-unplanned",
        f"`{unit}` was not installed by Poolproof: there is no `{PLAN}` beside its file",
        notes=(f"its file is `{state.fragment_path}`",),
        help=("give the plan it should be held against: `--plan out/PROFILE/plan.json`",),
    )


def read_promised(path: Path) -> Promised | Diagnostic:
    """Read a plan.json.

    Errors: `plan-unreadable`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as fault:
        return _unreadable(path, reason_of(fault))
    if len(content) > MOST_BYTES:
        return _unreadable(path, f"it has more than {MOST_BYTES:,} bytes")
    promised = promised_in(content)
    return _unreadable(path, promised) if isinstance(promised, str) else promised


def promised_in(content: bytes) -> Promised | str:
    """What the content of a plan.json promises; or why it cannot be read, as a sentence."""
    plan = parse_plan(content)
    if plan is None:
        return "it is not one that this Poolproof reads"
    try:
        return _read(plan)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return "it is not as a compile writes it"


def _read(plan: Mapping[str, Any]) -> Promised:
    """Raises `KeyError`, `TypeError` or `ValueError` where the plan is not as a compile writes it."""
    engine, gpus, promise, pool = (plan[name] for name in ("engine", "gpus", "promise", "pool"))
    running, draft = plan["running_requests"], plan.get("draft")
    # An older Poolproof wrote it with the pool only, which there is where memory is known.
    required = promise.get("required_tokens", None if pool is None else pool["required_tokens"])
    return Promised(
        profile=_text(plan["profile"]),
        engine=_text(engine["name"]),
        version=_text(engine["version"]),
        build=None if engine["build"] is None else _text(engine["build"]),
        model=_text(plan["model"]),
        draft=None if draft is None else _text(draft),
        gpu=_text(gpus["kind"]),
        gpu_count=_count(gpus["count"]),
        context=None if promise["context"] == _LEFT_TO_ENGINE else _count(promise["context"]),
        concurrency=_count(promise["concurrency"]),
        running_requests=None if running is None else _count(running),
        required_tokens=None if required is None else _count(required),
        pool=None if pool is None else _range(pool, unit=""),
        free_before_gib=None
        if plan["free_before_load_gib"] is None
        else _range(plan["free_before_load_gib"], unit=""),
        lines={
            _text(each["item"]): _range(each, unit="_gib")
            for each in (*plan["static"], *plan["reserve"])
        },
        argv=tuple(_text(each) for each in plan["argv"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _range(value: Mapping[str, Any], *, unit: str) -> Range:
    low, best, high = (value[f"{name}{unit}"] for name in ("low", "best", "high"))
    return Range(float(low), float(best), float(high))


def _unreadable(path: Path, why: str) -> Diagnostic:
    return error(
        "plan-unreadable",
        f"`{path}` cannot be read as a plan: {why}",
        help=("run `poolproof compile`, and give `--plan out/PROFILE/plan.json`",),
    )
