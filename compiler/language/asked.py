"""What several profiles ask for in vain, or cannot merge: the findings of each go in, one for all of them comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic, Label, listed
from compiler.language.disputes import set_in
from compiler.language.load import name_of


_MOST_NAMED = 4
"""Profiles that a note names; of more it gives the number."""


def asked_once(found: Iterable[Diagnostic]) -> Mapping[Diagnostic, Diagnostic]:
    """For each finding about the name of a parent the one that has every place that asks for it; so for disputes.

    A dispute of files that many extend names all of those. What stands elsewhere, such as a parent's target, has a text of its own and comes last.
    """
    several: dict[object, list[Diagnostic]] = {}
    for each in found:
        if each.profiles:
            # Which of the places comes first hangs on who asks.
            places = frozenset((each.primary, *each.secondary))
            several.setdefault((each.code, each.path, places), []).append(each)
        elif each.primary is not None:
            several.setdefault((each.code, each.summary), []).append(each)
    return {
        each: _settled(alike) if each.profiles else _joined(alike)
        for alike in several.values()
        for each in alike
    }


def _settled(alike: list[Diagnostic]) -> Diagnostic:
    """One dispute for all that can settle it, each for itself, or one for all of them."""
    first = alike[0]
    profiles = tuple(sorted({name for each in alike for name in each.profiles}))
    if len(profiles) == 1 or first.primary is None:
        return first
    said, *others = first.help
    end = said.removeprefix(set_in(first.path, f"`{first.profiles[0]}`"))
    files = dict.fromkeys(name_of(label.span.file) for label in (first.primary, *first.secondary))
    once = listed([f"`{each}`" for each in files])
    named = listed([f"`{each}`" for each in profiles], most=_MOST_NAMED)
    return evolve(
        first,
        notes=(*first.notes, f"{len(profiles)} files extend these: {named}"),
        help=(
            f"{set_in(first.path, 'each of them')}{end}",
            f"or once, in a fragment that extends {once}, and that they extend in place of these",
            *others,
        ),
        profiles=profiles,
    )


def _joined(alike: list[Diagnostic]) -> Diagnostic:
    labels = {label for each in alike for label in (each.primary, *each.secondary) if label}
    first, *others = sorted(labels, key=_order)
    return evolve(alike[0], primary=first, secondary=tuple(others))


def _order(label: Label) -> tuple[bool, object]:
    return label.text != "", label.span
