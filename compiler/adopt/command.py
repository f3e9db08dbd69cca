"""A command goes in; the launches that it makes come out, whatever stands in front of them: a shell, a container, a wrapper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from attrs import evolve

from compiler.adopt.apptainer import read_apptainer
from compiler.adopt.beside import other_commands
from compiler.adopt.container import Container, read_container
from compiler.adopt.files import NO_FILES, Files
from compiler.adopt.form import Form
from compiler.adopt.launch import Change, Command, Launch, Word
from compiler.adopt.mounts import inside_of
from compiler.adopt.nested import EVAL, SHELL_OPTION, nested_sheet
from compiler.adopt.programs import CARRIERS, PASSING, RAISING, SAYING, unset_by_env
from compiler.adopt.shell.here import SHELLS
from compiler.adopt.shell.known import starts_engine
from compiler.adopt.templates import templated
from compiler.diagnostics import Diagnostic, Span
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.source import Source


_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_WITH_VALUE = frozenset({"-X", "-W"})  # of Python
_TAKES_COMMAND = re.compile(r"--[\w-]*(?:cmd|command|subprocess|exec|wrap)")
"""Options of whatever program that are given a whole command in one word: `sbatch --wrap`."""


def launches_of(
    command: Command,
    *,
    sources: Mapping[str, Source],
    files: Files = NO_FILES,
    said: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[Launch, ...], tuple[Diagnostic, ...]]:
    """The launches of a command, with what it says against them when it holds a script that cannot be read.

    `said` are the values of what a script in it leaves open.
    """
    if _is_saying(command.words):
        return (), ()
    command = _entered(templated(command, said))
    script = _script_at(command.words)
    if script is None:
        launch = _launch(command, files) or _by_image(command, files)
        return ((launch,) if launch is not None else ()), ()
    outer = _outer(command, script, files)
    if outer.image is not None:
        files = inside_of(outer.mounts, files)
    sheet = nested_sheet(
        command.words, script, sources=sources, outer=outer, files=files, said=said
    )
    told = tuple(each for word in command.words[script:] for each in word.changes)
    launches: list[Launch] = []
    found: list[Diagnostic] = []
    starting: list[Command] = []
    for inner in sheet.commands:
        names = command.words[script].names
        merged = evolve(
            inner,
            words=tuple(evolve(each, names=(*each.names, *names)) for each in inner.words),
            environment={**outer.environment, **inner.environment},
            changes=(*told, *outer.changes, *inner.changes),
            settings=outer.settings,
            image=outer.image or inner.image,
            devices=outer.devices or inner.devices,
            mounts=outer.mounts or inner.mounts,
            form=outer.form if outer.form is not Form.SHELL else inner.form,
            ports=outer.ports or inner.ports,
            is_hosts_network=outer.is_hosts_network or inner.is_hosts_network,
            names=outer.names | inner.names,
            gpu=outer.gpu or inner.gpu,
            unit=outer.unit,
            findings=(*outer.findings, *inner.findings),
            called=outer.called or inner.called,
            part=outer.part or inner.part,
            is_untaken=outer.is_untaken or inner.is_untaken,
        )
        several, faults = launches_of(merged, sources=sources, files=files, said=said)
        launches += several
        found += faults
        starting += [inner] if several or faults else []
    others = other_commands(sheet.commands, lambda each: each in starting)
    if others is not None:
        launches = [each.noting(others) for each in launches]
    if launches or starts_engine(command.words[script].text):
        found += sheet.diagnostics
    return tuple(launches), tuple(found)


def _is_saying(words: Sequence[Word]) -> bool:
    """Whether words are only said, or looked for."""
    return _first_of(words) in SAYING


def _entered(command: Command) -> Command:
    """The command with what a container is told to start in front of the words that it is given.

    An option that takes a whole command stands apart from it.
    """
    words = tuple(part for word in command.words for part in _parted(word))
    command = evolve(command, words=words) if len(words) != len(command.words) else command
    container = read_container(command.words)
    if container is None or container.entrypoint is None or not container.entrypoint.text:
        return command
    at = container.inside
    words = (*command.words[:at], container.entrypoint, *command.words[at:])
    return evolve(command, words=words)


def _parted(word: Word) -> tuple[Word, ...]:
    name, equals, text = word.text.partition("=")
    if not (equals and _TAKES_COMMAND.fullmatch(name) and starts_engine(text)):
        return (word,)
    return Word(text=name, span=word.span), evolve(word, text=text)


def _script_at(words: Sequence[Word]) -> int | None:
    """The index of the script of `bash -c SCRIPT`, or of a command in one word that a terminal or another host is given."""
    if words and words[0].text == EVAL:
        return 1 if len(words) > 1 else None
    for at, word in enumerate(words[:-1]):
        if word.text.rpartition("/")[2] not in SHELLS:
            continue
        for behind in range(at + 1, len(words)):
            if SHELL_OPTION.fullmatch(words[behind].text):
                return behind + 1 if behind + 1 < len(words) else None
            if not words[behind].text.startswith("-"):
                break
    if _first_of(words) in CARRIERS:
        return next((at for at, word in enumerate(words) if " " in word.text.strip()), None)
    told = (at + 1 for at, word in enumerate(words[:-1]) if _TAKES_COMMAND.fullmatch(word.text))
    return next((at for at in told if starts_engine(words[at].text)), None)


def _first_of(words: Sequence[Word]) -> str:
    """What a command runs first, whatever raises or replaces it."""
    names = (word.text.rpartition("/")[2] for word in words)
    return next((name for name in names if name not in RAISING and name not in PASSING), "")


def _outer(command: Command, script: int, files: Files) -> Command:
    """What stands in front of a script: variables, a container, wrappers."""
    shells = (
        at for at in range(script, -1, -1) if command.words[at].text.rpartition("/")[2] in SHELLS
    )
    return _around(command, program=next(shells, script), files=files)


def _launch(command: Command, files: Files) -> Launch | None:
    texts = [word.text for word in command.words]
    for name, engine in ENGINES.items():
        found = engine.find_launch(texts)
        if found is None:
            continue
        program = _program(texts, found.entry)
        around = _around(command, program=program, files=files)
        cut = len(command.words) - len(around.words)
        shifted = evolve(found, entry=found.entry - cut, arguments=found.arguments - cut)
        return Launch(command=around, engine=name, found=shifted)
    return None


def _by_image(command: Command, files: Files) -> Launch | None:
    """A container that is given flags alone: its image starts the engine that it is named after."""
    container = _container(command.words, files)
    image = container.image if container is not None else command.image
    inside = command.words[container.inside if container is not None else 0 :]
    if image is None or not inside or not inside[0].text.startswith("--"):
        return None
    for name, engine in ENGINES.items():
        if name in image.text:
            entry = tuple(Word(text=text, span=inside[0].span) for text in engine.entry)
            text = f"the image `{image.text}` is taken to start `{' '.join(engine.entry)}`"
            taken = Change(kind=ChangeKind.ASSUMED, text=text, span=image.span)
            front = command.words[: len(command.words) - len(inside)]
            whole = evolve(
                command, words=(*front, *entry, *inside), changes=(*command.changes, taken)
            )
            return _launch(whole, files)
    return None


def _program(texts: Sequence[str], entry: int) -> int:
    """The index of what is executed: the command itself, or what stands before `-m`."""
    if entry > 0 and texts[entry - 1] == "-m":
        at = entry - 2
        # Python's `-X` and `-W` may have their values in words of their own.
        while at > 0 and (texts[at].startswith("-") or texts[at - 1] in _WITH_VALUE):
            at -= 1
        return max(0, at)
    if texts[entry].endswith(".py"):
        return max(0, entry - 1)
    return entry


def _around(command: Command, *, program: int, files: Files) -> Command:
    """The command from its program on, with what the words in front of it say."""
    front = command.words[:program]
    container = _container(command.words, files)
    environment = dict(command.environment)
    changes = list(command.changes)
    image, devices, mounts = command.image, command.devices, command.mounts
    findings = command.findings
    if container is not None and container.inside <= program:
        before, _ = _assignments(command.words[: container.inside])
        outside = {**environment, **before}
        # The host's variables do not reach into it, but for those that it is told to pass on.
        environment = {
            **(outside if container.is_open else {}),
            **container.environment,
            **{name: outside[name] for name in container.passed if name in outside},
        }
        changes += container.changes
        image, devices, mounts = container.image, container.devices, container.mounts
        command = evolve(
            command,
            form=container.form,
            ports=container.ports,
            is_hosts_network=container.is_hosts_network,
        )
        findings = (*findings, *container.findings)
        front = command.words[container.inside : program]
    environment, front = unset_by_env(environment, front)
    told, wrappers = _assignments(front)
    environment |= told
    changes += _wrapped(wrappers)
    return evolve(
        command,
        words=command.words[program:],
        environment=environment,
        changes=tuple(changes),
        findings=findings,
        image=image,
        devices=devices,
        mounts=mounts,
    )


def _container(words: Sequence[Word], files: Files = NO_FILES) -> Container | None:
    return read_container(words, files=files) or read_apptainer(words, files=files)


def _assignments(words: Sequence[Word]) -> tuple[Mapping[str, Word], list[Word]]:
    environment: dict[str, Word] = {}
    rest: list[Word] = []
    for word in words:
        match = _ASSIGNMENT.fullmatch(word.text)
        if match is None:
            rest.append(word)
        else:
            environment[match[1]] = evolve(word, text=match[2])
    return environment, rest


def _wrapped(words: Sequence[Word]) -> Iterator[Change]:
    """What else stands in front of the program."""
    told = [word for word in words if word.text.rpartition("/")[2] not in PASSING]
    if told:
        first, last = (words.index(each) for each in (told[0], told[-1]))
        shown = " ".join(word.text for word in words[first : last + 1])
        text = f"`{shown}` in front of the launch is not carried"
        yield Change(kind=ChangeKind.DROPPED, text=text, span=_whole(told))


def _whole(words: Sequence[Word]) -> Span | None:
    first, last = words[0].span, words[-1].span
    if first is None or last is None or first.line != last.line:
        return first
    return evolve(first, end_line=last.end_line, end_column=max(first.end_column, last.end_column))
