"""What Compose makes of `$` in a file: text goes in, text comes out, as far as the variables are known.

docs.docker.com, "Set, use, and manage variables in a Compose file with interpolation".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from compiler.adopt.launch import Change, Kept, Word
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind


_EXPANSION = re.compile(
    r"\$\$|\$\{(?P<name>[A-Za-z_]\w*)(?:(?P<sign>:?[-?+])(?P<rest>(?:[^{}]|\{[^{}]*\})*))?\}|\$(?P<bare>[A-Za-z_]\w*)"
)


def interpolate(
    text: str,
    given: Mapping[str, str],
    *,
    span: Span | None,
    kept: Mapping[str, Kept] = MappingProxyType({}),
) -> Word:
    """A text of a compose file as the container gets it; `kept` says where the variables have their values."""
    places: list[Kept] = []
    unknown: list[str] = []
    changes: list[Change] = []

    def replace(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        name = found["name"] or found["bare"]
        value = given.get(name)
        sign, rest = found["sign"] or "", found["rest"] or ""
        if value is not None and (value or not sign.startswith(":")):
            if name in kept and not sign.endswith("+"):
                places.append(kept[name])
            return rest if sign.endswith("+") else value
        if sign.endswith("-"):
            default = interpolate(rest, given, span=span, kept=kept)
            unknown.extend(default.unknown)
            changes.extend(default.changes)
            told = f"`{found[0]}` is taken to be `{default.text}`, its default"
            changes.append(Change(kind=ChangeKind.ASSUMED, text=told, span=span))
            return default.text
        unknown.append(found[0])
        return found[0]

    told = _EXPANSION.sub(replace, text)
    return Word(
        text=told,
        span=span,
        unknown=tuple(unknown),
        changes=tuple(changes),
        kept=next(iter(places), None),
    )
