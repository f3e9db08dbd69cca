"""What systemd makes of `$` when it starts a command: words and an environment go in, words come out.

Rules as measured on systemd 252: `$NAME` as a whole word is split at blanks, and vanishes when it is not set; `${NAME}` is
replaced wherever it stands; all else stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from compiler.adopt.launch import Change, Word
from compiler.adopt.unitsheet import CLOSE, OPEN
from compiler.engines.adopting import ChangeKind


_WHOLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_INSIDE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HIDDEN = re.compile(f"{OPEN}(.*?){CLOSE}", re.DOTALL)


def expand(
    words: Sequence[Word],
    environment: Mapping[str, Word],
    *,
    complete: bool,
    given: Mapping[str, str],
) -> tuple[tuple[Word, ...], tuple[Change, ...]]:
    """The words at start; without a `complete` environment a variable that is not in it, nor `given`, is not known."""
    environment = {**{name: Word(text=text) for name, text in given.items()}, **environment}
    changes: list[Change] = []
    made: list[Word] = []
    for word in words:
        whole = _WHOLE.fullmatch(word.text)
        if whole is None:
            made.append(_inside(word, environment, complete=complete, changes=changes))
        elif whole[1] in environment:
            made += _split(word, environment[whole[1]], name=whole[1])
        elif complete:
            text = f"`{word.text}` is not set anywhere: systemd drops the word"
            changes.append(Change(kind=ChangeKind.DROPPED, text=text, span=word.span))
        else:
            made.append(evolve(word, unknown=(*word.unknown, word.text)))
    return tuple(made), tuple(changes)


def shown(word: Word) -> Word:
    """A word with what stood hidden in it as it is written, and known as not known."""
    unknown = tuple(_HIDDEN.findall(word.text))
    if not unknown:
        return word
    return evolve(word, text=_HIDDEN.sub(r"\1", word.text), unknown=(*word.unknown, *unknown))


def _split(word: Word, value: Word, *, name: str) -> Iterator[Word]:
    for part in value.text.split():
        yield Word(text=part, span=word.span, unknown=value.unknown, names=(name,))


def _inside(
    word: Word, environment: Mapping[str, Word], *, complete: bool, changes: list[Change]
) -> Word:
    unknown = list(word.unknown)
    names: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        value = environment.get(found[1])
        if value is not None:
            unknown.extend(value.unknown)
            names.append(found[1])
            return value.text
        if complete:
            text = f"`{found[0]}` is not set anywhere: systemd puts nothing in its place"
            changes.append(Change(kind=ChangeKind.DROPPED, text=text, span=word.span))
            return ""
        unknown.append(found[0])
        return found[0]

    text = _INSIDE.sub(replace, word.text)
    return evolve(word, text=text, unknown=tuple(unknown), names=(*word.names, *names))
