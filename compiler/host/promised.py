"""plan.json in, what it promises and predicts out. The file was written by a compile, maybe of another release, or by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.host.units import Scope, reachable, show
from compiler.ranges import Range
from compiler.value import Value
from compiler.writtenplan import PLAN, read_plan


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
    plan = read_plan(content)
    facts = plan if isinstance(plan, str) else plan.facts
    if isinstance(facts, str):
        return facts
    return Promised(
        profile=facts.profile,
        engine=facts.engine.name,
        version=facts.engine.version,
        build=facts.engine.build,
        model=facts.model,
        draft=facts.draft,
        gpu=facts.gpus.kind,
        gpu_count=facts.gpus.count,
        context=facts.context,
        concurrency=facts.concurrency,
        running_requests=facts.running_requests,
        required_tokens=facts.required_tokens,
        pool=facts.pool,
        free_before_gib=facts.free_before_gib,
        lines=dict((*facts.static, *facts.reserve)),
        argv=facts.argv,
    )


def _unreadable(path: Path, why: str) -> Diagnostic:
    return error(
        "plan-unreadable",
        f"`{path}` cannot be read as a plan: {why}",
        help=("run `poolproof compile`, and give `--plan out/PROFILE/plan.json`",),
    )
