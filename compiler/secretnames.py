"""The name of a variable, a flag, or a key goes in; whether what stands under it is a secret comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from compiler.near import slips


_SECRET_WORDS = frozenset(
    [
        "apikey",
        "apikeys",
        "secret",
        "secrets",
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "pgpass",
        "credential",
        "credentials",
        "authorization",
    ]
)
_AMBIGUOUS_WORDS = frozenset(["key", "keys", "token"])
# Beside an ambiguous word these make it a count, a special token, or a measure.
_MEASURES = frozenset(
    [
        "max",
        "num",
        "draft",
        "bos",
        "eos",
        "pad",
        "special",
        "per",
        "prefill",
        "total",
        "context",
        "min",
        "new",
        "stop",
        "accept",
        "count",
        "limit",
        "length",
        "len",
        "budget",
        "inter",
        "time",
        "first",
        "latency",
        "distribution",
        "threshold",
        "bucket",
        "buckets",
        "map",
        "kv",
        "cache",
        "radix",
        "value",
    ]
)
# Beside any of them these make it the place of a secret, or a choice.
_PLACES = frozenset(
    ["path", "file", "files", "dir", "directory", "name", "id", "type", "mode", "backend", "method"]
)
# Words that a secret's name may end with, written together: `HFTOKEN`.
_SECRET_ENDS = ("password", "passwd", "apikey", "secret", "hftoken", "authtoken", "accesstoken")


_MEANT = (
    *("apikey", "apikeys", "adminkey", "authkey", "accesskey", "privatekey"),
    *("apitoken", "authtoken", "accesstoken", "hftoken", "hubtoken"),
    *("secret", "secrets", "password", "passwords", "passphrase"),
    *("credential", "credentials", "authorization"),
)
"""What a mistyped name may stand for."""
_LONG_ONES = {
    "pa": ("password", "passwords", "passphrase"),
    "cr": ("credential", "credentials"),
    "au": ("authorization",),
}
"""Of long ones two letters may be wrong, by the letters that they begin with."""


def _without_one(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))}


_ALL_BUT_ONE = frozenset(_MEANT).union(*map(_without_one, _MEANT))
"""Two words that are one slip apart share one of these; it is found faster than slips are counted."""
_SHORTEST, _LONGEST = min(map(len, _MEANT)) - 1, max(map(len, _MEANT)) + 1
"""Letters of what is one slip from any of them."""
_NO_TOKEN = frozenset({"tokens"})
"""A count."""
_NO_WORD = re.compile(r"[\W_]+")


@lru_cache(4096)  # services of a tree share most of their names
def names_a_secret(name: str) -> bool:
    """Whether a name is a secret's: by a word of it, beside none that makes it a count or the place of one.

    So is one that is a secret's mistyped: what stands under it is the secret all the same.
    """
    words = tuple(each.rstrip("0123456789") for each in _words(name))
    several = frozenset(words)
    # A file of a password is its place; the password of a file is none.
    if not _PLACES.isdisjoint(several) and words[-1] not in _SECRET_WORDS:
        return False
    ambiguous = not _AMBIGUOUS_WORDS.isdisjoint(several) or any(map(_is_near_token, words))
    return (
        (ambiguous and _MEASURES.isdisjoint(several))
        or not _SECRET_WORDS.isdisjoint(several)
        or any(each.endswith(_SECRET_ENDS) for each in words)
        or _is_mistyped(words)
    )


def surely_names_a_secret(name: str) -> bool:
    """Whether a name is a secret's, and more than `key` or `token` alone."""
    words = _words(name)
    return names_a_secret(name) and not (len(words) == 1 and words[0] in _AMBIGUOUS_WORDS)


def _words(name: str) -> list[str]:
    return _NO_WORD.sub("_", name.lower()).strip("_").split("_")


def _is_mistyped(words: Sequence[str]) -> bool:
    """Whether a word, a few that belong together, or the end of one are those of a secret but for a slip."""
    pairs = ("".join(each) for each in pairwise(words))
    threes = ("".join(words[at : at + 3]) for at in range(len(words) - 2))
    parts = [*words, *pairs, *threes, *_ends(words)]
    return any(map(_is_one_off, parts)) or any(map(_is_two_off, words))


def _is_one_off(word: str) -> bool:
    if not _SHORTEST <= len(word) <= _LONGEST:
        return False
    return (word in _ALL_BUT_ONE or not _ALL_BUT_ONE.isdisjoint(_without_one(word))) and any(
        slips(word, each) <= 1 for each in _MEANT
    )


def _is_near_token(word: str) -> bool:
    is_like = word[:2] in {"to", "tk", "te"} and word not in _NO_TOKEN
    return is_like and abs(len(word) - len("token")) <= 1 and slips(word, "token") <= 1


def _is_two_off(word: str) -> bool:
    return (
        word[:2] in _LONG_ONES
        and any(
            abs(len(word) - len(each)) <= 2 and slips(word, each) <= 2  # noqa: PLR2004 - two
            for each in _LONG_ONES[word[:2]]
        )
    )


def _ends(words: Sequence[str]) -> Iterator[str]:
    """The ends of longer words that may be a secret's, mistyped: half of it is right."""
    for word in words:
        for meant in _SECRET_ENDS if len(word) >= _SHORTEST else ():
            if meant[:3] in word[1:] or meant[-3:] in word[1:]:
                lengths = range(len(meant) - 1, min(len(meant) + 2, len(word)))
                yield from (word[-each:] for each in lengths)
