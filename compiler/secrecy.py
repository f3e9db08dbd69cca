"""What looks like a secret: by the name it stands under, or by its own form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import takewhile

from compiler.secretnames import names_a_secret, surely_names_a_secret


# Prefixes that providers give their keys: OpenAI and compatible, Hugging Face, NVIDIA, GitHub, AWS, Slack.
_PREFIXES = ("sk-", "hf_", "nvapi-", "ghp_", "github_pat_", "gho_", "AKIA", "xoxb-", "xoxp-")
_SHORTEST = 12
_SHORTEST_NAMED = 8
"""Of a word behind an ambiguous name in a text of any kind: `key: app`."""
_LONGEST_COMMENT = 500
"""Characters of a line that are looked at: one of a million is no comment."""
_SHORTEST_SURE = 4
"""Of one behind a name that says it, and of what is hidden within other words, too."""
_HINTS = ("key", "api", "tok", "secr", "pas", "cred", "auth", "admin", "access", "private")
"""Parts of names of secrets that are left where one is mistyped."""
COVER = "***"
"""Stands for a secret."""
_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off"})


@lru_cache(4096)  # services of a tree share most of their words
def is_secret(name: str, value: str) -> bool:
    """Whether a value under a name looks like a secret itself, or holds one, not like the place of one."""
    if not value or value.lower() in _SWITCHES or value.isdecimal():
        return False
    return names_a_secret(name) or any(True for _ in _held(value))


def secret_stretches(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a TOML text that look like secrets, as offsets; a quoted line must not show them."""
    yield from _held(text)
    for found in _assigned().finditer(text):
        if names_a_secret(found["name"]) and not _place().match(found["value"]):
            yield found.span("value")


def secret_parts(text: str) -> frozenset[str]:
    """What in a text has a secret's form, whatever it stands under: a provider's prefix, a password in an address."""
    return frozenset(text[start:end] for start, end in _forms(text))


def held_secrets(value: str) -> frozenset[str]:
    """What in somebody's value looks like a secret: by its form, or behind a name within it."""
    return frozenset(value[start:end] for start, end in _held(value))


def secret_values(*texts: str) -> frozenset[str]:
    """The secrets that scripts, units, or YAML files hold: words of their own, wherever else they may stand."""
    several = (text[start:end] for text in texts for start, end in _held(text))
    sure = (value for text in texts for value in _surely_named(text))
    return frozenset((*filter(may_be_secret, several), *sure))


def given_secrets(words: Sequence[str], *, flags: Iterable[str]) -> frozenset[str]:
    """The values of a command's secret flags, however short; `flags` are those that a beginning of a name may mean."""
    known = tuple(flags)
    found: set[str] = set()
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            continue
        begun = [name] if name in known else [each for each in known if each.startswith(name)]
        behind = takewhile(lambda each: not each.startswith("--"), words[at + 1 :])
        values = [value] if equals else list(behind)
        if any(is_secret(each, one) for each in (name, *begun) for one in values):
            found |= set(filter(is_literal, values))
    return frozenset(found)


def hide(text: str, values: Iterable[str], *, cover: Callable[[str], str] = lambda _: COVER) -> str:
    """A text that shows none of these values; one of a few letters is looked for as a word of its own."""
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST_SURE:
            text = text.replace(value, cover(value))
        elif value:
            pattern = rf"(?<![A-Za-z0-9_]){re.escape(value)}(?![A-Za-z0-9_])"
            text = re.sub(pattern, lambda found: cover(found[0]), text)
    return text


def without_secrets(text: str, values: Iterable[str]) -> str:
    """A text that shows neither what looks like a secret nor any of these values."""
    text = hide(text, values)
    return _covered(text, set(secret_stretches(text)))


def quoted_without_secrets(text: str, values: Iterable[str]) -> str:
    """As `without_secrets`, for a sentence of ours: a value that it quotes in backticks ends before the last of them."""
    text = hide(text, values)
    stretches = set()
    for start, end in secret_stretches(text):
        tick = text.rfind("`", start, end) if text.count("`", 0, start) % 2 else -1
        stretches.add((start, end if tick < 0 else tick))
    return _covered(text, stretches)


