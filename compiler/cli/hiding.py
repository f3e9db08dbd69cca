"""What is printed about somebody's own command line, without the secrets that stand in it."""

from __future__ import annotations

from collections.abc import Iterable

from compiler import concealing
from compiler.cli import session
from compiler.diagnostics import Diagnostic
from compiler.secrecy import hide


_OURS = frozenset({"code", "severity", "verdict", "kind", "file"})
"""Keys whose texts are none of a command's, so that a short secret is not looked for in them."""


def print_json(values: object, *, hidden: frozenset[str]) -> None:
    """One JSON object on stdout, whose texts show nothing hidden."""
    session.print_json(_without(values, hidden))


def without(found: Iterable[Diagnostic], hidden: frozenset[str]) -> tuple[Diagnostic, ...]:
    """Findings whose texts show nothing hidden."""
    return tuple(concealing.without(each, hidden) for each in found)


def _without(value: object, hidden: frozenset[str]) -> object:
    if isinstance(value, str):
        return hide(value, hidden)
    if isinstance(value, dict):
        return {
            key: each if key in _OURS else _without(each, hidden) for key, each in value.items()
        }
    return [_without(each, hidden) for each in value] if isinstance(value, list | tuple) else value
