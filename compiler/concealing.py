"""Findings that show no secret: what is said of a profile is read by more people than the profile is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import evolve

from compiler.diagnostics import Diagnostic, Label
from compiler.judged import Judged
from compiler.origins import dotted
from compiler.secrecy import held_secrets, hide, is_literal, secret_parts
from compiler.secretnames import names_a_secret


_ANYWHERE = 8
"""Letters from which on a secret is hidden wherever it is said, and not in findings about its own setting alone."""
_SHORTEST = 4
"""Letters of a secret that is looked for: a shorter one is a word of every sentence."""
_BY_PLACE = "secrets"
"""The table of secrets that are given by the file that holds them."""


def concealed(
    found: tuple[Diagnostic, ...], values: Mapping[str, object]
) -> tuple[Diagnostic, ...]:
    """Findings about plain values, whose texts show none of the secrets among these, nor what has a secret's form."""
    if not found:
        return found
    secrets = dict(_secrets(values, ()))
    wide = frozenset(each for held in secrets.values() for each in held if len(each) >= _ANYWHERE)
    return tuple(without(each, wide | _own(each, secrets)) for each in found)


def concealed_judged(judged: Judged, values: Mapping[str, object]) -> Judged:
    """A judged profile, its findings told so."""
    if not judged.diagnostics:
        return judged
    return evolve(
        judged,
        diagnostics=concealed(judged.diagnostics, values),
        standing=concealed(judged.standing, values),
    )


def without(found: Diagnostic, hidden: Iterable[str]) -> Diagnostic:
    """The finding, its texts without these values and without what has a secret's form."""
    values = frozenset(hidden).union(*map(secret_parts, _texts(found)))
    if not values:
        return found
    return evolve(
        found,
        summary=hide(found.summary, values),
        primary=None if found.primary is None else _label(found.primary, values),
        secondary=tuple(_label(each, values) for each in found.secondary),
        notes=tuple(hide(line, values) for line in found.notes),
        help=tuple(hide(line, values) for line in found.help),
        path=None if found.path is None else hide(found.path, values),
        accepted=None if found.accepted is None else hide(found.accepted, values),
    )


def _texts(found: Diagnostic) -> Iterator[str]:
    yield from (found.summary, found.path or "", found.accepted or "")
    yield from (each.text for each in (found.primary, *found.secondary) if each is not None)
    yield from (*found.notes, *found.help)


def _label(label: Label, values: frozenset[str]) -> Label:
    return evolve(label, text=hide(label.text, values))


def _own(found: Diagnostic, secrets: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The secrets at the setting that a finding is about, and below it."""
    path = found.path
    held = (
        values
        for setting, values in secrets.items()
        if path is not None and f"{setting}.".startswith(f"{path}.")
    )
    return frozenset().union(*held)


def _secrets(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, frozenset[str]]]:
    """By setting, the words that are secrets by a name in its path, or by their form."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _secrets(below, (*path, str(key)))
        return
    several = value if isinstance(value, list | tuple) else (value,)
    words = {str(each) for each in several if not isinstance(each, bool)}
    held = {part for each in words for part in held_secrets(each)}
    if path and path[0] != _BY_PLACE and any(map(names_a_secret, path)):
        held |= {each for each in words if len(each) >= _SHORTEST and _is_told(each)}
    if held:
        yield dotted(path), frozenset(held)


def _is_told(word: str) -> bool:
    """Whether a word under a secret's name is the secret, not the place of it."""
    return word.isdecimal() or is_literal(word)
