"""A value goes in; how TOML writes it comes out: for a setting with what may be a secret covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.language.shapes import is_control
from compiler.secrecy import COVER, is_secret


_GROUPED_FROM = 10_000  # shorter numbers read well without `_`


def written(value: object, *, key: str) -> str:
    """The value in TOML, on one line; `key` is the last part of its path, and may say that it is a secret."""
    if isinstance(value, str):
        return f'"{COVER}"' if is_secret(key, value) else text_toml(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return number_toml(value)
    if isinstance(value, Mapping):
        inside = ", ".join(
            f"{key_toml(name)} = {written(each, key=name)}" for name, each in value.items()
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(written(each, key=key) for each in value)}]"
    return str(value)


def number_toml(number: float) -> str:
    """A number as people write it."""
    return f"{number:_}" if abs(number) >= _GROUPED_FROM else str(number)


def key_toml(key: str) -> str:
    """A key, in quotes when it is not bare (TOML 1.0, "Keys")."""
    bare = key.replace("_", "").replace("-", "")
    return key if bare.isascii() and bare.isalnum() else text_toml(key)


def text_toml(text: str) -> str:
    """A basic string (TOML 1.0, "String")."""
    return f'"{"".join(_escaped(each) for each in text)}"'


def comment_toml(text: str) -> str:
    """A line of comment; a control character, which would end it, is spelled out."""
    spelled = (_escaped(each) if is_control(each) else each for each in text)
    return f"# {''.join(spelled)}".rstrip()


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if is_control(character) else character
