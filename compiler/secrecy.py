"""What looks like a secret: by the name it stands under, or by its own form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache


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
# Prefixes that providers give their keys: OpenAI and compatible, Hugging Face, NVIDIA, GitHub, AWS, Slack.
_PREFIXES = ("sk-", "hf_", "nvapi-", "ghp_", "github_pat_", "gho_", "AKIA", "xoxb-", "xoxp-")
_SHORTEST = 12
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off"})


def is_secret(name: str, value: str) -> bool:
    """Whether a value under a name looks like a secret itself, not like the place of one."""
    if not value or value.lower() in _SWITCHES or value.isdecimal():
        return False
    return _names_a_secret(name) or any(True for _ in _forms(value))


def secret_stretches(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a TOML text that look like secrets, as offsets; a quoted line must not show them."""
    yield from _forms(text)
    for found in _assigned().finditer(text):
        # What a secret's setting holds as a table is the place of one: `api_key = { file = ... }`.
        if _names_a_secret(found["name"]) and not found["value"].startswith("{"):
            yield found.span("value")


def _names_a_secret(name: str) -> bool:
    words = frozenset(name.lower().replace("-", "_").replace(".", "_").strip("_").split("_"))
    if not _PLACES.isdisjoint(words):
        return False
    ambiguous = not _AMBIGUOUS_WORDS.isdisjoint(words) and _MEASURES.isdisjoint(words)
    return ambiguous or not _SECRET_WORDS.isdisjoint(words)


def _forms(text: str) -> Iterator[tuple[int, int]]:
    """Where a text holds a key that its prefix gives away."""
    if any(prefix in text for prefix in _PREFIXES):
        yield from (found.span() for found in _form().finditer(text))
    if "://" in text:
        yield from (found.span("password") for found in _login().finditer(text))


@cache
def _form() -> re.Pattern[str]:
    prefixes = "|".join(re.escape(prefix) for prefix in _PREFIXES)
    return re.compile(rf"(?:{prefixes})[A-Za-z0-9_-]{{{_SHORTEST},}}")


@cache
def _login() -> re.Pattern[str]:
    """The password in an address: `https://user:password@host`."""
    return re.compile(r"://[^/\s:@\"']*:(?P<password>[^/\s@\"']+)@")


@cache
def _assigned() -> re.Pattern[str]:
    """`name = value` of a TOML line, up to its end. Compiled when a finding is shown, not at every start."""
    return re.compile(
        # Each name is tried once, from its start: a long line of a file that is no profile takes no longer than others.
        r"""(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)["']?[ \t]*+=[ \t]*+(?P<value>[^\s][^\n\r]*)"""
    )
