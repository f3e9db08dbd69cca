"""A configuration of supervisord goes in; the command of each program comes out, with its variables.

supervisord.org, "Configuration File": continued lines are indented, `;` behind a blank begins a comment, and `%(ENV_NAME)s`
is a variable of the daemon.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Command, Setting, Sheet, Word
from compiler.adopt.places import locate, part_between
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from compiler.value import Value


_HEADING = re.compile(r"\[program:(?P<name>[^\]]+)\]")
_ASSIGNED = re.compile(r"(?P<key>\w+)[ \t]*[=:][ \t]*(?P<value>.*)")
_COMMENT = re.compile(r"[ \t];.*")
_FORMAT = re.compile(r"%%|%\(ENV_(?P<name>\w+)\)s|%\((?P<other>\w+)\)[sd]")
_PAIR = re.compile(r"(\w+)=(\"[^\"]*\"|'[^']*'|[^,]*),?")
_LOOKED_AT = frozenset({"command", "environment", "autostart", "process_name", "numprocs"})


@frozen(kw_only=True, eq=False, repr=False)
class _Value(Value):
    """A value with the offsets that it stands between."""

    text: str
    start: int
    end: int


@frozen(kw_only=True, eq=False, repr=False)
class _Program(Value):
    """One section."""

    name: str
    start: int
    values: Mapping[str, _Value] = field(factory=dict)


def read_supervisor(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The commands of all programs; `given` are variables of the daemon."""
    commands = tuple(_command(each, source, given) for each in _programs(source))
    return Sheet(commands=commands, sources={source.name: source})


def _programs(source: Source) -> Iterator[_Program]:
    program: _Program | None = None
    key, at = "", 0
    for line in source.text.split("\n"):
        start, at = at, at + len(line) + 1
        bare = _COMMENT.sub("", line).rstrip()
        if not bare.strip() or bare.lstrip().startswith((";", "#")):
            continue
        if line[0] == "[":
            heading = _HEADING.match(line)
            if program is not None:
                yield program
            program, key = None, ""
            if heading is not None:
                program = _Program(name=heading["name"], start=start)
            continue
        if program is None:
            continue
        found = _ASSIGNED.match(bare) if line[0] not in " \t" else None
        if found is not None:
            key = found["key"]
            value = _Value(text=found["value"], start=start + found.start("value"), end=at - 1)
        elif key:
            before = program.values[key]
            value = evolve(before, text=f"{before.text} {bare.strip()}", end=at - 1)
        else:
            continue
        program = evolve(program, values={**program.values, key: value})
    if program is not None:
        yield program


def _command(program: _Program, source: Source, given: Mapping[str, str]) -> Command:
    told = program.values.get("command")
    try:
        texts = shlex.split(told.text) if told is not None else []
    except ValueError:
        texts = told.text.split() if told is not None else []
    start, end = (told.start, told.end) if told is not None else (0, 0)
    spans = locate(source, texts, start=start, end=end)
    words = tuple(
        _formatted(Word(text=text, span=span), program, given)
        for text, span in zip(texts, spans, strict=True)
    )
    end = max((each.end for each in program.values.values()), default=program.start)
    called = source.span(program.start, program.start + len(f"[program:{program.name}]"))
    return Command(
        words=words,
        form=Form.SUPERVISOR,
        environment=dict(_environment(program, source, given)),
        changes=tuple(_changes(program, source)),
        settings=(Setting(path=("description",), value=f"{program.name}, run by supervisord"),),
        called=called,
        part=part_between(source, program.start, end),
    )


def _formatted(word: Word, program: _Program, given: Mapping[str, str]) -> Word:
    unknown: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if found["other"] == "program_name":
            return program.name
        name = found["name"]
        if name is not None and name in given:
            return given[name]
        unknown.append(f"${name}" if name is not None else found[0])
        return found[0]

    text = _FORMAT.sub(replace, word.text)
    return evolve(word, text=text, unknown=tuple(unknown))


def _environment(
    program: _Program, source: Source, given: Mapping[str, str]
) -> Iterator[tuple[str, Word]]:
    told = program.values.get("environment")
    if told is None:
        return
    span = source.span(told.start, told.end)
    for name, value in _PAIR.findall(told.text):
        text = value.strip()
        bare = text[1:-1] if text[:1] in {'"', "'"} else text
        yield name, _formatted(Word(text=bare, span=span), program, given)


def _changes(program: _Program, source: Source) -> Iterator[Change]:
    for key, value in program.values.items():
        if key not in _LOOKED_AT:
            text = f"`{key}={value.text}` is not carried"
            span = source.span(value.start, value.end)
            yield Change(kind=ChangeKind.DROPPED, text=text, span=span)
