"""The values of those settings of a unit that have a syntax of their own: commands, environments, texts and paths.

Written from what systemd 252 was seen to do with any input, not from `quoting`, so that each can judge the other.
Nothing is expanded: a specifier stays as it is, with a remark, and so does `$`.
"""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from compiler.quoting.unitfile import BLANKS, is_clean
from compiler.quoting.unitword import read_word, skip_blanks
from compiler.value import Value


VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What may name an environment variable."""

# Words, with the blanks behind them, in which every character means itself.
_PLAIN_WORDS: Final = re.compile(rf"(?:[!#$&(-:<-\[\]-~]++(?:[{BLANKS}]++|\Z))+")
_PERCENT: Final = re.compile(r"%([A-Za-z0-9%])")
_UNSAFE_IN_PROGRAM: Final = re.compile("[\x00-\x1f\x7f\"'\\\\]")


@frozen(kw_only=True, eq=False, repr=False)
class Command(Value):
    """One command of an `Exec...=` value.

    Attributes:
        prefix: the characters before the program (`:`, `-@`).
        program: what is executed.
        argv: the words it gets; the first is its own name, which `@` lets differ from the program.
    """

    prefix: str
    program: str
    argv: tuple[str, ...]

    @property
    def expands_variables(self) -> bool:
        """Whether systemd replaces `$NAME` in the words when it starts the command."""
        return ":" not in self.prefix


@frozen(kw_only=True, eq=False, repr=False)
class CommandLine(Value):
    """The commands of an `Exec...=` value; none for an empty one, which resets the setting.

    Attributes:
        remarks: what systemd warns about, and each specifier it would replace.
        fault: why systemd refuses the unit, where it does; `commands` are those before that.
    """

    commands: tuple[Command, ...]
    remarks: tuple[str, ...] = ()
    fault: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Environment(Value):
    """The variables of an `Environment=` value, in order; a later one of the same name wins."""

    pairs: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Text(Value):
    """The value of a setting without quotes and escapes, its `%%` resolved."""

    text: str
    remarks: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class EnvironmentFile(Value):
    """The value of `EnvironmentFile=`.

    Attributes:
        path: the path with its backslashes resolved; a pattern as it stands when `is_pattern`.
        optional: whether the file may be missing.
        is_pattern: whether wildcards are left in it.
    """

    path: str
    optional: bool
    is_pattern: bool
    remarks: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class _Words(Value):
    """The words of one command: `end` is where the next command begins."""

    words: tuple[str, ...]
    end: int
    remarks: tuple[str, ...]
    fault: str | None = None


def read_text(value: str) -> Text:
    """The value of `Description=`, `WorkingDirectory=`, `User=` and the like."""
    if "%" not in value:
        return Text(text=value)
    remarks = tuple(
        f"`%{letter}` is a specifier and is left as it is"
        for letter in _PERCENT.findall(value)
        if letter != "%"
    )
    return Text(
        text=_PERCENT.sub(lambda found: "%" if found[1] == "%" else found[0], value),
        remarks=remarks,
    )


def read_environment_file(value: str) -> EnvironmentFile:
    """The value of `EnvironmentFile=`: no quotes, a glob pattern, `-` in front when the file may be missing."""
    optional = value.startswith("-")
    read = read_text(value[1:] if optional else value)
    is_pattern = re.search(r"(?:^|[^\\])(?:\\\\)*[*?\[]", read.text) is not None
    path = read.text if is_pattern else re.sub(r"\\(.)", r"\1", read.text)
    return EnvironmentFile(
        path=path, optional=optional, is_pattern=is_pattern, remarks=read.remarks
    )


def read_environment(value: str) -> Environment:
    """The value of `Environment=`. What follows a word that cannot be read is lost, and so is that word."""
    pairs: list[tuple[str, str]] = []
    remarks: list[str] = []
    at = skip_blanks(value, start=0)
    while at < len(value):
        word = read_word(value, start=at)
        if word.unknown or not word.is_closed:
            remarks.append(f"`{value[at:]}` has an unknown escape or an open quote and is ignored")
            break
        item = read_text(word.text)
        name, equals, text = item.text.partition("=")
        if equals and VARIABLE_NAME.fullmatch(name) and is_clean(text):
            pairs.append((name, text))
            remarks.extend(item.remarks)
        else:
            remarks.append(f"`{word.text}` is no assignment and is ignored")
        at = word.end
    return Environment(pairs=tuple(pairs), remarks=tuple(remarks))


def read_command_line(value: str) -> CommandLine:
    """The value of `ExecStart=` and its like: commands with `;` between them."""
    commands: list[Command] = []
    remarks: list[str] = []
    at = skip_blanks(value, start=0)
    while at < len(value):
        read = _read_words(value, start=at)
        remarks.extend(read.remarks)
        fault = read.fault or _command_fault(read.words)
        if fault is not None and read.words and "-" not in _prefix(read.words[0]):
            return CommandLine(commands=tuple(commands), remarks=tuple(remarks), fault=fault)
        if fault is not None:
            remarks.append(f"{fault}; the rest of the line is ignored")
            break
        if read.words:
            commands.append(_command(read.words))
        at = read.end
    return CommandLine(commands=tuple(commands), remarks=tuple(remarks))


def _read_words(value: str, *, start: int) -> _Words:
    """The words up to a lone `;` or the end."""
    words: list[str] = []
    remarks: list[str] = []
    at = start
    while at < len(value) and not (value[at] == ";" and _stands_alone(value, sign=";", at=at)):
        if words and value[at] == "\\" and _stands_alone(value, sign="\\;", at=at):
            words.append(";")
            at = skip_blanks(value, start=at + 2)
            continue
        plain = _PLAIN_WORDS.match(value, at)
        if plain is not None:
            words += plain[0].split()
            at = plain.end()
            continue
        word = read_word(value, start=at)
        if not word.is_closed:
            fault = f"a quote is left open in `{value[at:]}`"
            return _Words(words=tuple(words), end=at, remarks=tuple(remarks), fault=fault)
        at = word.end
        if not words and word.text == ";":
            break  # quotes do not make it a program
        remarks.extend(f"`{each}` is no known escape and is left as it is" for each in word.unknown)
        read = read_text(word.text)
        remarks.extend(read.remarks)
        words.append(read.text)
    else:
        at = skip_blanks(value, start=at + 1)
    return _Words(words=tuple(words), end=at, remarks=tuple(remarks))


def _command(words: tuple[str, ...]) -> Command:
    prefix = _prefix(words[0])
    program = words[0][len(prefix) :]
    argv = words[1:] if "@" in prefix else (program, *words[1:])
    return Command(prefix=prefix, program=program, argv=argv)


def _command_fault(words: tuple[str, ...]) -> str | None:
    """Why systemd takes these words for no command; `None` when it does, or when there are none."""
    if not words:
        return None
    command = _command(words)
    fault = _program_fault(command.program)
    if fault is None and not (command.argv and command.argv[0]):
        return f"`{words[0]}` is followed by no name for the program"
    return fault


def _prefix(word: str) -> str:
    prefix = ""
    for character in word:
        if not _is_prefix(character, after=prefix):
            break
        prefix += character
    return prefix


def _is_prefix(character: str, *, after: str) -> bool:
    if character == "!":
        return "+" not in after and after.count("!") < 2  # noqa: PLR2004 - `!` and `!!` are the two there are
    if character == "+":
        return "+" not in after and "!" not in after
    return character in "-@:" and character not in after


def _program_fault(program: str) -> str | None:
    if not program:
        return "the program is missing"
    if _UNSAFE_IN_PROGRAM.search(program):
        return f"the program `{program}` holds a quote, a backslash or a control character"
    if program.endswith("/"):
        return f"the program `{program}` is a directory"
    if not program.startswith("/") and ("/" in program or program in {".", ".."}):
        return f"the program `{program}` is neither an absolute path nor a plain name"
    return None


def _stands_alone(text: str, *, sign: str, at: int) -> bool:
    """Whether a sign stands there as a word of its own, without quotes."""
    end = at + len(sign)
    return text.startswith(sign, at) and (end == len(text) or text[end] in BLANKS)
