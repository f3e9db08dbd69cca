"""What Compose makes of `$` in a file: text goes in, text comes out, as far as the variables are known.

docs.docker.com, "Set, use, and manage variables in a Compose file with interpolation".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from compiler.adopt.launch import Change, Word
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind


_EXPANSION = re.compile(
    r"\$\$|\$\{(?P<name>[A-Za-z_]\w*)(?:(?P<sign>:?[-?+])(?P<rest>(?:[^{}]|\{[^{}]*\})*))?\}|\$(?P<bare>[A-Za-z_]\w*)"
)


def interpolate(text: str, given: Mapping[str, str], *, span: Span | None) -> Word:
    """A text of a compose file as the container gets it."""
    unknown: list[str] = []
    changes: list[Change] = []

    def replace(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        name = found["name"] or found["bare"]
        value = given.get(name)
        sign, rest = found["sign"] or "", found["rest"] or ""
        if value is not None and (value or not sign.startswith(":")):
            return rest if sign.endswith("+") else value
        if sign.endswith("-"):
            default = interpolate(rest, given, span=span)
            unknown.extend(default.unknown)
            changes.extend(default.changes)
            told = f"`{found[0]}` is taken to be `{default.text}`, its default"
            changes.append(Change(kind=ChangeKind.ASSUMED, text=told, span=span))
            return default.text
        unknown.append(found[0])
        return found[0]

    told = _EXPANSION.sub(replace, text)
    return Word(text=told, span=span, unknown=tuple(unknown), changes=tuple(changes))
