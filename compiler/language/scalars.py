"""One TOML value to one simple value of ours, strictly, or a refusal that says what was expected."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from enum import Enum, StrEnum
from typing import Any

from attrs import evolve, frozen

from compiler.diagnostics import printable
from compiler.language import shapes
from compiler.language.shapes import say_type, say_value
from compiler.language.syntax import INTEGERS
from compiler.near import near
from compiler.profile import Version
from compiler.value import Value
from compiler.versions import is_release, release_in


Key = str | int
Hook = Callable[[Any, Any], Any]
"""The plain value and the type it is for, to our value."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NUMBER = re.compile(r"[\s`'\"]*\d*[.,]?\d+\s*%?[\s`'\"]*")
_UNIT = ".service"
_LONGEST_NAME = 200  # a file name holds 255 bytes, and ours get a suffix
_LONGEST_PATH = 4095  # linux/limits.h PATH_MAX, less the NUL
_LONGEST_SHOWN = 60


class FaultKind(StrEnum):
    """What is wrong with a value."""

    UNKNOWN_KEY = "unknown-key"
    MISSING = "missing"
    WRONG_TYPE = "wrong-type"
    BAD_VALUE = "bad-value"


@frozen(eq=False, repr=False)
class Fault(Value):
    """One thing wrong with a document.

    Attributes:
        path: keys and list indices from the root to the value; for a missing key, where it would stand.
        message: what was expected, as a clause to follow the setting's name and a colon. It repeats a value only
            where one of a few words or a duration is wanted, so it gives no secret away.
        near: the key or the word that was probably meant.
        passes: the value that passes and is nearest to this one, as TOML writes it.
    """

    path: tuple[Key, ...]
    kind: FaultKind
    message: str
    near: str | None = None
    passes: str | None = None


class RefusedError(Exception):
    """Carries faults to the hook of what holds the value; never leaves `typed`."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        super().__init__()
        self.faults = tuple(faults)

    def below(self, key: Key) -> Iterable[Fault]:
        """The faults as seen from one level up."""
        return (evolve(fault, path=(key, *fault.path)) for fault in self.faults)


def refusal(
    message: str,
    *,
    kind: FaultKind = FaultKind.BAD_VALUE,
    meant: str | None = None,
    passes: str | None = None,
) -> RefusedError:
    """To raise over the value at hand."""
    return RefusedError([Fault((), kind, message, meant, passes)])


def wrong_type(value: object, *, wanted: str) -> RefusedError:
    """To raise over a value of another type."""
    message = f"expected {wanted}, found {say_value(value)}"
    return refusal(message, kind=FaultKind.WRONG_TYPE)


def wrong_word(word: str, choices: Iterable[str], *, wanted: str) -> RefusedError:
    """To raise over a word that is none of a few."""
    shown = printable(word)
    shown = shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "..."
    words = tuple(choices)
    if "number" in wanted and _NUMBER.fullmatch(word):
        message = f"expected {wanted}, found a number in quotes, which is text"
        return refusal(message, meant=near(word, words))
    only = f'"{words[0]}"' if len(words) == 1 else None
    return refusal(f"expected {wanted}, found `{shown}`", meant=near(word, words), passes=only)


def structure_bool(value: object, _: object) -> bool:
    """`true` or `false`."""
    if type(value) is not bool:
        raise wrong_type(value, wanted=say_type(bool))
    return value


def structure_int(value: object, _: object) -> int:
    """A whole number; `1.0` is none, nor is `true`."""
    if type(value) is not int:
        raise wrong_type(value, wanted=say_type(int))
    if value not in INTEGERS:
        raise refusal("expected a number of at most 64 bits")
    return value


def structure_float(value: object, _: object) -> float:
    """A finite number; a whole one is stored as a float."""
    if type(value) is int:
        return float(structure_int(value, int))
    if type(value) is not float:
        raise wrong_type(value, wanted=say_type(float))
    if not math.isfinite(value):
        raise refusal("expected a finite number")
    return value


def structure_text(value: object, _: object) -> str:
    """Text without control characters, so on one line; it may be empty."""
    if not isinstance(value, str):
        raise wrong_type(value, wanted="text")
    if value.isprintable():
        return value
    for place, character in enumerate(value, 1):
        if shapes.is_control(character):
            found = f"a control character (U+{ord(character):04X}) at position {place}"
            raise refusal(f"expected text on one line, found {found}")
    return value


def structure_name(value: object, _: object) -> str:
    """A `profile.Name`."""
    if not isinstance(value, str):
        raise wrong_type(value, wanted="a name")
    if not _NAME.fullmatch(value):
        rule = "letters, digits, `.`, `_`, and `-`, with a letter or a digit first"
        raise refusal(f"expected a name of {rule}")
    if len(value) > _LONGEST_NAME:
        raise refusal(f"expected a name of at most {_LONGEST_NAME} characters")
    return value


def structure_unit(value: object, _: object) -> str:
    """A `profile.UnitName`."""
    name = structure_name(value, str)
    bare = name.removesuffix(_UNIT)
    if bare != name:
        raise refusal(f"expected a name without `{_UNIT}`, which is added", meant=bare)
    return name


def structure_version(value: object, _: object) -> str:
    """A `profile.Version`; what is no number (`latest`) is another release tomorrow, and is none that can be judged."""
    if not isinstance(value, str):
        raise wrong_type(value, wanted=say_type(Version))
    if not is_release(structure_text(value, str)):
        wanted = f"expected {say_type(Version)}, not a branch, a tag, or a range"
        raise refusal(wanted, meant=release_in(value))
    return value


def structure_path(value: object, _: object) -> str:
    """A `profile.HostPath`. One place has one spelling, so that equal paths look equal."""
    text = structure_checkpoint_path(value, str)
    if any(part in ("", ".", "..") for part in text[1:].split("/")):
        raise refusal("expected a path without `.`, `..`, `//`, or a slash at its end")
    return text


def structure_checkpoint_path(value: object, _: object) -> str:
    """A `profile.CheckpointPath`: absolute, in any spelling."""
    if not isinstance(value, str):
        raise wrong_type(value, wanted="an absolute path")
    text = structure_text(value, str)
    if not text.startswith("/"):
        raise refusal("expected an absolute path, one that starts with `/`")
    if len(text.encode()) > _LONGEST_PATH:
        raise refusal(f"expected a path of at most {_LONGEST_PATH} bytes")
    return text


def quantity_hook(parse: Callable[[str], object], *, wanted: str) -> Hook:
    """A hook for a value that is written as text and parsed by `parse`, whose `ValueError` is for the user."""

    def structure(value: object, _: object) -> object:
        if not isinstance(value, str):
            raise wrong_type(value, wanted=wanted)
        try:
            return parse(structure_text(value, str))
        except ValueError as refused:
            raise refusal(str(refused)) from None
        except OverflowError:
            raise refusal("expected a smaller number") from None

    return structure


def choice_hook(kind: Any, *, wanted: str) -> Hook:  # noqa: ANN401 - a type form
    """A hook for a literal or an enum; `wanted` is how the choice is said."""
    choices = shapes.choices_of(kind)
    make = kind if isinstance(kind, type) and issubclass(kind, Enum) else str

    def structure(value: object, _: object) -> object:
        if not isinstance(value, str):
            raise wrong_type(value, wanted=wanted)
        if value not in choices:
            raise wrong_word(value, choices, wanted=wanted)
        return make(value)

    return structure


def structure_argument(value: object, _: object) -> object:
    """A `profile.Argument`: a list becomes a tuple of words."""
    if isinstance(value, str):
        return structure_text(value, str)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return structure_int(value, int)
    if isinstance(value, float):
        return structure_float(value, float)
    if not isinstance(value, list | tuple):
        raise wrong_type(value, wanted="`true` or `false`, a number, text, or a list of words")
    return tuple(structure_items(enumerate(value), _structure_word).values())


def _structure_word(value: object, _: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong_type(value, wanted="text or a number")
    return str(structure_argument(value, None))


def structure_items(items: Iterable[tuple[Key, object]], hook: Hook) -> dict[Key, Any]:
    """Every item through `hook`; the faults of all of them, each below its key."""
    made: dict[Key, Any] = {}
    faults: list[Fault] = []
    for key, value in items:
        try:
            made[key] = hook(value, None)
        except RefusedError as refused:
            faults.extend(refused.below(key))
    if faults:
        raise RefusedError(faults)
    return made
