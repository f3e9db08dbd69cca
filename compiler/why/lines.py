"""The services of a profile go in; for each line of each of their files what made it comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from compiler.diagnostics import Diagnostic, listed
from compiler.engines.engine import Facts
from compiler.judged import Judged
from compiler.origins import Origins, dotted
from compiler.plan import Plan
from compiler.value import Value
from compiler.why.figures import FIGURES, JUDGED, VERDICT, of_figures
from compiler.why.influence import Source, influences
from compiler.why.naming import named
from compiler.why.sections import asked_for, reason_of_section


PROFILE_NAME = "the name of the profile"
TEMPLATE = "the template: the same whatever the settings are"
COUNTING = "how this release of the engine counts memory; no other setting and no entry of the catalogue moves it"
DRAWING = "a place in the drawing that no setting moves"
NOTHING = "nothing of that kind was found"
COPIED = "a copy: the same for every service"


@frozen(kw_only=True, eq=False, repr=False)
class LineReasons(Value):
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


ValuesOf = Callable[[tuple[Judged, ...]], dict[str, object]]
"""What is written of services, by name."""


def lines_of(
    several: Sequence[Sequence[str]], context: Context, values_of: ValuesOf
) -> tuple[LineReasons, ...]:
    """The lines that print these pieces. Nothing is asked for a template's own; for a single line nothing but its own."""
    if not any(several):
        return tuple(LineReasons(notes=(TEMPLATE,)) for _ in several)
    only = frozenset(asked_for(name) or name for name in several[0]) if len(several) == 1 else None
    influence = _influence(context, values_of, only)
    return tuple(_line(names, influence, context) for names in several)


def _influence(
    context: Context, values_of: ValuesOf, only: frozenset[str] | None
) -> Mapping[str, tuple[Source, ...]]:
    """What each piece of a file depends on, or only some pieces.

    Findings are those of the plan as it stands: nothing is judged again.
    """
    plan = context.several[0].planned

    def parts_of(plans: tuple[Plan, ...]) -> Mapping[str, object]:
        several = tuple(
            evolve(judged, plan=changed)
            for judged, changed in zip(context.several, plans, strict=True)
        )
        return {
            name: value
            for name, value in named(values_of(several))
            if only is None or _is_needed(name, only)
        }

    return influences(
        plan.profile_name,
        plan.profile,
        context.facts,
        versions=context.versions,
        parts_of=parts_of,
    )


def _line(
    names: Iterable[str], influence: Mapping[str, tuple[Source, ...]], context: Context
) -> LineReasons:
    sources: dict[Source, None] = {}
    notes: dict[str, None] = {}
    several = list(names)
    for name in several:
        asked = asked_for(name)
        special = (
            _special(name, influence, context)
            if asked is None
            else _section(asked, influence, context)
        )
        found = _found(name, influence) if special is None else special.sources
        sources.update(dict.fromkeys(found))
        notes.update(dict.fromkeys(() if special is None else special.notes))
    if not several:
        return LineReasons(notes=(TEMPLATE,))
    if any(each.setting != "engine.version" for each in sources):
        notes.pop(COUNTING, None)  # another piece of the line is moved
    ordered = tuple(sorted(sources, key=lambda each: each.order))
    return LineReasons(sources=ordered, notes=tuple(notes))


def _is_needed(name: str, only: frozenset[str]) -> bool:
    """Whether what is said of some pieces hangs on this one: it is one, or what a finding judges, or an option's other part."""
    if name in only:
        return True
    if name in FIGURES:
        return any(each in VERDICT or _FINDING.match(each) for each in only)
    return any(name.startswith(f"{above}.") for above in filter(None, map(_option_of, only)))


def _option_of(name: str) -> str | None:
    """The option that a piece is the reason or the words of."""
    above, _, last = name.rpartition(".")
    return above if last in ("why", "words") else None


def _found(name: str, influence: Mapping[str, tuple[Source, ...]]) -> tuple[Source, ...]:
    """What a piece depends on; an option's reason, and all of its words, are the option's."""
    above = _option_of(name)
    if above is None:
        return influence.get(name, ())
    several = [
        each for other in influence if other.startswith(f"{above}.") for each in influence[other]
    ]
    return tuple(dict.fromkeys(several))


