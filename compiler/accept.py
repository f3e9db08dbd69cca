"""`[accept]`: the only waiver. It needs a written reason, shows everywhere, the verdict too, and goes stale loudly."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic, Severity, error
from compiler.judged import Checked, Verdict
from compiler.memory.outcome import BUDGETS, Outcome
from compiler.near import near
from compiler.origins import Origins
from compiler.plan import Plan


ACCEPTABLE = frozenset(
    {
        "pool-uncertain",
        "pool-likely-short",
        "reserve-uncertain",
        "reserve-likely-short",
        # What the host decides, and a profile does not know.
        "backend-untried",
        "bind-open",
        "draft-quantization",
        "group-tiles",
        "hub-offline",
        "peer-access",
        "unified-memory",
        # What is beside a promise that holds; where the server is certain to refuse, it is an error and stays one.
        "context-beyond-model",
        "reserve-unpriced",
        "weights-uncertain",
    }
)
"""The findings a profile may accept: those that are likely, never those that are certain."""

CERTAIN = frozenset({"pool-too-small", "reserve-too-small"})
STALE_CODE = "accept-stale"
WAIVER_CODES = frozenset({STALE_CODE, "accept-certain", "accept-unknown", "accept-unreasoned"})
"""What may be wrong with a waiver itself, which no other setting mends."""
WARNINGS = frozenset({"context-beyond-model"})
"""Those that are likely as warnings only: as errors they say what the server does for certain."""


def apply_accepts(
    plan: Plan, found: tuple[Diagnostic, ...], where: Origins
) -> tuple[Diagnostic, ...]:
    """Turn accepted errors into warnings that carry the reason, and judge the waivers themselves."""
    accepted = plan.profile.accept
    codes = {each.code for each in found}
    certain = CERTAIN | {each.code for each in found if _is_certain(each)}
    kept = [_accepted(each, accepted[each.code]) if _may(each, plan) else each for each in found]
    faults = [
        fault
        for code in sorted(accepted)
        if (fault := _judge(code, plan, codes, where, certain=certain)) is not None
    ]
    return (*kept, *faults)


def is_accepted(plan: Plan, code: str) -> bool:
    """Whether the plan's profile accepts findings of this code, and may."""
    return (
        code in plan.profile.accept
        and code in ACCEPTABLE
        and bool(plan.profile.accept[code].strip())
    )


def verdict(plan: Plan) -> Verdict:
    """About memory only: the worse of pool and reserve; an accepted refusal reads uncertain."""
    if plan.memory is None:
        return Verdict.UNKNOWN
    return max(
        (_verdict_of(judge(plan.memory), codes, plan) for judge, codes in BUDGETS),
        key=list(Verdict).index,
    )


def accepted_of(plan: Plan) -> tuple[str, ...]:
    """The findings about memory that its profile accepts."""
    if plan.memory is None:
        return ()
    codes = (codes.get(judge(plan.memory)) for judge, codes in BUDGETS)
    return tuple(code for code in codes if code is not None and is_accepted(plan, code))


def _verdict_of(result: Outcome, codes: Mapping[Outcome, str], plan: Plan) -> Verdict:
    if result is Outcome.PASSES:
        return Verdict.PASS
    if result is Outcome.UNCERTAIN or is_accepted(plan, codes[result]):
        return Verdict.UNCERTAIN
    return Verdict.REFUSED


def _may(each: Diagnostic, plan: Plan) -> bool:
    return is_accepted(plan, each.code) and not _is_certain(each)


def _is_certain(each: Diagnostic) -> bool:
    return each.code in WARNINGS and each.is_error


def _accepted(each: Diagnostic, reason: str) -> Diagnostic:
    return evolve(
        each,
        severity=Severity.WARNING,
        accepted=reason,
        notes=(f"accepted: {reason}", *each.notes),
        help=(),
    )


def _judge(
    code: str, plan: Plan, codes: set[str], where: Origins, *, certain: frozenset[str]
) -> Diagnostic | None:
    setting = f"accept.{code}"
    if code in certain:
        return error(
            "accept-certain",
            f"`{code}` is certain and cannot be accepted",
            where.primary(setting, text="not acceptable"),
            notes=(
                "what is likely may be accepted with a reason; what fails over the whole range may not",
            ),
            help=(
                "change the settings that the finding names"
                if code in codes
                else f"remove `{setting}`: nothing of that kind is found{_instead(code, codes)}",
            ),
            path=setting,
        )
    if code not in ACCEPTABLE:
        similar = near(code, ACCEPTABLE)
        return error(
            "accept-unknown",
            f"no acceptable finding is called `{code}`",
            where.primary(setting, text="not a code that can be accepted"),
            help=(
                *((f"a similar code exists: `{similar}`",) if similar else ()),
                f"there are {', '.join(f'`{each}`' for each in sorted(ACCEPTABLE))}",
            ),
            path=setting,
        )
    if not plan.profile.accept[code].strip():
        return error(
            "accept-unreasoned",
            f"`{code}` is accepted without a reason",
            where.primary(setting, text="write why"),
            help=(f"write the reason as text, or remove `{setting}`",),
            path=setting,
        )
    if code not in codes and plan.memory is not None:
        return error(
            STALE_CODE,
            f"`{code}` is accepted, but nothing of that kind is found",
            where.primary(setting, text="stale"),
            notes=("a waiver that waives nothing would hide the next finding",),
            help=(f"remove `{setting}`{_instead(code, codes)}",),
            path=setting,
        )
    return None


def _instead(code: str, codes: set[str]) -> str:
    """What is found of the same budget in its place, which may be accepted."""
    likely = ACCEPTABLE - {code}
    found = sorted(
        each
        for _, of_budget in BUDGETS
        if code in of_budget.values()
        for each in likely & codes & {*of_budget.values()}
    )
    return f", or accept what is found: `{found[0]}`" if found else ""


def strictly(checked: Checked) -> Checked:
    """The same with every warning made an error, but for what a profile accepts with a reason."""
    return evolve(
        checked,
        judged=tuple(
            evolve(
                each,
                diagnostics=tuple(_strict(found, each.plan) for found in each.diagnostics),
                neighbours=tuple(_strict(found, None) for found in each.neighbours),
            )
            for each in checked.judged
        ),
        diagnostics=tuple(_strict(found, None) for found in checked.diagnostics),
    )


def _strict(found: Diagnostic, plan: Plan | None) -> Diagnostic:
    if plan is not None and is_accepted(plan, found.code):
        return found
    return evolve(found, severity=Severity.ERROR)
