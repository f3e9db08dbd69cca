"""What looks like a secret: by the name it stands under, or by its own form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache


_SECRET_WORDS = frozenset(
    {"apikey", "token", "secret", "password", "passwd", "credential", "credentials"}
)
# Words beside them that make it a number of tokens, a special token, or the like.
_COUNTED = frozenset(
    {"max", "num", "draft", "bos", "eos", "pad", "special", "per", "prefill", "total"}
)
# Prefixes that providers give their keys: OpenAI and compatible, Hugging Face, GitHub, AWS, Slack.
_PREFIXES = ("sk-", "hf_", "ghp_", "github_pat_", "gho_", "AKIA", "xoxb-", "xoxp-")
_SHORTEST = 12


def is_secret(name: str, value: str) -> bool:
    """Whether a value under a name looks like a secret itself, not like the place of one."""
    if not value or value.startswith("/"):
        return False
    return _names_a_secret(name) or any(True for _ in _forms(value))


def secret_stretches(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a TOML text that look like secrets, as offsets; a quoted line must not show them."""
    yield from _forms(text)
    for found in _assigned().finditer(text):
        if _names_a_secret(found["name"]) and not found["value"].startswith(("'/", '"/', "{")):
            yield found.span("value")


def _names_a_secret(name: str) -> bool:
    words = name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")
    last = words[-1] if words[-2:] != ["api", "key"] else "apikey"
    return last in _SECRET_WORDS and _COUNTED.isdisjoint(words)


def _forms(text: str) -> Iterator[tuple[int, int]]:
    """Where a text holds a key that its prefix gives away."""
    if any(prefix in text for prefix in _PREFIXES):
        yield from (found.span() for found in _form().finditer(text))


@cache
def _form() -> re.Pattern[str]:
    prefixes = "|".join(re.escape(prefix) for prefix in _PREFIXES)
    return re.compile(rf"(?:{prefixes})[A-Za-z0-9_-]{{{_SHORTEST},}}")


@cache
def _assigned() -> re.Pattern[str]:
    """`name = value` of a TOML line, up to its end. Compiled when a finding is shown, not at every start."""
    return re.compile(
        # Each name is tried once, from its start: a long line of a file that is no profile takes no longer than others.
        r"""(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)["']?[ \t]*+=[ \t]*+(?P<value>[^\s][^\n\r]*)"""
    )