_NOTES = {
    "source": PROFILE_NAME,
    "name": PROFILE_NAME,
    "profile": PROFILE_NAME,
    "title": PROFILE_NAME,
    "schema": TEMPLATE,
}
_ENGINE = frozenset({"engine.name", "engine.version", "deployment"})
_GPU_NAMES = re.compile(r"gpus\.names\b")
_DRAWN = re.compile(r"(?:bars|width|height)\b")
"""What memory.svg lays out."""
_BUDGET = re.compile(r"(?:static|reserve)\[")
_FINDING = re.compile(r"(?:findings|changes)\[")
_BESIDE = re.compile(r"(?:beside|second|neighbours)\[")
"""What is said of a service's neighbours."""
_LISTS = frozenset(
    {
        "unknowns",
        "unpriced",
        "assumptions",
        "findings",
        "neighbours",
        "accepted",
        "static",
        "reserve",
    }
)
"""The keys of `plan.json` that may hold an empty list or table."""


def _special(
    name: str, influence: Mapping[str, tuple[Source, ...]], context: Context
) -> LineReasons | None:
    """What a small change does not show: what is judged, not planned, and what only another engine would do otherwise."""
    own = influence.get(name, ())
    if name in _NOTES:
        return LineReasons(notes=(_NOTES[name],))
    if name in VERDICT:
        shared = name == "meaning" and any(each.second for each in context.several)
        notes = _beside("second", context).notes if shared else ()
        return LineReasons(sources=of_figures(influence), notes=notes)
    if name in _ENGINE:
        shown = ("engine.name", "engine.version") if name == "deployment" else (name,)
        return LineReasons(sources=(*(Source(setting=each) for each in shown), *own))
    if _BESIDE.match(name):
        return _beside(name, context)
    if _FINDING.match(name):
        return _finding(name, influence, context)
    if name.startswith("accepted") and _accepted(context):
        return LineReasons(
            sources=tuple(Source(setting=f"accept.{code}") for code in _accepted(context))
        )
    if _GPU_NAMES.match(name):
        return LineReasons(sources=(Source(setting="gpus.kind"), Source(fact="gpu", key="names")))
    return None if own else _unmoved(name)


def _section(
    asked: str, influence: Mapping[str, tuple[Source, ...]], context: Context
) -> LineReasons:
    """Words of the template's own that are there by a value: by which, and, where that is no figure, what it hangs on."""
    sources = () if asked in FIGURES else influence.get(asked, ())
    if asked == "accepted":
        sources = tuple(Source(setting=f"accept.{code}") for code in _accepted(context))
    return LineReasons(sources=sources, notes=(reason_of_section(asked),))


def _unmoved(name: str) -> LineReasons | None:
    """What no setting and no fact of the catalogue moves, and why."""
    if _DRAWN.match(name):
        return LineReasons(notes=(DRAWING,))
    if name in _LISTS:
        return LineReasons(notes=(NOTHING,))
    if _BUDGET.match(name):
        return LineReasons(sources=(Source(setting="engine.version"),), notes=(COUNTING,))
    return None


def _finding(
    name: str, influence: Mapping[str, tuple[Source, ...]], context: Context
) -> LineReasons:
    """A finding, or a line of its advice: what it points at, and what the figures depend on that it judges."""
    diagnostics = context.several[0].diagnostics
    told = [each for each in diagnostics if _tells(each, name)]
    sources = [
        source
        for each in told or diagnostics
        for source in (
            *_pointed_at(each, context.origins),
            *of_figures(influence, of=JUDGED.get(each.code, ())),
        )
    ]
    return LineReasons(
        sources=tuple(sources), notes=tuple(f"the finding `{each.code}`" for each in told)
    )


def _beside(name: str, context: Context) -> LineReasons:
    """What is found between it and others: the settings of its own that the finding shows, and who the others are."""
    found = dict.fromkeys(each for judged in context.several for each in judged.neighbours)
    told = [each for each in found if _tells(each, name)] or [*found]
    own = context.several[0].profile_name
    sources = (source for each in told for source in _shown_by(each, context.origins))
    notes = (
        f"the finding `{each.code}`, between it and {listed([f'`{other}`' for other in others])}"
        for each in told
        if (others := [*dict.fromkeys(other for other, _ in each.between if other != own)])
    )
    return LineReasons(sources=tuple(dict.fromkeys(sources)), notes=tuple(dict.fromkeys(notes)))


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


def _pointed_at(each: Diagnostic, origins: Origins) -> Iterator[Source]:
    """The settings that a finding is about: its own, and those whose places it shows."""
    if each.path is not None:
        yield Source(setting=each.path)
    yield from _shown_by(each, origins)


def _shown_by(each: Diagnostic, origins: Origins) -> Iterator[Source]:
    """The settings whose places a finding shows."""
    spans = {label.span for label in (each.primary, *each.secondary) if label is not None}
    for path, origin in origins.by_path.items():
        if origin.winner.value_span in spans:
            yield Source(setting=dotted(path))
