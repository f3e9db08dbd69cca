"""What looks like a secret: by the name it stands under, or by its own form."""

from __future__ import annotations

import re
from collections.abc import Iterator


# Names that hold a secret, as flags (dashes) or variables (underscores).
_NAME = r"(?:[A-Za-z0-9_.-]*[-_.])?(?:api[-_]?key|token|secret|password|passwd|credentials?)"
_SECRET_NAME = re.compile(rf"-*{_NAME}", re.IGNORECASE)
# Words that make it a number of tokens, a special token, or the like.
_NOT_SECRET = re.compile(
    r"(max|num|draft|bos|eos|pad|special|per|prefill|total)[-_]", re.IGNORECASE
)
# Prefixes that providers give their keys: OpenAI and compatible, Hugging Face, GitHub, AWS, Slack.
_FORM = r"(?:sk-|hf_|ghp_|github_pat_|gho_|AKIA|xox[bp]-)[A-Za-z0-9_-]{12,}"
_SECRET_FORM = re.compile(_FORM)
# `name = value` of a TOML line, up to its end; a path is no secret but says where one is.
_ASSIGNED = re.compile(
    rf"""["']?(?P<name>{_NAME})["']?[ \t]*=[ \t]*(?P<value>[^\s{{][^\n\r]*)""", re.IGNORECASE
)
_PATH = re.compile(r"""["']/""")


def is_secret(name: str, value: str) -> bool:
    """Whether a value under a name looks like a secret itself, not like the place of one."""
    if not value or value.startswith("/"):
        return False
    named = _SECRET_NAME.fullmatch(name) is not None and _NOT_SECRET.search(name) is None
    return named or _SECRET_FORM.search(value) is not None


def secret_stretches(text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a TOML text that look like secrets, as offsets; a quoted line must not show them."""
    for found in _SECRET_FORM.finditer(text):
        yield found.span()
    for found in _ASSIGNED.finditer(text):
        if not _NOT_SECRET.search(found["name"]) and not _PATH.match(found["value"]):
            yield found.span("value")
