"""The services of a profile go in; for each line of each of their files what made it comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from compiler.checks.memory import MEMORY_CODES
from compiler.diagnostics import Diagnostic
from compiler.engines.engine import Facts
from compiler.judged import Judged
from compiler.origins import Origins, dotted
from compiler.plan import Plan, Service
from compiler.render.envfile import env_file_values
from compiler.render.planfile import plan_content
from compiler.render.review import review_values
from compiler.render.script import script_values
from compiler.render.start import engine_command
from compiler.render.systemd import unit_values
from compiler.render.templates import trace
from compiler.value import Value
from compiler.why.influence import Source, influences
from compiler.why.naming import json_lines, name_at, named


PROFILE_NAME = "the name of the profile"
TEMPLATE = "the template: the same whatever the settings are"
COUNTING = "how this release of the engine counts memory; no other setting and no entry of the catalogue moves it"
NOTHING = "nothing of that kind was found"
COPIED = "a copy: the same for every service"


@frozen(kw_only=True, eq=False, repr=False)
class Line(Value):
    """What made one line.

    Attributes:
        sources: the settings, and the facts of the catalogue, that what it says depends on.
        notes: what else made it (`TEMPLATE`, `PROFILE_NAME`, a finding); with neither nobody knows.
    """

    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


@frozen(kw_only=True, eq=False, repr=False)
class Context(Value):
    """A profile's services with all that they were planned from."""

    several: tuple[Judged, ...]
    facts: Facts
    origins: Origins
    versions: tuple[str, ...]


def files_of(context: Context) -> Mapping[str, Callable[[], tuple[Line, ...]]]:
    """The files of a profile by path below its folder, each with what gives its lines; nothing is worked out before."""
    files: dict[str, Callable[[], tuple[Line, ...]]] = {
        "PLAN.md": partial(_templated, context, "plan.md.j2", values_of=_review),
        "plan.json": partial(_plan_file, context),
    }
    for place, each in enumerate(context.several):
        service = each.plan.service if each.plan else None
        if service is not None:
            folder = each.target_name
            unit = partial(_unit, place=place)
            variables = partial(_variables, place=place)
            script = partial(_script, place=place)
            files |= {
                f"{folder}/{service.unit}.service": partial(
                    _templated, context, "service.j2", values_of=unit
                ),
                f"{folder}/{service.unit}.env": partial(
                    _templated, context, "env.j2", values_of=variables
                ),
                f"{folder}/launch.sh": partial(
                    _templated, context, "launch.sh.j2", values_of=script
                ),
            }
    return files


ValuesOf = Callable[[tuple[Judged, ...]], dict[str, object]]


def _review(several: tuple[Judged, ...]) -> dict[str, object]:
    return review_values(several)


def _unit(several: tuple[Judged, ...], *, place: int) -> dict[str, object]:
    plan, service = _planned(several[place])
    return unit_values(plan, service=service)


def _variables(several: tuple[Judged, ...], *, place: int) -> dict[str, object]:
    return env_file_values(_planned(several[place])[0])


def _script(several: tuple[Judged, ...], *, place: int) -> dict[str, object]:
    return script_values(_planned(several[place])[0])


def _planned(judged: Judged) -> tuple[Plan, Service]:
    if judged.plan is None or judged.plan.service is None:
        raise ValueError(f"{judged.profile_name} was not planned for a target")
    return judged.plan, judged.plan.service


def _templated(context: Context, template: str, *, values_of: ValuesOf) -> tuple[Line, ...]:
    values = values_of(context.several)
    influence = _influence(context, values_of)
    return tuple(
        _line((name_at(values, path.split(".")) for path in sorted(paths)), influence, context)
        for paths in trace(template, **values)
    )


def _plan_file(context: Context) -> tuple[Line, ...]:
    content = plan_content(context.several)
    influence = _influence(context, _plan_values)
    words = _word_names(_planned(context.several[0])[0])
    lines = [
        Line(notes=(TEMPLATE,))
        if path is None
        else _line(
            [words[int(path[1])] if path[0] == "argv" else name_at(content, path)],
            influence,
            context,
        )
        for path in json_lines(content)
    ]
    return (*lines, Line(notes=(TEMPLATE,)))  # what follows the last line end


def _plan_values(several: tuple[Judged, ...]) -> dict[str, object]:
    """What plan.json holds, with the command line by its options: a word alone does not say which it belongs to."""
    return {**plan_content(several), "argv": engine_command(_planned(several[0])[0])}


def _word_names(plan: Plan) -> list[str]:
    """For each word of the command line the name of the option that it is a part of."""
    start = engine_command(plan)
    parts = [("argv.program", start.program)]
    parts += [(f"argv.options[{part.words[0]}]", part) for part in start.options]
    return [f"{name}.words" for name, part in parts for _ in part.words]


def _influence(context: Context, values_of: ValuesOf) -> Mapping[str, tuple[Source, ...]]:
    """What each piece of a file depends on. Findings are those of the plan as it stands: nothing is judged again."""
    first = context.several[0]
    plan = first.plan
    if plan is None:
        raise ValueError(f"{first.profile_name} was not planned")

    def parts_of(plans: tuple[Plan, ...]) -> Mapping[str, object]:
        several = tuple(
            evolve(judged, plan=changed)
            for judged, changed in zip(context.several, plans, strict=True)
        )
        return dict(named(values_of(several)))

    return influences(
        plan.profile_name,
        plan.profile,
        context.facts,
        versions=context.versions,
        parts_of=parts_of,
    )


