"""An expansion that changes a variable's value goes in, as it is written; the value comes out: `${M##*/}`, `${M%%:*}`, `${M,,}`, `${M//a/b}`.

gnu.org/software/bash/manual, "Shell Parameter Expansion".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from attrs import evolve

from compiler.adopt.launch import Word


_TRIMMED = re.compile(r"\$\{(?P<name>\w+)(?P<sign>%%?|##?)(?P<pattern>[^${}\"'\\`]*)\}")
_REPLACED = re.compile(
    r"\$\{(?P<name>\w+)/(?P<all>/?)(?P<old>[^${}\"'\\`*?\[/]+)(?:/(?P<new>[^${}\"'\\`&/]*))?\}"
)
_CASED = re.compile(r"\$\{(?P<name>\w+)(?P<sign>,,|\^\^)\}")
_LONGEST = 4096
"""Characters of a value that is trimmed; a path of a host has no more."""


def changed(raw: str, look_up: Callable[[str], Word | None]) -> Word | None:
    """The changed value of a known variable, with its name among those it is made of; `None` for all else."""
    for pattern, made in ((_TRIMMED, _trimmed), (_REPLACED, _replaced), (_CASED, _cased)):
        found = pattern.fullmatch(raw)
        if found is None:
            continue
        word = look_up(found["name"])
        if word is None or word.unknown or len(word.text) > _LONGEST:
            return None
        return evolve(word, text=made(found, word.text), names=(*word.names, found["name"]))
    return None


def _trimmed(found: re.Match[str], text: str) -> str:
    sign, pattern = found["sign"], found["pattern"]
    several = range(len(text) + 1)
    if sign[0] == "%":
        ends = several if len(sign) > 1 else reversed(several)
        return next((text[:at] for at in ends if fnmatchcase(text[at:], pattern)), text)
    starts = reversed(several) if len(sign) > 1 else several
    return next((text[at:] for at in starts if fnmatchcase(text[:at], pattern)), text)


def _replaced(found: re.Match[str], text: str) -> str:
    return text.replace(found["old"], found["new"] or "", -1 if found["all"] else 1)


def _cased(found: re.Match[str], text: str) -> str:
    return text.lower() if found["sign"] == ",," else text.upper()
