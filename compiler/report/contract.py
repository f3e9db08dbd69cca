"""The JSON that `--json` prints: what other tools build on, as typed dictionaries. A change of meaning raises `SCHEMA`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypedDict

from compiler.diagnostics import Diagnostic, Label, Span, error_codes
from compiler.judged import Judged, Verdict
from compiler.planjson import PlanFacts, plan_facts
from compiler.report.counting import distinct


SCHEMA = 1
"""The version of this contract."""


class SpanJson(TypedDict):
    """A place and what is said about it; lines and columns from 1, in code points, the end exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str


class DiagnosticJson(TypedDict):
    """A diagnostic; the first of its spans is the primary one."""

    code: str
    severity: str
    summary: str
    path: str | None
    spans: list[SpanJson]
    notes: list[str]
    help: list[str]


class PlanJson(PlanFacts):
    """A profile on a target, judged; of a command that was predicted there is no profile.

    Attributes:
        verdict: about memory only.
        outcome: `refused` where any error refuses it, one between it and another service too; else the verdict.
        refused_by: the codes of those errors.
    """

    profile: str | None
    target: str | None
    verdict: str
    outcome: str
    refused_by: list[str]
    diagnostics: list[DiagnosticJson]


class CheckJson(TypedDict):
    """What `check --json` prints.

    Attributes:
        outcome: `refused` where there is any error, wherever it stands: the command then exits 1. Else the worst verdict of
            the plans; null where nothing was judged.
        refused_by: the codes of all errors.
        unseen: profiles that name the same hosts and could not be planned, so that nothing was found between them.
    """

    schema: int
    diagnostics: list[DiagnosticJson]
    plans: list[PlanJson]
    outcome: str | None
    refused_by: list[str]
    unseen: list[str]


def check_json(
    top: Iterable[Diagnostic], *, judged: Iterable[Judged], unseen: Iterable[str] = ()
) -> CheckJson:
    """The whole of one check: `top` is what belongs to no plan. Equal diagnostics of one list stand once."""
    result = _check(tuple(top), tuple(judged), beside=())
    result["unseen"] = [*unseen]
    return result


def _check(
    top: tuple[Diagnostic, ...], judged: tuple[Judged, ...], *, beside: tuple[Diagnostic, ...]
) -> CheckJson:
    """The same; what is `beside` the plans refuses each of them."""
    codes = error_codes((*top, *(found for each in judged for found in each.diagnostics)))
    worst = max((each.verdict for each in judged), key=list(Verdict).index, default=None)
    return {
        "schema": SCHEMA,
        "diagnostics": _diagnostics(top),
        "plans": [_plan(each, beside=beside) for each in judged],
        "outcome": None if worst is None and not codes else outcome(codes, worst),
        "refused_by": list(codes),
        "unseen": [],
    }


def outcome(codes: Sequence[str], verdict: Verdict | None) -> str:
    """What a script may go by: a verdict says nothing of errors that are not about memory."""
    return (Verdict.REFUSED if codes or verdict is None else verdict).value


def predict_json(top: Iterable[Diagnostic], *, judged: Iterable[Judged]) -> CheckJson:
    """The same of launch commands, which have no profile."""
    beside = tuple(top)
    result = _check(beside, tuple(judged), beside=beside)
    for each in result["plans"]:
        each["profile"] = None
    return result


class ChangeJson(TypedDict):
    """What became of a part of a launch; no place for what stands nowhere."""

    kind: str
    text: str
    file: str | None
    line: int | None


class AdoptJson(CheckJson):
    """What `adopt --json` prints; no profile when there are errors, or when the launch is only judged."""

    changes: list[ChangeJson]
    profile: str | None


class Changed(Protocol):
    """A change of a launch."""

    @property
    def kind(self) -> str:
        """What became of it."""

    @property
    def text(self) -> str:
        """What there is to say."""

    @property
    def span(self) -> Span | None:
        """Where it stands."""


def adopt_json(
    top: Iterable[Diagnostic],
    *,
    judged: Iterable[Judged],
    changes: Iterable[Changed],
    profile: str | None = None,
) -> AdoptJson:
    """The whole of one launch, adopted or judged."""
    told: list[ChangeJson] = [
        {
            "kind": str(each.kind),
            "text": each.text,
            "file": each.span.file if each.span is not None else None,
            "line": each.span.line if each.span is not None else None,
        }
        for each in changes
    ]
    return {**predict_json(top, judged=judged), "changes": told, "profile": profile}


def diagnostic_json(diagnostic: Diagnostic) -> DiagnosticJson:
    """One diagnostic: text as it is, not made harmless for a terminal."""
    primary = () if diagnostic.primary is None else (diagnostic.primary,)
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "summary": diagnostic.summary,
        "path": diagnostic.path,
        "spans": [_span(each) for each in (*primary, *diagnostic.secondary)],
        "notes": list(diagnostic.notes),
        "help": list(diagnostic.help),
    }


def _diagnostics(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticJson]:
    return [diagnostic_json(each) for each in distinct(diagnostics)]


def _span(label: Label) -> SpanJson:
    span = label.span
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "label": label.text,
    }


def _plan(judged: Judged, *, beside: tuple[Diagnostic, ...]) -> PlanJson:
    codes = error_codes((*beside, *judged.diagnostics, *judged.neighbours))
    return {
        "profile": judged.profile_name,
        "target": judged.target_name,
        "verdict": judged.verdict.value,
        "outcome": outcome(codes, judged.verdict),
        "refused_by": list(codes),
        **plan_facts(judged.plan),
        "diagnostics": _diagnostics(judged.diagnostics),
    }
