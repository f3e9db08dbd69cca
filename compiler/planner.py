"""A typed profile, the catalogue and the engine in; one plan a target out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from attrs import evolve, frozen

from compiler.bisection import Margins, least
from compiler.catalog import Catalog
from compiler.catalog.unknowns import beside_catalogue
from compiler.diagnostics import Diagnostic, listed
from compiler.engines.engine import Engine, Facts, KnownBoot, Spelled
from compiler.engines.known import ENGINES
from compiler.engines.sized import Sized, Sizer
from compiler.facts import Boot
from compiler.plan import Balance, Effective, Memory, Plan
from compiler.profile import AUTO, Profile
from compiler.service import service_of
from compiler.unknown import Unknown
from compiler.value import Value


_ANY_FRACTION = 0.9  # asks what is unknown, which no fraction changes
_ANY_CONTEXT = 32_768  # likewise
_USUAL = 900  # thousandths; only where the search for the least fraction begins
THOUSANDTHS = 1000
"""Fractions are tried, advised and written to three decimals."""


@frozen(kw_only=True, eq=False, repr=False)
class Planned(Value):
    """The plans of one profile, one a target; a profile without targets is planned once, with no target."""

    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]


def plan_profile(name: str, profile: Profile, catalog: Catalog) -> Planned:
    """Plan a profile for each of its targets. What nobody described becomes an `Unknown`, not an error."""
    facts, unknowns, diagnostics = look_up(profile, catalog)
    plans = plans_of(name, profile, facts, unknowns)
    unknowns = tuple(beside_catalogue(each, catalog, profile) for each in plans[0].unknowns)
    plans = tuple(evolve(each, unknowns=unknowns) for each in plans)
    return Planned(plans=plans, diagnostics=diagnostics)


SizerOf = Callable[[Engine, Profile, Facts], Sizer]
"""Where the sizer of a profile comes from: a new one, or one that was made before."""


def new_sizer(engine: Engine, profile: Profile, facts: Facts) -> Sizer:
    """A new one."""
    return engine.sizer(profile, facts)


def plans_of(
    name: str,
    profile: Profile,
    facts: Facts,
    unknowns: tuple[Unknown, ...] = (),
    *,
    sizer_of: SizerOf = new_sizer,
) -> tuple[Plan, ...]:
    """The plans of a profile with what is known about it, one a target; one with no target where there is none."""
    engine = ENGINES.get(profile.engine.name)
    return _on_targets(plan_of(name, profile, facts, engine, unknowns, sizer_of=sizer_of), profile)


_NOTHING_KNOWN = Facts(gpu=None, model=None, draft=None, release=None)


def outlines_of(name: str, profile: Profile) -> tuple[Plan, ...]:
    """The same as far as a profile's own settings go: nothing is looked up, nothing is sized, and times to start are usual ones."""
    return _on_targets(plan_of(name, profile, _NOTHING_KNOWN, None), profile)


def _on_targets(plan: Plan, profile: Profile) -> tuple[Plan, ...]:
    targets: list[str | None] = [*sorted(profile.targets)] or [None]
    return tuple(
        evolve(
            plan,
            target_name=target,
            target=profile.targets[target] if target else None,
            service=service_of(profile, profile.targets[target], model=plan.model)
            if target
            else None,
        )
        for target in targets
    )


