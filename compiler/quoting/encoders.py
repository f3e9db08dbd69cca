"""Text on its way into a unit, an environment file, a comment or a shell script: one encoder for each syntax.

Every encoder returns `Encoded`, the only thing a template may print, or raises `Unrepresentable`. `refusal` answers
beforehand whether it will. The rules were measured on systemd 252; `unitfile` and `shellfile` read them back.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final


ARGUMENT_BYTES: Final = 131_071
"""The longest argument, and the longest `NAME=value`, that the kernel passes on (MAX_ARG_STRLEN less the NUL)."""

PATH_BYTES: Final = 4_095
"""The longest path (PATH_MAX less the NUL)."""

_UTF8_BYTES: Final = 4  # the most that one character takes

# Measured on bash 5.2: an exported value of these stops the script or does not arrive.
_SHELL_OWNS: Final = frozenset(
    {
        "BASHOPTS",
        "BASHPID",
        "BASH_ALIASES",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_CMDS",
        "BASH_COMMAND",
        "BASH_LINENO",
        "BASH_SOURCE",
        "BASH_SUBSHELL",
        "BASH_VERSINFO",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "LINENO",
        "OPTIND",
        "PIPESTATUS",
        "PPID",
        "RANDOM",
        "SECONDS",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "UID",
        "_",
    }
)

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE_WORD: Final = re.compile(r"[A-Za-z0-9_./:=,@+-]+")
_PLAIN_PROGRAM: Final = re.compile(r"/.*[^/]|[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.DOTALL)
# Compiled where a text is not printable: Python takes long over sets as wide as these, and few profiles ask.
_NONCHARACTER: Final = (
    "[\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)
_SURROGATE: Final = "[\ud800-\udfff]"
_UNSAFE_IN_PROGRAM: Final = re.compile("[\x00-\x1f\x7f\"'\\\\]")
_LINE_BREAK: Final = re.compile("[\n\r]")
_JOINS: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")

_IN_QUOTES: Final = str.maketrans(
    {chr(code): f"\\x{code:02x}" for code in (*range(1, 32), 127)}
    | {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "%": "%%"}
)
_IN_ENV_FILE: Final = str.maketrans({each: f"\\{each}" for each in '\\"$`'})
_IN_GLOB: Final = str.maketrans({each: f"\\{each}" for each in "\\[]*?"})


class Encoded(str):
    """Text that an encoder made for its place. Joining it with anything gives plain `str` again."""

    __slots__ = ()


class Unrepresentable(ValueError):  # noqa: N818 - the name says what is wrong with the text, as KeyError's does not
    """A text that the place it is meant for has no way to write."""


# A tree says the same words many times: flags, paths, and settings that its services share.
_of_a_tree = lru_cache(maxsize=4096)


class Place(StrEnum):
    """The places a text may be written to; the value completes `cannot be written as ...`."""

    PROGRAM = "the program of a command line"
    WORD = "a word of a command line"
    VARIABLE_NAME = "the name of an environment variable"
    VARIABLE = "the value of an environment variable"
    TEXT = "text of a unit"
    ENVIRONMENT_FILE = "the path of an environment file"
    COMMENT = "a comment"

    __hash__ = (
        str.__hash__
    )  # an enum's own is written in Python, and each word is looked up by its place


def refusal(text: str, *, place: Place) -> str | None:
    """Why `text` cannot be written there, as the rest of a sentence about it; `None` when it can."""
    return _refusal(text, place)


@_of_a_tree
def _refusal(text: str, place: Place) -> str | None:
    return next(filter(None, (rule(text) for rule in _RULES[place])), None)


@_of_a_tree
def exec_word(word: str) -> Encoded:
    """One argument of an `ExecStart=:` line. Without the `:` prefix systemd would still expand `$`."""
    _demand(word, place=Place.WORD)
    return Encoded(word if _BARE_WORD.fullmatch(word) else _quoted(word))


def exec_words(words: Iterable[str]) -> Encoded:
    """Several arguments of an `ExecStart=:` line, on one line."""
    return Encoded(" ".join(exec_word(word) for word in words))


def exec_command(words: Sequence[str]) -> Encoded:
    """A program and the arguments that stand on its line, with the `:` that keeps `$` literal."""
    program, *arguments = words
    _demand(program, place=Place.PROGRAM)
    return Encoded(":" + exec_words([program, *arguments]))


def env_file_line(name: str, *, value: str) -> Encoded:
    """One assignment of an environment file, without the line end. Bash and dash read the same from it."""
    _demand_variable(name, value=value)
    return Encoded(f'{name}="{value.translate(_IN_ENV_FILE)}"')


def unit_text(text: str) -> Encoded:
    """The value of `Description=` and of settings that are a word or a number: no quotes, no escapes, only `%`."""
    _demand(text, place=Place.TEXT)
    return Encoded(text.replace("%", "%%"))


def environment_file_path(path: str) -> Encoded:
    """The value of `EnvironmentFile=`, which systemd takes for a glob pattern."""
    _demand(path, place=Place.ENVIRONMENT_FILE)
    return Encoded(path.translate(_IN_GLOB).replace("%", "%%"))


def comment(text: str) -> Encoded:
    """What follows `# ` in a unit, an environment file or a script: one line.

    It may not end in a backslash: systemd before 254 takes the next line of an environment file into the comment.
    """
    _demand(text, place=Place.COMMENT)
    return Encoded(text)


@_of_a_tree
def shell_word(word: str) -> Encoded:
    """One word of a script for bash or dash."""
    _demand(word, place=Place.WORD)
    return Encoded(shlex.quote(word))


def shell_words(words: Iterable[str]) -> Encoded:
    """Several words of a script, on one line."""
    return Encoded(" ".join(shell_word(word) for word in words))


def shell_assignment(name: str, *, value: str) -> Encoded:
    """One assignment of a script, as `export` takes it."""
    _demand_variable(name, value=value)
    return Encoded(f"{name}={shlex.quote(value)}")


def _quoted(text: str) -> str:
    """The text in double quotes with C escapes; `%` survives only doubled, whatever the quotes."""
    return f'"{text.translate(_IN_QUOTES)}"'


def _demand(text: str, *, place: Place) -> None:
    reason = refusal(text, place=place)
    if reason is not None:
        raise Unrepresentable(f"{text!r} cannot be written as {place}: it {reason}")


def _demand_variable(name: str, *, value: str) -> None:
    _demand(name, place=Place.VARIABLE_NAME)
    _demand(value, place=Place.VARIABLE)
    _demand(f"{name}={value}", place=Place.VARIABLE)


def _foreign(text: str) -> str | None:
    if text.isprintable():
        return None
    if "\0" in text:
        return "holds a NUL character"
    if text.isascii():
        return None
    if re.search(_SURROGATE, text):
        return "holds half of a surrogate pair, which is no text"
    if re.search(_NONCHARACTER, text):
        return "holds a Unicode noncharacter, which systemd refuses"
    return None


def _long(text: str, *, limit: int = ARGUMENT_BYTES) -> str | None:
    if len(text) * _UTF8_BYTES <= limit:
        return None
    size = len(text.encode())
    return f"is {size:,} bytes long; the limit is {limit:,}" if size > limit else None


def _long_path(text: str) -> str | None:
    return _long(text, limit=PATH_BYTES)


def _no_program(text: str) -> str | None:
    if _UNSAFE_IN_PROGRAM.search(text):
        return "holds a quote, a backslash or a control character, which systemd refuses there"
    if not _PLAIN_PROGRAM.fullmatch(text):
        return "is neither the absolute path of a file nor a plain name"
    return None


def _no_name(text: str) -> str | None:
    if not _NAME.fullmatch(text):
        return "may hold letters, digits and `_` only, and not begin with a digit"
    if text in _SHELL_OWNS:
        return "belongs to the shell, which lets no script pass it on"
    return None


def _no_path(text: str) -> str | None:
    return None if text.startswith("/") else "is no absolute path"


def _broken(text: str) -> str | None:
    return "holds a line break" if _LINE_BREAK.search(text) else None


def _joining(text: str) -> str | None:
    return (
        "ends in a backslash, which would join the next line to it" if _JOINS.search(text) else None
    )


def _trimmed(text: str) -> str | None:
    return "begins or ends with a blank, which systemd drops" if text != text.strip(" \t") else None


# In this order, so that the first reason is the one to mend first.
_RULES: Final[Mapping[Place, tuple[Callable[[str], str | None], ...]]] = {
    Place.PROGRAM: (_foreign, _no_program, _long_path),
    Place.WORD: (_foreign, _long),
    Place.VARIABLE_NAME: (_foreign, _no_name),
    Place.VARIABLE: (_foreign, _long),
    Place.TEXT: (_foreign, _broken, _joining, _trimmed),
    # Its backslashes are doubled, so that one at its end joins nothing.
    Place.ENVIRONMENT_FILE: (_foreign, _broken, _trimmed, _no_path, _long_path),
    Place.COMMENT: (_foreign, _broken, _joining),
}
