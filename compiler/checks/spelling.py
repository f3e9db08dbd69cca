"""Whether every value can be written where it must stand: systemd and shells have texts they cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Diagnostic, error
from compiler.origins import Origins
from compiler.plan import PROBE, Plan
from compiler.quoting.encoders import Place, refusal
from compiler.rules import rule


@rule("unrepresentable")
def writable(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """Each text with the place it goes to; refused here, with its place, rather than while rendering."""
    if plan.target is None:
        return
    for setting, text, place in _texts(plan):
        fault = refusal(text, place=place)
        if fault is not None:
            yield error(
                "unrepresentable",
                f"`{setting}` cannot be written as {place}: it {fault}",
                where.primary(setting, text="this value"),
                notes=("a unit, an environment file, or a shell would read something else",),
                help=(_mended(setting, place),),
                path=setting,
            )


def _mended(setting: str, place: Place) -> str:
    if place is Place.VARIABLE_NAME:
        return f"remove `{setting}`, or set a variable of another name"
    return f"leave that out of `{setting}`"


LONGEST_PART = 255  # bytes of a file name, on the file systems there are


@rule("name-unwritable")
def name_is_writable(plan: Plan, where: Origins) -> Iterator[Diagnostic]:
    """The profile's and the unit's names become names of files below `out/`, one line each in its manifest."""
    if plan.target is None or plan.service is None:
        return
    unit = f"{plan.service.unit}.service"
    for setting, name, parts in (
        ("", plan.profile_name, plan.profile_name.split("/")),
        (f"targets.{plan.target_name}.unit", unit, [unit]),
    ):
        fault = next(filter(None, map(part_fault, parts)), None)
        if fault is not None:
            yield error(
                "name-unwritable",
                f"`{name[:LONGEST_PART]}` {fault}",
                where.primary(setting, "model.served_name") if setting else where.primary(),
                help=("rename the profile",)
                if not setting
                else (f"set `{setting}` to a short name",),
                path=setting or None,
            )


def part_fault(part: str) -> str | None:
    """Why no file below `out/` can have a name, as the end of a sentence; `None` when one can."""
    if len(part.encode()) > LONGEST_PART:
        return f"is too long, {_NO_FILE}"
    return f"holds white space, {_NO_FILE}" if "".join(part.split()) != part else None


_NO_FILE = "so no file can be named after it"


def _texts(plan: Plan) -> Iterator[tuple[str, str, Place]]:
    if plan.command:
        yield "engine.python", plan.command[0], Place.PROGRAM
    for option in plan.options:
        for word in (option.flag, *option.values):
            yield option.setting, word, Place.WORD
    for variable in plan.environment:
        yield variable.setting, variable.name, Place.VARIABLE_NAME
        yield variable.setting, f"{variable.name}={variable.value}", Place.VARIABLE
    yield "description", plan.title, Place.TEXT
    if plan.service is not None:
        setting = f"targets.{plan.target_name}.state_dir"
        if plan.probe is not None:
            yield setting, plan.service.installed(PROBE), Place.WORD
        yield setting, plan.service.installed(f"{plan.service.unit}.env"), Place.ENVIRONMENT_FILE