def plan_of(
    name: str,
    profile: Profile,
    facts: Facts,
    engine: Engine | None,
    unknowns: tuple[Unknown, ...] = (),
    *,
    sizer_of: SizerOf = new_sizer,
    spelled: Spelled | None = None,
) -> Plan:
    """The plan of a profile with what is known about it, for no target.

    What the profile leaves to the engine is not spelled; the plan's own profile has it worked out, where it is known.
    `spelled` is the command line that there is already, if there is one.
    """
    asked, profile = profile, _worked_out(profile, facts)
    fraction, sized = _size(profile, facts, engine, sizer_of)
    written = None if asked.memory.fraction == AUTO else fraction
    if spelled is None and engine is not None:
        spelled = engine.spell(asked, facts.release, fraction=written)
    memory = sized.memory if sized else None
    untold = engine.untold(asked, facts.release) if engine is not None else None
    return Plan(
        profile_name=name,
        target_name=None,
        profile=profile,
        target=None,
        service=None,
        gpu=facts.gpu,
        model=facts.model,
        draft=facts.draft,
        release=facts.release,
        command=spelled.command if spelled else (),
        options=spelled.options if spelled else (),
        environment=spelled.environment if spelled else (),
        attention_backend=sized.attention_backend if sized else None,
        required_tokens=sized.required_tokens if sized and profile.serve.context != AUTO else None,
        untold=untold,
        prefill_chunk=sized.prefill_chunk if sized else None,
        unfolds=sized.unfolds if sized else None,
        adapters=sized.adapters if sized else None,
        verify_width=sized.verify_width if sized else 1,
        running_requests=sized.running_requests if sized else profile.serve.max_running_requests,
        sized_for=sized.sized_for if sized else None,
        states=sized.states if sized else None,
        memory=memory,
        effective=_effective(profile, memory, sized) if memory and sized else None,
        probe=engine.probe if engine is not None else None,
        unknowns=(*unknowns, *(sized.unknowns if sized else ())),
        assumptions=(
            *(each.likeness for each in (facts.model, facts.draft) if each and each.likeness),
            *(sized.assumptions if sized else ()),
            *_left_to_engine(asked, profile, memory),
            *_unprobed(profile, engine),
            *((f"its probe waits for health: {untold}",) if untold and asked.targets else ()),
        ),
    )


def _worked_out(profile: Profile, facts: Facts) -> Profile:
    """The profile with the context that the engine derives from the model, where the model is known."""
    if profile.serve.context != AUTO or facts.model is None:
        return profile
    return evolve(profile, serve=evolve(profile.serve, context=facts.model.context))


def _left_to_engine(asked: Profile, profile: Profile, memory: Memory | None) -> Iterator[str]:
    if asked.serve.context == AUTO and profile.serve.context != AUTO:
        yield f"the context is left to the engine: the model's own {profile.serve.tokens:,} tokens are promised"
    if asked.memory.fraction == AUTO and memory is not None:
        yield f"the static fraction is left to the engine: it picks {memory.fraction:.4g}"


def _unprobed(profile: Profile, engine: Engine | None) -> Iterator[str]:
    if profile.targets and engine is not None and engine.probe is None:
        yield f"nobody wrote a readiness probe for {engine.name}: its unit counts as started once its process runs, and nothing compares its pool"


def look_up(
    profile: Profile, catalog: Catalog
) -> tuple[Facts, tuple[Unknown, ...], tuple[Diagnostic, ...]]:
    """What the catalogue knows about a profile, what nobody described, and what is wrong with its files."""
    gpu, gpu_faults = catalog.gpu(profile.gpus.kind)
    model, model_faults = catalog.model(profile.model.id)
    speculative = profile.speculative
    draft, draft_faults = (
        catalog.draft(speculative.draft) if speculative and speculative.draft else (None, ())
    )
    engine = profile.engine
    release, release_faults = catalog.release(engine.name, engine.version, engine.build)
    boots, boot_faults = catalog.boots()
    known = known_boots((*boots, *catalog.public_boots(profile.model.id)), profile, catalog)
    unknowns: tuple[Unknown, ...] = ()
    if engine.name not in ENGINES:
        missing = (
            f"how to start and size it; there is {listed([f'`{known}`' for known in ENGINES])}"
        )
        unknowns = (
            Unknown(
                code="engine-unknown", name=engine.name, setting="engine.name", missing=missing
            ),
        )
    if model is not None and engine.name in ENGINES:
        model = ENGINES[engine.name].declared(model, profile)
    facts = Facts(gpu=gpu, model=model, draft=draft, release=release, boots=known)
    return (
        facts,
        unknowns,
        (*gpu_faults, *model_faults, *draft_faults, *release_faults, *boot_faults),
    )


