"""A file that TOML's parser refused goes in; what git left of an unfinished merge comes out, if that is what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, Label, error, listed
from compiler.source import Source


_MARKER = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?:[ ]([^\r\n]*))?\r?$", re.MULTILINE)
_BETWEEN = "======="
"""The one that may be an ornament."""
_MOST_LINES = 6
"""Lines that a note names."""
_OVER_LINES = ('"""', "'''")


def unmerged(source: Source, offset: int, *, piece: str) -> Diagnostic | None:
    """The finding at the first marker, where the parser came as far as that; `None` where a string has it, or none is there.

    `piece`: the pattern of strings, brackets, and comments. What stands behind a marker, a branch or the subject of a commit,
    is not repeated.
    """
    found = tuple(_markers(source.text, piece))
    if all(each[1] == _BETWEEN for each in found):
        return None
    first = found[0]
    if source.position(first.start())[0] > source.position(offset)[0]:
        return None
    lines = [str(source.position(each.start())[0]) for each in found]
    kinds = dict.fromkeys(f"`{each[1]}`" for each in found)
    behind = (Label(source.span(*first.span(2)), secret=True),) if first[2] else ()
    return error(
        "toml-syntax",
        "invalid TOML: the file holds an unfinished merge of git",
        Label(source.span(*first.span(1)), "its first marker"),
        secondary=behind,
        notes=(f"its markers stand on lines {listed(lines, most=_MOST_LINES)}",)
        if lines[1:]
        else (),
        help=(
            f"keep what is meant, of one side or of both, and remove the lines that begin with {listed([*kinds])}",
        ),
    )


def _markers(text: str, piece: str) -> Iterator[re.Match[str]]:
    """Those that stand in no string: one over lines may hold anything."""
    found = [*_MARKER.finditer(text)]
    if not found:
        return
    pieces = (each for each in re.finditer(piece, text) if each[0].startswith(_OVER_LINES))
    # One that does not end takes the rest.
    strings = [
        (each.start(), len(text) if each[0] in _OVER_LINES else each.end()) for each in pieces
    ]
    at = 0
    for each in found:
        while at < len(strings) and strings[at][1] <= each.start():
            at += 1
        if at == len(strings) or each.start() < strings[at][0]:
            yield each
