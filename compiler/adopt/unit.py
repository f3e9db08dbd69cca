"""A systemd unit goes in; its commands come out with their environment, and the settings of a target for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import evolve

from compiler.adopt.expansion import expand, shown
from compiler.adopt.files import Files, as_source
from compiler.adopt.form import Form
from compiler.adopt.hygiene import judge_unit
from compiler.adopt.launch import Command, Sheet, Word
from compiler.adopt.places import locate
from compiler.adopt.shell import read_shell
from compiler.adopt.target import target_changes, target_settings
from compiler.adopt.unitenvironment import UnitEnvironment, unit_environment
from compiler.adopt.unitsheet import Assigned, UnitSheet, read_sheet
from compiler.diagnostics import Diagnostic, Label, error
from compiler.quoting.unitvalue import read_command_line
from compiler.source import Source


_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})


def read_unit_file(source: Source, *, files: Files, given: Mapping[str, str]) -> Sheet:
    """The commands of `ExecStart=`; `given` are variables that are known otherwise.

    Errors: `launch-unreadable`; findings of `hygiene`.
    """
    sheet = read_sheet(source, files=files, given=given)
    environment = unit_environment(sheet, files=files)
    commands: list[Command] = []
    found: list[Diagnostic] = [*sheet.diagnostics, *environment.diagnostics]
    sources: dict[str, Source] = {**sheet.sources, **environment.sources}
    for each in sheet.of("Service", "ExecStart"):
        several, faults = _commands(each, sheet, environment, given=given)
        found += faults
        for command in several:
            script = _script(command, files=files)
            if script is None:
                commands.append(command)
                continue
            read = _followed(command, script, given=given, files=files)
            sources |= read.sources
            found += read.diagnostics
            commands += read.commands
    return Sheet(
        commands=tuple(commands),
        diagnostics=tuple(found),
        findings=judge_unit(sheet),
        sources=sources,
    )


def _exec(
    each: Assigned, environment: UnitEnvironment, *, given: Mapping[str, str]
) -> tuple[tuple[Command, ...], tuple[Diagnostic, ...]]:
    """The commands of one `Exec...=`, with what systemd replaces in them."""
    read = read_command_line(each.value)
    if read.fault is not None:
        summary = f"`{each.key}=` cannot be read: {read.fault}"
        return (), (
            error("launch-unreadable", summary, Label(each.span, "systemd refuses the unit")),
        )
    words = [word for command in read.commands for word in command.argv]
    spans = iter(list(locate(each.source, words, start=each.start, end=len(each.source.text))))
    commands: list[Command] = []
    for command in read.commands:
        raw = tuple(Word(text=text, span=next(spans)) for text in command.argv)
        told, changes = (
            expand(raw, environment.variables, complete=environment.is_complete, given=given)
            if command.expands_variables
            else (raw, ())
        )
        commands.append(
            Command(
                words=tuple(shown(word) for word in told),
                form=Form.UNIT,
                environment=environment.variables,
                changes=(*environment.changes, *changes),
            )
        )
    return tuple(commands), ()


def _commands(
    each: Assigned, sheet: UnitSheet, environment: UnitEnvironment, *, given: Mapping[str, str]
) -> tuple[Iterator[Command], tuple[Diagnostic, ...]]:
    several, faults = _exec(each, environment, given=given)
    settings = target_settings(sheet)
    changes = target_changes(sheet)
    unit = sheet.name.rpartition(".")[0]
    return (
        evolve(command, settings=settings, changes=(*command.changes, *changes), unit=unit)
        for command in several
    ), faults


def _script(command: Command, *, files: Files) -> Source | None:
    """The script that a command runs, when it is one that can be read."""
    words = [word.text for word in command.words]
    is_shell = bool(words) and words[0].rpartition("/")[2] in _SHELLS
    at = 1 if is_shell else 0
    while at < len(words) and is_shell and words[at].startswith("-"):
        if "c" in words[at]:
            return None
        at += 1
    if at >= len(words) or not (is_shell or words[at].endswith((".sh", ".bash"))):
        return None
    path = words[at]
    span = command.words[at].span
    folder = PurePosixPath(span.file).parent if span is not None else PurePosixPath()
    for each in (path, str(folder / PurePosixPath(path).name)):
        data = files.read(each)
        if data is not None:
            source, _ = as_source(each, data)
            return source
    return None


def _followed(command: Command, script: Source, *, given: Mapping[str, str], files: Files) -> Sheet:
    """The commands of a script that a unit runs, in the unit's environment."""
    known = {name: word.text for name, word in command.environment.items() if not word.unknown}
    at = next(
        at
        for at, word in enumerate(command.words)
        if word.text.endswith(script.name.rpartition("/")[2])
    )
    read = read_shell(
        script, given=known, said=given, arguments=command.words[at + 1 :], files=files
    )
    return evolve(
        read,
        commands=tuple(
            evolve(
                each,
                environment={**command.environment, **each.environment},
                changes=(*command.changes, *each.changes),
                settings=command.settings,
                unit=command.unit,
            )
            for each in read.commands
        ),
    )
