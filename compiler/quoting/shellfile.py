"""The text of an environment file or of a plain launch script in, its variables and commands out.

The environment file is read as systemd 252 reads `EnvironmentFile=`, which is a syntax of its own; the script as a
POSIX shell does, as far as it has no expansions. Neither was written from `quoting`, so that each can judge the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attrs import frozen

from compiler.quoting.unitfile import BLANKS, Remark, is_clean
from compiler.quoting.unitvalue import VARIABLE_NAME
from compiler.value import Value


_PAIR: Final = re.compile(r"\\(.)", re.DOTALL)
_ENV_GAP: Final = re.compile(r"[ \t\n\r]*")
_ENV_COMMENT: Final = re.compile(r"[#;][^\n\r]*")
_ENV_KEY: Final = re.compile(r"[^ \t\n\r#;][^=\n\r]*")
_ENV_BLANKS: Final = re.compile(r"[ \t]*")
_ENV_SINGLE: Final = re.compile(r"'([^']*)('?)")
_ENV_DOUBLE: Final = re.compile(r'"((?:\\.|[^"\\])*)\\?("?)', re.DOTALL)
_ENV_PLAIN: Final = re.compile(r"(?:\\.|[^\\\n\r])*\\?", re.DOTALL)
_ENV_PLAIN_TOKEN: Final = re.compile(r"\\?.", re.DOTALL)

_SHELL_GAP: Final = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*")
# Words, with the blanks and joined lines behind them, in which every character means itself.
_SHELL_PLAIN_WORDS: Final = re.compile(r"(?:(?!\#)[A-Za-z0-9_@%+=:,./#-]++[ \t](?:[ \t]|\\\n)*+)+")
_SHELL_PIECE: Final = re.compile(
    r"""(?P<bare>[A-Za-z0-9_@%+=:,./#-]+)|'(?P<single>[^']*)'|"(?P<double>(?:\\.|[^"\\$`])*)"|\\(?P<one>.)""",
    re.DOTALL,
)


@frozen(kw_only=True, eq=False, repr=False)
class EnvironmentText(Value):
    """What an environment file sets. A `fault` makes systemd refuse to start the unit that names it."""

    values: Mapping[str, str]
    remarks: tuple[Remark, ...] = ()
    fault: Remark | None = None


@frozen(kw_only=True, eq=False, repr=False)
class ShellCommand(Value):
    """One simple command of a script, its words unquoted; the line counts from 1."""

    words: tuple[str, ...]
    line: int


@frozen(kw_only=True, eq=False, repr=False)
class Script(Value):
    """The commands of a script; `fault` says where it stops being plain, and reading stops there."""

    commands: tuple[ShellCommand, ...]
    fault: Remark | None = None


def read_env_file(text: str) -> EnvironmentText:
    """The variables of an environment file. Bytes that are no UTF-8 come in as half surrogates (`surrogateescape`)."""
    values: dict[str, str] = {}
    remarks: list[Remark] = []
    at = _end(_ENV_GAP, text, start=0)
    while at < len(text):
        line = text.count("\n", 0, at) + 1
        entry = _read_entry(text, start=at)
        if not is_clean(entry.name + entry.value) or "\0" in text[at : entry.end]:
            fault = Remark(line=line, text="the text is no valid UTF-8; systemd refuses the file")
            return EnvironmentText(values=values, remarks=tuple(remarks), fault=fault)
        if entry.remark is not None:
            remarks.append(Remark(line=line, text=entry.remark))
        if VARIABLE_NAME.fullmatch(entry.name):
            values[entry.name] = entry.value
        at = _end(_ENV_GAP, text, start=entry.end)
    return EnvironmentText(values=values, remarks=tuple(remarks))


def read_script(text: str) -> Script:
    """The commands of a script that is made of plain words, quotes, comments and joined lines only."""
    commands: list[ShellCommand] = []
    words: list[str] = []
    line = at = 0
    while at < len(text):
        if text[at] == "\n":
            if words:
                commands.append(ShellCommand(words=tuple(words), line=line))
            words = []
            at += 1
        elif (gap := _SHELL_GAP.match(text, at)) is not None:
            at = gap.end()
        else:
            line = line if words else text.count("\n", 0, at) + 1
            plain = _SHELL_PLAIN_WORDS.match(text, at)
            if plain is not None:
                words += plain[0].replace("\\\n", " ").split()
                at = plain.end()
                continue
            word, end = _read_shell_word(text, start=at)
            if word is None:
                fault = Remark(
                    line=text.count("\n", 0, end) + 1,
                    text=f"`{text[end]}` is more than a plain word",
                )
                return Script(commands=tuple(commands), fault=fault)
            words.append(word)
            at = end
    if words:
        commands.append(ShellCommand(words=tuple(words), line=line))
    return Script(commands=tuple(commands))


@frozen(kw_only=True, eq=False, repr=False)
class _Entry(Value):
    """One entry of an environment file: a comment (no name), an assignment, or something else (a remark)."""

    end: int
    name: str = ""
    value: str = ""
    remark: str | None = None


def _read_entry(text: str, *, start: int) -> _Entry:
    """The entry that begins at `start`, which is no blank."""
    note = _ENV_COMMENT.match(text, start)
    if note is not None:
        continues = (len(note[0]) - len(note[0].rstrip("\\"))) % 2 == 1 and note.end() < len(text)
        remark = "systemd before 254 takes the next line into this comment" if continues else None
        return _Entry(end=note.end(), remark=remark)
    end = _end(_ENV_KEY, text, start=start)
    name = text[start:end].rstrip(BLANKS)
    if not text.startswith("=", end):
        return _Entry(end=end, remark=f"`{name}` has no `=` and is ignored")
    value, end, is_closed = _read_env_value(text, start=end + 1)
    remark = None
    if not VARIABLE_NAME.fullmatch(name):
        remark = f"`{name}` is no name for a variable and is ignored"
    elif not is_closed:
        remark = f"the quote in `{name}` is left open and takes the rest of the file"
    return _Entry(end=end, name=name, value=value, remark=remark)


def _read_env_value(text: str, *, start: int) -> tuple[str, int, bool]:
    """The value after `=`, where it ends, and whether its quotes are closed. Quotes count only before plain text."""
    value = ""
    at = start
    while True:
        at = _end(_ENV_BLANKS, text, start=at)
        if text.startswith(("\n", "\r"), at) or at == len(text):
            return value, at, True
        single, double = _ENV_SINGLE.match(text, at), _ENV_DOUBLE.match(text, at)
        if single is not None:
            value += single[1]
        elif double is not None:
            value += _PAIR.sub(_unescape_double, double[1])
        else:
            plain = _ENV_PLAIN.match(text, at)
            found = "" if plain is None else plain[0]
            return value + _plain(found), _end(_ENV_PLAIN, text, start=at), True
        quoted = single or double
        if quoted is None or not quoted[2]:
            return value, len(text), False
        at = quoted.end()


def _unescape_double(pair: re.Match[str]) -> str:
    """A backslash pair in double quotes; only what a shell would escape there loses its backslash."""
    if pair[1] == "\n":
        return ""
    return pair[1] if pair[1] in '"\\`$' else pair[0]


def _plain(text: str) -> str:
    """A value without quotes: each backslash goes and keeps what follows it (not a line end); trailing blanks go."""
    tokens = _ENV_PLAIN_TOKEN.findall(text)
    while tokens and tokens[-1] in {" ", "\t"}:
        tokens.pop()
    return "".join(each[-1] for each in tokens if each not in {"\\\n", "\\\r", "\\"})


def _read_shell_word(text: str, *, start: int) -> tuple[str | None, int]:
    """The word that begins at `start` and where it ends; `None`, and where, when it is more than plain."""
    word = ""
    at = start
    while at < len(text) and text[at] not in " \t\n":
        piece = _SHELL_PIECE.match(text, at)
        if piece is None:
            return None, at
        if piece["double"] is not None:
            word += _PAIR.sub(_unescape_double, piece["double"])
        elif piece["one"] != "\n":
            word += piece["bare"] or piece["single"] or piece["one"] or ""
        at = piece.end()
    return word, at


def _end(pattern: re.Pattern[str], text: str, *, start: int) -> int:
    """Where a match that begins at `start` ends; `start` itself without one."""
    found = pattern.match(text, start)
    return start if found is None else found.end()