def known_boots(boots: Iterable[Boot], profile: Profile, catalog: Catalog) -> tuple[KnownBoot, ...]:
    """The boots of a profile's model on its kind of GPU, each with what the catalogue knows about it."""
    return tuple(
        KnownBoot(
            boot=boot,
            draft=catalog.draft(boot.draft)[0] if boot.draft and boot.draft != boot.model else None,
            release=catalog.release(boot.engine, boot.version, boot.build)[0],
        )
        for boot in boots
        if boot.model == profile.model.id and boot.gpu == profile.gpus.kind
    )


def balance_of(
    profile: Profile, facts: Facts, engine: Engine | None, *, sizer_of: SizerOf = new_sizer
) -> Balance | None:
    """What both budgets of a plan would come to, without the plan; `None` where its memory is not known."""
    asked, size = _sizer_at(_worked_out(profile, facts), facts, engine, sizer_of)
    if size is None:
        return None
    return size.balance(_least_fraction(size) if isinstance(asked, str) else asked)


def _size(
    profile: Profile, facts: Facts, engine: Engine | None, sizer_of: SizerOf
) -> tuple[float | None, Sized | None]:
    asked, size = _sizer_at(profile, facts, engine, sizer_of)
    if size is None:
        return (None if isinstance(asked, str) else asked), None
    if not isinstance(asked, str):
        return asked, size(asked)
    fitted = _least_fraction(size)
    sized = size(fitted)
    return None if sized.memory is None else fitted, sized


def _sizer_at(
    profile: Profile, facts: Facts, engine: Engine | None, sizer_of: SizerOf
) -> tuple[float | str, Sizer | None]:
    """The fraction, or "fit", and what sizes there, if anything can."""
    asked: float | str = profile.memory.fraction
    if engine is None:
        return asked, None
    if profile.serve.context == AUTO:
        # Nobody knows the model, so that only what does not hang on the context is told of this.
        serve = evolve(profile.serve, context=_ANY_CONTEXT)
        profile = evolve(profile, serve=serve)
    if asked == AUTO:
        asked = engine.automatic_fraction(profile, facts) or _ANY_FRACTION
    if not isinstance(asked, str) and not 0 < asked < 1:
        # Outside of 0 to 1 there is nothing to size; a check says so.
        return asked, None
    return asked, sizer_of(engine, profile, facts)


def _least_fraction(size: Sizer) -> float:
    """The least fraction, to three decimals, at which the pool holds the promise over its whole range: what "fit" means.

    Where layers keep states, as many requests as are promised have room for theirs, too.

    The pool grows with the fraction, so there is one edge to find. A higher fraction only takes from the reserve, so the
    least one also leaves the reserve best off. Where nothing keeps the promise, 0.999 shows how near it comes, and the
    checks refuse it; where memory is not known there is no fraction to write, and a check says so.
    """

    def spare(thousandths: int) -> Margins:
        return size.least_spare(thousandths / THOUSANDTHS) or (-1.0,)

    highest = THOUSANDTHS - 1
    near = size.nearly_least()
    guess = None if near is None else math.ceil(near * THOUSANDTHS)
    found = least(low=1, high=highest, margins=spare, hint=_USUAL, guess=guess)
    return (found or highest) / THOUSANDTHS


def _effective(profile: Profile, memory: Memory, sized: Sized) -> Effective:
    pool = int(memory.pool.tokens.best)
    each = min(memory.pool.request_tokens, pool)
    at_once = pool // each * profile.parallel.data if each else 0
    return Effective(
        context=min(profile.serve.tokens, pool),
        concurrency=at_once
        if sized.running_requests is None
        else min(sized.running_requests, at_once),
    )
