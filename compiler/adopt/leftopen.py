"""A judged launch goes in; what hangs on values that are known at start only comes out as a doubt, not as a refusal."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from compiler.adopt.adopted import Adopted, advise_variables
from compiler.diagnostics import Diagnostic, Label, Severity, warning
from compiler.judged import Judged, Verdict
from compiler.memory.outcome import MEMORY_CODES


_WHATEVER_IT_IS = frozenset(
    {"flag-unknown", "flag-value", "flag-smuggled", "secret-in-argv", "secret-in-env"}
)
"""Findings about one flag or one value alone."""
_MOST_SHOWN = 4


def doubted(judged: Judged, adopted: Adopted) -> Judged:
    """A launch as far as it can be judged: `launch-open`, and what that may mend as warnings."""
    several = adopted.chosen.reading.open
    if not several:
        return judged
    names = _listed(tuple(dict.fromkeys(each.flag for each in several)))
    sizes = any(each.sizes for each in several)
    found = tuple(
        _doubted(each, names)
        for each in judged.diagnostics
        if not (sizes and each.code in MEMORY_CODES)
    )
    plan = judged.plan
    return evolve(
        judged,
        verdict=Verdict.UNKNOWN if sizes else judged.verdict,
        plan=evolve(plan, memory=None) if sizes and plan is not None else plan,
        diagnostics=(*found, _left_open(adopted, names, sizes=sizes)),
    )


def _doubted(found: Diagnostic, names: str) -> Diagnostic:
    if not found.is_error or found.code in _WHATEVER_IT_IS:
        return found
    note = f"it may not be so: the launch leaves {names} open"
    return evolve(found, severity=Severity.WARNING, notes=(*found.notes, note))


def _left_open(adopted: Adopted, names: str, *, sizes: bool) -> Diagnostic:
    first = adopted.chosen.reading.open[0]
    span = adopted.launch.command.words[first.words[0]].span
    return warning(
        "launch-open",
        f"the launch leaves {names} open",
        Label(span, "known at start only") if span is not None else None,
        notes=tuple(_means(sizes=sizes)),
        help=tuple(advise_variables(adopted.launch)),
    )


def _means(*, sizes: bool) -> Iterator[str]:
    yield "what hangs on it is said as a warning"
    if sizes:
        yield "memory is not judged"


def _listed(names: tuple[str, ...]) -> str:
    shown = [f"`{each}`" for each in names[:_MOST_SHOWN]]
    rest = len(names) - _MOST_SHOWN
    shown += [f"{rest} more"] if rest > 0 else []
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
