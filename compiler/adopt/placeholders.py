"""A text that people are to fill in goes in; each `<words>` in it comes out as a value that is known at start only.

Of a page alone: in a script they are what a shell makes of them, which are redirections.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping


# A redirection has a blank before its second sign, or the number of a stream.
_PLACEHOLDER = re.compile(
    r"(?<![<\w])<(?P<words>(?:\w|\.{3}|…)(?:[^<>\n|&;`$]*[^\s<>|&;`$])?)(?<! \d)>(?![>&(])"
)
_GLUED = re.compile(r"(?<=[\w=/:.@-])<(?P<words>[A-Za-z][\w.-]*)>(?![>&(])")
_TOKENS = frozenset(
    {
        "think",
        "s",
        "pad",
        "eos",
        "bos",
        "unk",
        "mask",
        "sep",
        "cls",
        "image",
        "video",
        "audio",
        "tool_call",
    }
)
"""Tokens of models, which stand in quotes: `"<think>"`."""
_MOST = 500
"""Parts of one block; a public one has ten."""


def placeholders(text: str) -> tuple[str, ...]:
    """The parts of a text that stand for a value, each as it is written."""
    return tuple(dict.fromkeys(found[0] for found, _ in _found(text)))


def filled(text: str, given: Mapping[str, str]) -> str:
    """The text with those that are `given` by their names."""
    parts: list[str] = []
    at = 0
    for found, is_quoted in _found(text):
        value = given.get(placeholder_name(found[0]))
        if value is not None:
            told = value if is_quoted else shlex.quote(value)
            parts += [text[at : found.start()], told]
            at = found.end()
    return "".join((*parts, text[at:]))


def placeholder_name(part: str) -> str:
    """What a part is called by who says it: of `<your key>` it is `your_key`; empty for what is none."""
    if not (part.startswith("<") and part.endswith(">")):
        return ""
    name = re.sub(r"\W+", "_", part).strip("_")
    return name if name.isidentifier() else f"value_{name}".rstrip("_")


def _found(text: str) -> list[tuple[re.Match[str], bool]]:
    """Where they stand, and whether in quotes, of which a line closes its own."""
    several = {each.start(): each for each in _PLACEHOLDER.finditer(text)}
    several |= {each.start(): each for each in _GLUED.finditer(text)}
    kept: list[tuple[re.Match[str], bool]] = []
    at = single = double = 0
    for start, found in sorted(several.items()):
        line = text.rfind("\n", at, start) + 1
        single, double = (0, 0) if line else (single, double)
        between = text[line or at : start]
        single, double, at = single + between.count("'"), double + between.count('"'), start
        is_quoted = single % 2 == 1 or double % 2 == 1
        if not (is_quoted and found["words"] in _TOKENS):
            kept.append((found, is_quoted))
    return kept[:_MOST]
