"""Diagnostics as a list to show: each once, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.diagnostics import Diagnostic
from compiler.quantities import counted


def distinct(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics in the order given; one that equals an earlier one is left out."""
    return tuple(dict.fromkeys(diagnostics))


def summary_line(diagnostics: Iterable[Diagnostic]) -> str:
    """How many there are: `2 errors, 1 warning`. Equal diagnostics count once, as they are shown once."""
    shown = distinct(diagnostics)
    errors = sum(each.is_error for each in shown)
    counts = {"error": errors, "warning": len(shown) - errors}
    told = [counted(number, what) for what, number in counts.items() if number]
    return ", ".join(told) or "no errors, no warnings"
