"""The files of a profile, and the pieces that each of their lines prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from compiler.judged import Judged
from compiler.plan import Plan, Service
from compiler.render.envfile import env_file_values
from compiler.render.picture import picture_title, picture_values
from compiler.render.planfile import plan_content
from compiler.render.review import review_values
from compiler.render.script import script_values
from compiler.render.start import engine_command
from compiler.render.systemd import unit_values
from compiler.render.templates import trace
from compiler.why.lines import COPIED, Context, LineReasons, ValuesOf, lines_of
from compiler.why.naming import json_lines, name_at
from compiler.why.sections import asked_for
from compiler.writtenplan import PLAN


def line_of(context: Context, file: str, place: int) -> LineReasons:
    """What made one line, counted from 0, of a file by its path below the profile's folder; nothing else is asked."""
    make = files_of(context).get(file)
    return LineReasons(notes=(COPIED,)) if make is None else make(place)[0]


LinesOf = Callable[..., tuple[LineReasons, ...]]
"""Gives all lines of a file, or the one at a place."""


def files_of(context: Context) -> Mapping[str, LinesOf]:
    """The files of a profile by path below its folder, each with what gives its lines; nothing is worked out before."""
    files: dict[str, LinesOf] = {
        "PLAN.md": partial(_templated, context, "plan.md.j2", _review),
        "memory.svg": partial(_templated, context, "memory.svg.j2", _picture),
        PLAN: partial(_plan_file, context),
    }
    for place, each in enumerate(context.several):
        service = each.plan.service if each.plan else None
        if service is not None:
            folder = each.target_name
            unit = partial(_unit, of=place)
            variables = partial(_variables, of=place)
            script = partial(_script, of=place)
            files |= {
                f"{folder}/{service.unit}.service": partial(
                    _templated, context, "service.j2", unit
                ),
                f"{folder}/{service.unit}.env": partial(_templated, context, "env.j2", variables),
                f"{folder}/launch.sh": partial(_templated, context, "launch.sh.j2", script),
            }
    return files


def _review(several: tuple[Judged, ...]) -> dict[str, object]:
    return review_values(several)


def _picture(several: tuple[Judged, ...]) -> dict[str, object]:
    plan, _ = _planned(several[0])
    if plan.memory is None:
        raise ValueError(f"the memory of {plan.profile_name} is not known")
    return picture_values(plan.memory, title=picture_title(plan.profile_name))


def _unit(several: tuple[Judged, ...], *, of: int) -> dict[str, object]:
    plan, service = _planned(several[of])
    return unit_values(plan, service=service)


def _variables(several: tuple[Judged, ...], *, of: int) -> dict[str, object]:
    return env_file_values(_planned(several[of])[0])


def _script(several: tuple[Judged, ...], *, of: int) -> dict[str, object]:
    return script_values(_planned(several[of])[0])


def _planned(judged: Judged) -> tuple[Plan, Service]:
    if judged.plan is None or judged.plan.service is None:
        raise ValueError(f"{judged.profile_name} was not planned for a target")
    return judged.plan, judged.plan.service


def _templated(
    context: Context, template: str, values_of: ValuesOf, place: int | None = None
) -> tuple[LineReasons, ...]:
    values = values_of(context.several)
    traced = trace(template, **values)
    several = [
        [_name_of(path, values) for path in sorted(paths)]
        for paths in (traced if place is None else traced[place : place + 1])
    ]
    return lines_of(several, context, values_of)


def _name_of(path: str, values: Mapping[str, object]) -> str:
    """The name of a piece that a line prints; what it is only there by is one itself."""
    return path if asked_for(path) is not None else name_at(values, path.split("."))


def _plan_file(context: Context, place: int | None = None) -> tuple[LineReasons, ...]:
    content = plan_content(context.several)
    words = _word_names(_planned(context.several[0])[0])
    # The last one stands for what follows the last line end.
    lines = (*json_lines(content), ())
    several = [
        [words[int(path[1])] if path[0] == "argv" else name_at(content, path) for path in paths]
        for paths in (lines if place is None else lines[place : place + 1])
    ]
    return lines_of(several, context, _plan_values)


def _plan_values(several: tuple[Judged, ...]) -> dict[str, object]:
    """What plan.json holds, with the command line by its options: a word alone does not say which it belongs to."""
    return {**plan_content(several), "argv": engine_command(_planned(several[0])[0])}


def _word_names(plan: Plan) -> list[str]:
    """For each word of the command line the name of the option that it is a part of."""
    start = engine_command(plan)
    parts = [("argv.program", start.program)]
    parts += [(f"argv.options[{part.words[0]}]", part) for part in start.options]
    return [f"{name}.words" for name, part in parts for _ in part.words]
