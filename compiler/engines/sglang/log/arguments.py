"""The text of `server_args=` in, the server's settings out; a secret among them is never kept.

Up to 0.5.18 the text is a dataclass's (`ServerArgs(model_path='...', ...)`), then a dictionary's (`{'model_path': ...}`).
It is cut at its commas and never run: a value that is no plain literal is left out, and so is what a cut-off line lost.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from compiler.secrecy import is_secret


_OPENING, _CLOSING = "([{", ")]}"
_NAMED = re.compile(r"\s*(?:(\w+)=|'(\w+)':\s)(.*)", re.DOTALL)
# Besides the settings themselves: what was given word by word may hold a key, and states are read elsewhere.
_NO_SETTINGS = frozenset({"launch_command", "internal_states", "kv_events"})
_DEEPEST = 50


def read_arguments(text: str) -> Mapping[str, object]:
    """The settings in the text; what it does not hold whole is left out."""
    settings: dict[str, object] = {}
    for part in _parts(text):
        match = _NAMED.fullmatch(part)
        if match is None:
            continue
        try:
            settings[match[1] or match[2]] = ast.literal_eval(match[3].strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return shareable(settings)


def shareable(settings: Mapping[str, object]) -> Mapping[str, object]:
    """The settings without those that are, or hold, a secret."""
    return {
        name: value
        for name, value in settings.items()
        if name not in _NO_SETTINGS and not _holds_secret(name, value, depth=0)
    }


def _holds_secret(name: str, value: object, *, depth: int) -> bool:
    if depth > _DEEPEST:
        return True
    if isinstance(value, Mapping):
        return any(_holds_secret(str(key), each, depth=depth + 1) for key, each in value.items())
    if isinstance(value, (list, tuple, set)):
        return any(_holds_secret(name, each, depth=depth + 1) for each in value)
    return isinstance(value, str) and is_secret(name, value)


def _parts(text: str) -> Iterator[str]:
    """What stands between the commas of the outermost brackets; a part that is cut off is left out."""
    depth, start, quote = 0, 0, ""
    position, length = 0, len(text)
    while position < length:
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            depth += 1
            start = position + 1 if depth == 1 else start
        elif character in _CLOSING:
            depth -= 1
            if depth == 0:
                yield text[start:position]
                return
        elif character == "," and depth == 1:
            yield text[start:position]
            start = position + 1
        position += 1
