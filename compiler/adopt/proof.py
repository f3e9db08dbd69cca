"""The text of an adopted profile goes in; what it is compiled to is held against the launch, word by word, before it is written."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from compiler.adopt.adopted import Adopted
from compiler.catalog import Catalog
from compiler.diagnostics import Diagnostic, error
from compiler.engines.known import ENGINES
from compiler.language.graph import link
from compiler.language.merge import merge_graph
from compiler.language.settings import list_settings
from compiler.language.structure import structure_profile
from compiler.plan import Plan
from compiler.planner import plan_profile
from compiler.value import Value


NAME = "adopted"
"""What an adopted profile is called before it has a file."""


@frozen(eq=False, repr=False)
class OneText(Value):
    """A reader with one profile, which is on no disk yet."""

    text: str

    def read(self, name: str) -> bytes | None:
        """As `language.load.Reader` says."""
        return self.text.encode() if name == NAME else None

    def names(self) -> tuple[str, ...]:
        """As `language.load.Reader` says."""
        return (NAME,)


def prove(text: str, adopted: Adopted, catalog: Catalog) -> tuple[Diagnostic, ...]:
    """Everything in which the compiled profile and the launch part.

    Errors: `launch-unfaithful`, and those of reading a profile.
    """
    graph, found = link(OneText(text), NAME)
    if graph is None:
        return found
    resolved, clashes = merge_graph(graph, list_settings=list_settings())
    if resolved is None:
        return clashes
    profile, faults = structure_profile(resolved)
    if profile is None:
        return faults
    plans = plan_profile(NAME, profile, catalog).plans
    return tuple(_differences(plans[0], adopted))


def _differences(plan: Plan, adopted: Adopted) -> Iterator[Diagnostic]:
    if plan.profile.engine.name not in ENGINES:
        raise ValueError(f"no engine is called {plan.profile.engine.name}")
    reading = adopted.chosen.reading
    found = (
        ()
        if reading.refusal is not None
        else adopted.chosen.adopter.differences(reading, plan.argv)
    )
    known = {each.dest for each in adopted.folded.differences}
    for each in found:
        if each.dest not in known:
            yield _unfaithful(f"`{each.dest or 'the command'}`", each.wanted, each.found)
    compiled = {each.name: each.value for each in plan.environment}
    lost = {each.path[1] for each, _ in adopted.folded.lost if each.path[0] == "env"}
    wanted = {name: value for name, value in adopted.around.environment.items() if name not in lost}
    for name in sorted(compiled.keys() | wanted.keys()):
        if compiled.get(name) != wanted.get(name):
            yield _unfaithful(f"the variable `{name}`", wanted.get(name), compiled.get(name))


def _unfaithful(what: str, wanted: object, found: object) -> Diagnostic:
    return error(
        "launch-unfaithful",
        f"{what} would be another than in the launch",
        notes=(f"the launch says {wanted!r}", f"the compiled profile says {found!r}"),
        help=("write the value in another way in the launch, and adopt it again",),
    )