def _covered(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(stretches):
        # Stretches that overlap are one.
        if start >= at:
            parts += [text[at:start], COVER]
        at = max(at, end)
    return "".join((*parts, text[at:]))


def _held(text: str) -> Iterator[tuple[int, int]]:
    """Where a text holds a secret: by its prefix, in an address, or behind a name."""
    yield from _forms(text)
    low = text.lower()
    patterns = [_named(), _flagged()] if _is_hinted(low) else []
    for pattern in patterns:
        for found in pattern.finditer(text):
            if names_a_secret(found["name"]) and may_be_secret(found["value"]):
                yield found.span("value")


def _is_hinted(low: str) -> bool:
    """Whether a text in small letters may hold a name of a secret; most do not, which is told fast."""
    return any(each in low for each in _HINTS)


def may_be_secret(value: str) -> bool:
    """Whether a word is long enough for a secret, and one that `is_literal`."""
    return len(value) >= _SHORTEST_NAMED and is_literal(value)


def is_literal(value: str) -> bool:
    """Whether a word is no variable, path, table, number, or stand-in: under a secret's name it is one."""
    return (
        value != ""
        and value[0] not in "$</{(["
        and not value.isdecimal()
        and value.lower() not in _SWITCHES
        and set(value) != {"*"}
    )


def _surely_named(text: str) -> Iterator[str]:
    """The words of a text, its comments aside, behind names that say they are secret, short ones, too."""
    if not _is_hinted(text.lower()):
        return
    for pattern in (_named(), _flagged()):
        for found in pattern.finditer(text):
            value = found["value"]
            is_long = len(value) >= _SHORTEST_SURE and is_literal(value)
            if (
                is_long
                and surely_names_a_secret(found["name"])
                and not _in_comment(text, found.start())
            ):
                yield value


def _in_comment(text: str, at: int) -> bool:
    """Whether a place stands behind a `#` of its line."""
    line = text[max(0, at - _LONGEST_COMMENT) : at].rpartition("\n")[2]
    return re.search(r"(?:^|\s)#", line) is not None


def _forms(text: str) -> Iterator[tuple[int, int]]:
    """Where a text holds a key that its prefix or its place gives away."""
    if any(prefix in text for prefix in _PREFIXES):
        yield from (found.span() for found in _form().finditer(text))
    if "@" in text:
        for pattern in (_login(), _registry(), _credentials()):
            yield from (found.span("password") for found in pattern.finditer(text))
    elif ":" in text and "-u" in text:
        yield from (found.span("password") for found in _credentials().finditer(text))
    if "bearer" in text.lower():
        yield from (found.span("value") for found in _bearer().finditer(text))


@cache
def _named() -> re.Pattern[str]:
    """`NAME=value`, `name: value`, `"name": "value"`, and a header's value behind its scheme; one word."""
    return re.compile(
        r"""(?<![A-Za-z0-9_.-])-{0,2}(?P<name>[A-Za-z_][A-Za-z0-9_.-]*+)[\\"']*+[ \t]*+(?:[?:+]{0,3}=|:)[ \t\\"']*+"""
        r"""(?:(?i:bearer|basic|token)[ \t]++)?(?=(?P<value>[^\s"'\\,;}\]`]{1,512}))"""
    )


@cache
def _flagged() -> re.Pattern[str]:
    """`--name value`, also as two texts of a list."""
    return re.compile(
        r"""(?<![\w-])--(?P<name>[A-Za-z][\w-]*+)[ \t\\"',]++(?P<value>[^\s"'\\,;`-][^\s"'\\`]*)"""
    )


@cache
def _credentials() -> re.Pattern[str]:
    """`-u name:password`."""
    return re.compile(
        r"""(?<![\w-])(?:-u|-U|--user|--creds)(?:[ \t]+|=)["']?[^\s:"'@]+:(?P<password>[^\s"'@]{6,})"""
    )


@cache
def _registry() -> re.Pattern[str]:
    """`name:password@host/`; what stands before a digest is a tag."""
    return re.compile(
        r"""(?<![\w./-])[A-Za-z][\w.-]*+:(?P<password>[^\s/:@"']{6,})@(?!sha256)[\w-]+[./]"""
    )


@cache
def _bearer() -> re.Pattern[str]:
    return re.compile(r"""(?i:\bbearer)[ \t]+(?P<value>[^\s"'`$<{*]{6,})""")


@cache
def _form() -> re.Pattern[str]:
    prefixes = "|".join(re.escape(prefix) for prefix in _PREFIXES)
    return re.compile(rf"(?:{prefixes})[A-Za-z0-9_-]{{{_SHORTEST},}}")


@cache
def _login() -> re.Pattern[str]:
    """The password in an address: `https://user:password@host`."""
    return re.compile(r"://[^/\s:@\"']*:(?P<password>[^/\s@\"']+)@")


@cache
def _place() -> re.Pattern[str]:
    """What a secret's setting holds where it is the place of one: `api_key = { file = ... }`."""
    return re.compile(r"""\{\s*["']?file["']?\s*=[^,]*\}""")


@cache
def _assigned() -> re.Pattern[str]:
    """`name = value` of a TOML line, up to its end, or a list's. Compiled when a finding is shown, not at every start."""
    return re.compile(
        # Each name is tried once, from its start: a long line of a file that is no profile takes no longer than others.
        r"""(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z0-9_.-]++)["']?[ \t]*+=[ \t]*+(?P<value>\[[^\]]*+\]?|[^\s][^\n\r]*)"""
    )
