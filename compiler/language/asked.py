"""What several profiles ask for in vain: the findings of each go in, one for all of them comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic, Label


def asked_once(found: Iterable[Diagnostic]) -> Mapping[Diagnostic, Diagnostic]:
    """For each finding about the name of a parent, the one that has every place that asks for it.

    What stands elsewhere, such as a parent's target, has a text of its own and comes last.
    """
    several: dict[tuple[str, str], list[Diagnostic]] = {}
    for each in found:
        if each.primary is not None:
            several.setdefault((each.code, each.summary), []).append(each)
    return {each: _joined(alike) for alike in several.values() for each in alike}


def _joined(alike: list[Diagnostic]) -> Diagnostic:
    labels = {label for each in alike for label in (each.primary, *each.secondary) if label}
    first, *others = sorted(labels, key=_order)
    return evolve(alike[0], primary=first, secondary=tuple(others))


def _order(label: Label) -> tuple[bool, object]:
    return label.text != "", label.span
