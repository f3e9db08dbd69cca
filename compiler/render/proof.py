"""Rendered files held against their plan, word by word: they are read back and must say what the plan says.

The readers know nothing of the encoders, so a mistake in quoting shows here, before anybody reviews the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from compiler.diagnostics import Diagnostic, error
from compiler.plan import Plan, Service
from compiler.quoting.shellfile import read_env_file, read_script
from compiler.quoting.unitfile import Unit, read_unit
from compiler.quoting.unitvalue import read_command_line, read_environment_file, read_text
from compiler.render import RenderedFile
from compiler.render.start import probe_command
from compiler.render.systemd import environment_file, unit_user


def prove(plan: Plan, files: tuple[RenderedFile, ...]) -> tuple[Diagnostic, ...]:
    """One `rendering-unfaithful` for each file that does not say what its plan says.

    The files are those of `render_target`. `ready.py` is a copy and says nothing of the plan.
    """
    service = plan.service
    if service is None:
        raise ValueError(f"the plan of {plan.profile_name} has no target to render for")
    checks: dict[str, Callable[[str], Iterator[str]]] = {
        f"{service.unit}.service": partial(_unit_faults, plan, service=service),
        "launch.sh": partial(_script_faults, plan),
    }
    if plan.environment:
        checks[f"{service.unit}.env"] = partial(_env_file_faults, plan)
    texts = {file.path: file.text for file in files}
    faults = {
        path: tuple(check(texts[path])) if path in texts else ("it was not rendered",)
        for path, check in sorted(checks.items())
    }
    return tuple(_unfaithful(path, notes=notes) for path, notes in faults.items() if notes)


def _unfaithful(path: str, *, notes: tuple[str, ...]) -> Diagnostic:
    return error(
        "rendering-unfaithful",
        f"the rendered `{path}` does not say what its plan says; this is a bug in Poolproof, not in the profile",
        notes=notes,
        help=("report it with the profile; until it is mended, avoid the text named above",),
    )


def _unit_faults(plan: Plan, text: str, *, service: Service) -> Iterator[str]:
    unit = read_unit(text)
    yield from (f"line {remark.line}: {remark.text}" for remark in unit.remarks)
    if unit.fault is not None:
        yield f"line {unit.fault.line}: {unit.fault.text}"
    yield from _text_faults(unit, "Unit", key="Description", expected=plan.title)
    yield from _text_faults(unit, "Service", key="User", expected=unit_user(plan))
    yield from _command_faults(unit, key="ExecStart", argv=plan.argv)
    probe = probe_command(plan, service=service)
    yield from _command_faults(
        unit, key="ExecStartPost", argv=None if probe is None else probe.argv
    )
    files = [
        read_environment_file(value) for value in unit.values("Service", key="EnvironmentFile")
    ]
    path = environment_file(plan, service=service)
    yield from _differences(
        "EnvironmentFile=", expected=[path] if path else [], found=[file.path for file in files]
    )
    if any(file.is_pattern or file.optional or file.remarks for file in files):
        yield "EnvironmentFile= is more than one path"
    if unit.values("Service", key="Environment"):
        yield "Environment= sets what the plan does not"


def _text_faults(unit: Unit, section: str, *, key: str, expected: str | None) -> Iterator[str]:
    read = [read_text(value) for value in unit.values(section, key=key)]
    wanted = [] if expected is None else [expected]
    yield from _differences(f"{key}=", expected=wanted, found=[each.text for each in read])
    yield from (f"{key}=: {remark}" for each in read for remark in each.remarks)


def _command_faults(unit: Unit, *, key: str, argv: tuple[str, ...] | None) -> Iterator[str]:
    lines = [read_command_line(value) for value in unit.values("Service", key=key)]
    commands = [command for line in lines for command in line.commands]
    for line in lines:
        yield from (
            f"{key}=: {remark}" for remark in (*line.remarks, *([line.fault] if line.fault else []))
        )
    wanted = () if argv is None else (argv,)
    if len(commands) != len(wanted):
        yield f"{key}= holds {len(commands)} commands, not {'one' if wanted else 'none'}"
    for expected, command in zip(wanted, commands, strict=False):
        if command.prefix != ":":
            yield f"{key}= has the prefix `{command.prefix}`, not `:`"
        yield from _differences(f"{key}=", expected=expected, found=command.argv)


def _env_file_faults(plan: Plan, text: str) -> Iterator[str]:
    read = read_env_file(text)
    yield from (
        f"line {remark.line}: {remark.text}"
        for remark in (*read.remarks, *([read.fault] if read.fault else []))
    )
    yield from _environment_faults(plan, found=read.values)


def _script_faults(plan: Plan, text: str) -> Iterator[str]:
    read = read_script(text)
    if read.fault is not None:
        yield f"line {read.fault.line}: {read.fault.text}"
    exports = [command.words[1:] for command in read.commands if command.words[0] == "export"]
    pairs = [word.partition("=") for words in exports for word in words]
    yield from _environment_faults(plan, found={name: value for name, _, value in pairs})
    rest = [command.words for command in read.commands if command.words[0] != "export"]
    wanted = [("set", "-eu"), ("cd", "/"), ("exec", *plan.argv)]
    if len(rest) != len(wanted):
        yield f"it has {len(rest)} commands beside its exports, not {len(wanted)}"
    for expected, found in zip(wanted, rest, strict=False):
        yield from _differences(expected[0], expected=expected, found=found)


def _environment_faults(plan: Plan, *, found: Mapping[str, str]) -> Iterator[str]:
    expected = {variable.name: variable.value for variable in plan.environment}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            yield f"variable `{name}`: {_told(expected.get(name))} in the plan, {_told(found.get(name))} in the file"


def _differences(what: str, *, expected: Sequence[str], found: Sequence[str]) -> Iterator[str]:
    """The first place where two sequences part; what follows is mostly a consequence."""
    if [*expected] == [*found]:
        return
    longest = max(len(expected), len(found))
    for index in range(longest):
        left = expected[index] if index < len(expected) else None
        right = found[index] if index < len(found) else None
        if left != right:
            yield f"{what} word {index + 1}: {_told(left)} in the plan, {_told(right)} in the file"
            return


def _told(value: str | None) -> str:
    return "nothing" if value is None else f"`{value}`"