def _line(
    names: Iterable[str], influence: Mapping[str, tuple[Source, ...]], context: Context
) -> Line:
    sources: dict[Source, None] = {}
    notes: dict[str, None] = {}
    several = list(names)
    for name in several:
        special = _special(name, influence, context)
        found = _found(name, influence) if special is None else special.sources
        sources.update(dict.fromkeys(found))
        notes.update(dict.fromkeys(() if special is None else special.notes))
    if not several:
        return Line(notes=(TEMPLATE,))
    ordered = tuple(sorted(sources, key=lambda each: each.order))
    return Line(sources=ordered, notes=tuple(notes))


def _found(name: str, influence: Mapping[str, tuple[Source, ...]]) -> tuple[Source, ...]:
    """What a piece depends on; an option's reason, and all of its words, are the option's."""
    above, _, last = name.rpartition(".")
    if last not in ("why", "words"):
        return influence.get(name, ())
    several = [
        each for other in influence if other.startswith(f"{above}.") for each in influence[other]
    ]
    return tuple(dict.fromkeys(several))


_NOTES = {
    "source": PROFILE_NAME,
    "name": PROFILE_NAME,
    "profile": PROFILE_NAME,
    "schema": TEMPLATE,
}
_ENGINE = frozenset({"engine.name", "engine.version", "deployment"})
_BUDGET = re.compile(r"(?:static|reserve)\[")
_FINDING = re.compile(r"(?:findings|changes)\[")
_LISTS = frozenset(
    {"unknowns", "unpriced", "assumptions", "findings", "accepted", "static", "reserve"}
)
"""The keys of `plan.json` that may hold an empty list or table."""

_VERDICT = frozenset({"verdict", "meaning"})


def _special(
    name: str, influence: Mapping[str, tuple[Source, ...]], context: Context
) -> Line | None:
    """What a small change does not show: what is judged, not planned, and what only another engine would do otherwise."""
    own = influence.get(name, ())
    if name in _NOTES:
        return Line(notes=(_NOTES[name],))
    if name in _VERDICT:
        return Line(sources=_of_figures(influence))
    if name in _ENGINE:
        shown = ("engine.name", "engine.version") if name == "deployment" else (name,)
        return Line(sources=(*(Source(setting=each) for each in shown), *own))
    if _FINDING.match(name):
        return _finding(name, influence, context)
    if name.startswith("accepted") and _accepted(context):
        return Line(sources=tuple(Source(setting=f"accept.{code}") for code in _accepted(context)))
    if name in _LISTS and not own:
        return Line(notes=(NOTHING,))
    if _BUDGET.match(name) and not own:
        return Line(sources=(Source(setting="engine.version"),), notes=(COUNTING,))
    return None


def _finding(name: str, influence: Mapping[str, tuple[Source, ...]], context: Context) -> Line:
    """A finding, or a line of its advice: what it points at, and what the figures depend on that it judges."""
    diagnostics = context.several[0].diagnostics
    told = [each for each in diagnostics if _tells(each, name)]
    sources = [
        source
        for each in told or diagnostics
        for source in (
            *_pointed_at(each, context.origins),
            *(_of_figures(influence) if each.code in MEMORY_CODES else ()),
        )
    ]
    return Line(sources=tuple(sources), notes=tuple(f"the finding `{each.code}`" for each in told))


def _accepted(context: Context) -> tuple[str, ...]:
    plan = context.several[0].plan
    return tuple(sorted(plan.profile.accept)) if plan else ()


def _tells(each: Diagnostic, name: str) -> bool:
    """Whether a piece is told by a finding: by its code, or as a line of its advice."""
    text = name.partition("[")[2]
    advice = (line for entry in each.help for line in entry.split("\n"))
    return (
        f"`{each.code}`" in text
        or text.startswith(f"{each.code}]")
        or any(text.startswith(f"{line}]") for line in advice)
    )


def _of_figures(influence: Mapping[str, tuple[Source, ...]]) -> tuple[Source, ...]:
    """What the pool and the reserve depend on, in either file."""
    figures = ("pool", "margin", "pool.best", "pool.low", "reserve_margin_gib.best")
    several = [source for name in figures for source in influence.get(name, ())]
    return tuple(dict.fromkeys(several))


def _pointed_at(each: Diagnostic, origins: Origins) -> Iterator[Source]:
    """The settings that a finding is about: its own, and those whose places it shows."""
    if each.path is not None:
        yield Source(setting=each.path)
    spans = {label.span for label in (each.primary, *each.secondary) if label is not None}
    for path, origin in origins.by_path.items():
        if origin.winner.value_span in spans:
            yield Source(setting=dotted(path))


def unanswered(lines: Sequence[Line]) -> int:
    """How many lines nobody can say anything about."""
    return sum(1 for each in lines if not each.sources and not each.notes)
