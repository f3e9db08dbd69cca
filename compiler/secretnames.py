"""The name of a variable, a flag, or a key goes in; whether what stands under it is a secret comes out."""

from __future__ import annotations


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


def names_a_secret(name: str) -> bool:
    """Whether a name is a secret's: by a word of it, beside none that makes it a count or the place of one."""
    words = frozenset(
        each.rstrip("0123456789")
        for each in name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")
    )
    if not _PLACES.isdisjoint(words):
        return False
    ambiguous = not _AMBIGUOUS_WORDS.isdisjoint(words) and _MEASURES.isdisjoint(words)
    return (
        ambiguous
        or not _SECRET_WORDS.isdisjoint(words)
        or any(each.endswith(_SECRET_ENDS) for each in words)
    )


def surely_names_a_secret(name: str) -> bool:
    """Whether a name is a secret's, and more than `key` or `token` alone."""
    words = name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")
    return names_a_secret(name) and not (len(words) == 1 and words[0] in _AMBIGUOUS_WORDS)
