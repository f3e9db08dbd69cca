"""What `why` says of a value that nobody sets: what it is, what the plan has in its place, and what that comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.catalog import Kind
from compiler.cli.session import Session
from compiler.cli.whysources import EACH_RELEASE, reckoned_with, source_lines
from compiler.diagnostics import listed
from compiler.language.merge import Resolved
from compiler.language.settings import find_setting, known_keys
from compiler.language.spans import split_key
from compiler.memory.outcome import Outcome, memory_outcome
from compiler.pipeline import check_profiles
from compiler.plan import Memory, Plan
from compiler.planner import look_up
from compiler.why.history import History
from compiler.why.influence import Source, influences
from compiler.why.reckoned import engine_choices, reckoned


_FRACTION, _CONTEXT = "memory.fraction", "serve.context"
_KINDS = (Source(fact="gpu", key="compute_capability"), Source(fact="model", key="architecture"))
_BY_KIND = dict.fromkeys(
    ("engine.attention_backend", "memory.page_size", "memory.kv_dtype"), _KINDS
)
"""What is chosen by the kind of a GPU and of a model, which no small change makes another."""


def unset_lines(history: History, resolved: Resolved, session: Session) -> Iterator[str]:
    """The lines below a setting's history."""
    if history.value is None:
        yield from _meaning(history)
    judged = check_profiles(session.names[:1], session.inputs, advised=False).judged
    plans = tuple(each.plan for each in judged if each.plan is not None)
    if not plans:
        return
    setting, plan = history.setting, plans[0]
    if history.value is None and history.default is None:
        told = reckoned(plans).get(setting)
        if told is not None and told.how is not None:
            yield f"  {reckoned_with(told, setting, plan.profile_name)}"
        elif told is not None:
            head = f"the plan reckons with {told.value}, {told.by}"
            yield from _chosen(head, setting, plan, resolved, session)
        yield from _given(setting, plan)
        return
    yield from _comes_to(setting, history.value or history.default or "", plan, resolved, session)
    if history.value is None:
        yield from _given(setting, plan)


def _meaning(history: History) -> Iterator[str]:
    path = split_key(history.setting) or ()
    known, keys = find_setting(path), known_keys(path)
    if known is not None and known.path[-1] != "*":
        yield f"  means: {known.help}"
    elif keys and keys != ("*",):
        yield f"  means: a table of {listed(keys)}"


def _given(setting: str, plan: Plan) -> Iterator[str]:
    """What stands on the command line for a setting that nobody sets."""
    for each in plan.options:
        if each.setting == setting:
            yield f"  the engine is given {' '.join((each.flag, *each.values))}"


def _comes_to(
    setting: str, word: str, plan: Plan, resolved: Resolved, session: Session
) -> Iterator[str]:
    """What a word stands for, as the profile is planned."""
    if setting == _CONTEXT and word == '"auto"' and plan.effective is not None:
        entry = session.inputs.catalog.entry_file(Kind.MODEL, plan.profile.model.id)
        yield f"  comes to {plan.profile.serve.tokens:,} tokens, by the checkpoint"
        yield from () if entry is None else (f"    {entry.shown}: context",)
    elif setting == _FRACTION and word == '"fit"' and plan.memory is not None:
        yield f"  comes to {_fitted(plan.memory)}"
    elif setting == _FRACTION and word == '"auto"' and plan.memory is not None:
        head = f"comes to {plan.memory.fraction:g}, what the engine picks"
        yield from _chosen(head, setting, plan, resolved, session)
    elif word == '"auto"' and setting in (known := engine_choices(plan)):
        yield from _chosen(f"comes to {known[setting]}", setting, plan, resolved, session)


def _fitted(memory: Memory) -> str:
    needed = f"the {memory.pool.required_tokens:,} tokens of the promise"
    if memory_outcome(memory) > Outcome.UNCERTAIN:
        return f"{memory.fraction:g}, the most there is: no fraction keeps the promise"
    return (
        f"{memory.fraction:g}, the least that keeps the promise: in steps of 0.001, "
        f"the first at which the pool holds {needed} at worst, too"
    )


def _chosen(
    head: str, setting: str, plan: Plan, resolved: Resolved, session: Session
) -> Iterator[str]:
    """A choice of the engine, with all that it would be another with."""
    engine = plan.profile.engine
    sources = _sources(setting, plan, session)
    whose = f"{engine.name} {engine.version}"
    if not sources:
        yield f"  {head}, as {whose} has it, whatever the settings are"
        return
    yield f"  {head}, as {whose} has it for"
    yield from source_lines(sources, (plan,), resolved, session.inputs.catalog, indent=4)


def _sources(setting: str, plan: Plan, session: Session) -> tuple[Source, ...]:
    profile, catalog = plan.profile, session.inputs.catalog
    facts, _, _ = look_up(profile, catalog)

    def parts_of(plans: tuple[Plan, ...]) -> Mapping[str, object]:
        memory = plans[0].memory
        if setting == _FRACTION:
            return {setting: None if memory is None else memory.fraction}
        return {setting: engine_choices(plans[0]).get(setting)}

    found = influences(
        plan.profile_name,
        profile,
        facts,
        versions=catalog.versions(profile.engine.name)[::EACH_RELEASE],
        parts_of=parts_of,
    )
    moved = tuple(each for each in found[setting] if each.setting != setting)
    return tuple(dict.fromkeys((*moved, *_BY_KIND.get(setting, ()))))
