"""The name somebody probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile


_LIKENESS = 0.6
"""Of `difflib`: what is less alike is not even looked at."""
_WORDS = re.compile(r"[-_./@ ]+")
_DIGITS = re.compile(r"\d+")
_LONG = 4
"""Letters of a word in which one that is wrong makes no other word."""


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `name` is probably a slip of, or `None`; ties go to the first in order.

    A slip is a letter or two, or a word that is missing or too many. What is only spelt of the same letters is another
    name, and offering it would mislead.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for the import

    candidates = {_plain(each): each for each in sorted(names, reverse=True)}
    wanted = _plain(name)
    found = get_close_matches(wanted, candidates, n=5, cutoff=_LIKENESS)
    return next((candidates[each] for each in found if _is_slip(wanted, each)), None)


def in_any_case(name: str, names: Iterable[str]) -> str:
    """The one of `names` that differs in capitals only, or `name` itself where it is one of them, or none or several do."""
    known = tuple(names)
    alike = [each for each in known if each.lower() == name.lower()]
    return alike[0] if name not in known and len(alike) == 1 else name


def is_mistyped(name: str, meant: str) -> bool:
    """Whether a name is surely another one mistyped: word for word the same, or a letter off in a long one, or a size's `B`.

    Another number is another name, and so is another short word: `R1` and `V1`, `it` and `pt`, `4.5` and `4.5V`.
    """
    mine, theirs = (_WORDS.split(_plain(each)) for each in (name, meant))
    return len(mine) == len(theirs) and all(map(_is_mistyped_word, mine, theirs))


def _is_mistyped_word(word: str, meant: str) -> bool:
    numbers = _DIGITS.findall(word)
    if word == meant or (numbers and meant == f"{word}b"):
        return True
    if numbers != _DIGITS.findall(meant) or min(len(word), len(meant)) < _LONG:
        return False
    # What stands behind a number, or is gone from there, may be a name's own: `gemma3n`.
    return slips(word, meant) == 1 and (not numbers or len(word) == len(meant))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _is_slip(name: str, meant: str) -> bool:
    # Of an id that has an owner the name alone may be meant; its owner may be another's or missing.
    pairs = ((name, meant), (name.rpartition("/")[2], meant.rpartition("/")[2]))
    return any(_is_near(_WORDS.split(one), _WORDS.split(other)) for one, other in pairs)


def _is_near(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    if _holds(mine, theirs) or _holds(theirs, mine):
        return True
    before = len(list(takewhile(_same, zip(mine, theirs, strict=False))))
    mine, theirs = mine[before:], theirs[before:]
    after = len(list(takewhile(_same, zip(reversed(mine), reversed(theirs), strict=False))))
    one, other = ("_".join(each[: len(each) - after]) for each in (mine, theirs))
    return slips(one, other) <= _allowed(max(len(one), len(other)))


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _holds(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the others are among the words, in their order; one alone has to be most of them, or a number of its own."""
    alone = len(others) == 1 and not others[0].isdigit()
    if alone and 3 * len(others[0]) < 2 * len("_".join(words)):
        return False
    left = iter(words)
    return all(each in left for each in others)


def _allowed(length: int) -> int:
    """Slips in a part of a name that is so long: one for each four letters, three at most."""
    return min(3, max(1, length // 4))


def slips(one: str, other: str) -> int:
    """Letters that are missing, too many, wrong, or the wrong way round: the optimal string alignment distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        last, before, row = before, row, [place]
        for at, its in enumerate(other, 1):
            least = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != its))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == its:
                least = min(least, last[at - 2] + 1)
            row.append(least)
    return row[-1]
