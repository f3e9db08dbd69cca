"""A Dockerfile goes in; what a container of its last stage runs comes out, and what is not carried of the image.

docs.docker.com, "Dockerfile reference": continuations, stages, `ENV`, `ARG`, and both forms of `CMD` and `ENTRYPOINT`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from compiler.adopt.container import not_carried
from compiler.adopt.files import unreadable
from compiler.adopt.form import Form
from compiler.adopt.interpolation import interpolate
from compiler.adopt.launch import Change, Command, Sheet, Word
from compiler.adopt.places import locate
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from compiler.value import Value


_INSTRUCTION = re.compile(r"[ \t]*(?P<name>[A-Za-z]+):?[ \t]+(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"#[ \t]*escape[ \t]*=[ \t]*(\S)", re.IGNORECASE)
_HERE = re.compile(r"<<-?[\"']?(\w+)[\"']?")
_PAIR = re.compile(r"([A-Za-z_]\w*)=((?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'\\])*)")
_SILENT = frozenset({"LABEL", "MAINTAINER"})


@frozen(kw_only=True, eq=False, repr=False)
class _Instruction(Value):
    """One instruction, its continued lines joined; `start` and `end` are offsets."""

    name: str
    value: str
    start: int
    end: int


@frozen(kw_only=True, eq=False, repr=False)
class _Stage(Value):
    """What an image is made to run so far."""

    image: Word
    environment: Mapping[str, Word] = field(factory=dict)
    entrypoint: tuple[Word, ...] = ()
    command: tuple[Word, ...] = ()
    others: tuple[str, ...] = ()


def read_dockerfile(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The command of the last stage; `given` are build arguments. Errors: `launch-unreadable`."""
    stages: dict[str, _Stage] = {}
    arguments = dict(given)
    stage: _Stage | None = None
    for each in _instructions(source):
        if each.name == "FROM":
            image, name = _from(each, source, arguments)
            # What stands on an earlier stage has its image.
            stage = stages.get(image.text) or _Stage(image=image)
            stages[name] = stage
        elif each.name == "ARG":
            arguments = {**dict(_pairs(each.value)), **arguments}
        elif stage is not None:
            stage = _behind(stage, each, source, arguments)
            stages[next(reversed(stages))] = stage
    if stage is None:
        fault = unreadable(source.name, "there is no `FROM` in it")
        return Sheet(diagnostics=(fault,), sources={source.name: source})
    command = Command(
        words=(*stage.entrypoint, *stage.command),
        environment=stage.environment,
        changes=tuple(_changes(stage)),
        image=stage.image,
        form=Form.IMAGE,
    )
    return Sheet(commands=(command,), sources={source.name: source})


def _from(each: _Instruction, source: Source, arguments: Mapping[str, str]) -> tuple[Word, str]:
    words = [word for word in each.value.split() if not word.startswith("--")] or [""]
    image = interpolate(words[0], arguments, span=source.span(each.start, each.end))
    is_named = len(words) > 2 and words[1].upper() == "AS"  # noqa: PLR2004 - `image AS name`
    return image, words[2] if is_named else f"{each.start}"


def _behind(
    stage: _Stage, each: _Instruction, source: Source, arguments: Mapping[str, str]
) -> _Stage:
    """A stage with one instruction more."""
    if each.name == "ENV":
        known = {**arguments, **{name: word.text for name, word in stage.environment.items()}}
        span = source.span(each.start, each.end)
        told = {name: interpolate(value, known, span=span) for name, value in _pairs(each.value)}
        return evolve(stage, environment={**stage.environment, **told})
    if each.name == "CMD":
        return evolve(stage, command=_words(each, source))
    if each.name == "ENTRYPOINT":
        # What the base image gives it is gone.
        return evolve(stage, entrypoint=_words(each, source), command=())
    return evolve(stage, others=(*stage.others, each.name))


def _words(each: _Instruction, source: Source) -> tuple[Word, ...]:
    """A list of words as it is, or a text for a shell."""
    try:
        told = json.loads(each.value)
    except ValueError:
        told = None
    if not isinstance(told, list) or not all(isinstance(word, str) for word in told):
        span = source.span(each.start, each.end)
        shell = Word(text="/bin/sh", span=span), Word(text="-c", span=span)
        return (*shell, Word(text=each.value, span=span))
    spans = locate(source, told, start=each.start, end=each.end)
    return tuple(Word(text=text, span=span) for text, span in zip(told, spans, strict=True))


def _pairs(value: str) -> Iterator[tuple[str, str]]:
    """`A=b C="d"`, or the older `A b`; an argument without a value is not known."""
    name, _, rest = value.strip().partition(" ")
    if "=" not in name:
        if rest.strip():
            yield name, rest.strip()
        return
    for found in _PAIR.finditer(value):
        try:
            yield found[1], "".join(shlex.split(found[2])) if found[2] else ""
        except ValueError:
            yield found[1], found[2]


def _instructions(source: Source) -> Iterator[_Instruction]:
    first = _ESCAPE.match(source.text)
    escape = first[1] if first is not None else "\\"
    lines = source.text.split("\n")
    at, number = 0, 0
    while number < len(lines):
        start = at
        parts: list[str] = []
        while number < len(lines):
            line = lines[number].rstrip("\r")
            at += len(lines[number]) + 1
            number += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                if not parts:
                    break
                continue
            is_continued = line.rstrip().endswith(escape)
            parts.append(line.rstrip().removesuffix(escape) if is_continued else line)
            if not is_continued:
                break
        found = _INSTRUCTION.match("".join(parts))
        if found is None:
            continue
        name = found["name"].upper()
        here = _HERE.findall(found["value"]) if name in {"RUN", "COPY", "ADD"} else []
        for end in here:
            while number < len(lines) and lines[number].strip() != end:
                at += len(lines[number]) + 1
                number += 1
        yield _Instruction(
            name=name, value=found["value"].strip(), start=start, end=min(at, len(source.text))
        )


def _changes(stage: _Stage) -> Iterator[Change]:
    yield not_carried(f"the image `{stage.image.text}`", stage.image)
    names = dict.fromkeys(name for name in stage.others if name not in _SILENT)
    if names:
        shown = ", ".join(f"`{name}`" for name in names)
        text = f"what the image is built by is not carried: {shown}"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=stage.image.span)
