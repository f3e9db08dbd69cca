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
_TAG = re.compile(r"[a-z]+\d*")


def placeholders(text: str) -> tuple[str, ...]:
    """The parts of a text that stand for a value, each as it is written."""
    return tuple(dict.fromkeys(found[0] for found in _found(text)))


def filled(text: str, given: Mapping[str, str]) -> str:
    """The text with those that are `given` by their names."""
    for found in reversed(_found(text)):
        value = given.get(placeholder_name(found[0]))
        if value is not None:
            told = value if _is_quoted(text, found.start()) else shlex.quote(value)
            text = text[: found.start()] + told + text[found.end() :]
    return text


def placeholder_name(part: str) -> str:
    """What a part is called by who says it: of `<your key>` it is `your_key`; empty for what is none."""
    if not (part.startswith("<") and part.endswith(">")):
        return ""
    name = re.sub(r"\W+", "_", part).strip("_")
    return name if name.isidentifier() else f"value_{name}".rstrip("_")


def _found(text: str) -> list[re.Match[str]]:
    several = (*_PLACEHOLDER.finditer(text), *_GLUED.finditer(text))
    found = {each.start(): each for each in several}
    # In quotes a word in small letters may be a token of the model: `"<think>"`.
    return [
        each
        for _, each in sorted(found.items())
        if not (_TAG.fullmatch(each["words"]) and _is_quoted(text, each.start()))
    ]


def _is_quoted(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line.count('"') % 2 == 1 or line.count("'") % 2 == 1
