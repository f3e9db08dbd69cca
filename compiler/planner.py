"""A typed profile, the catalogue and the engine in; one plan a target out."""

from __future__ import annotations

from attrs import evolve, frozen

from compiler.bisection import least
from compiler.catalog import Catalog, Kind
from compiler.diagnostics import Diagnostic
from compiler.engines import ENGINES
from compiler.engines.engine import Engine, Facts, KnownBoot, Sized
from compiler.facts import Unknown
from compiler.memory.outcome import Outcome, pool_outcome
from compiler.plan import Effective, Memory, Plan
from compiler.profile import Profile
from compiler.service import service
from compiler.value import Value


_ANY_FRACTION = 0.9  # asks what is unknown, which no fraction changes
THOUSANDTHS = 1000
"""Fractions are tried, advised and written to three decimals."""


@frozen(kw_only=True, eq=False, repr=False)
class Planned(Value):
    """The plans of one profile, one a target; a profile without targets is planned once, with no target."""

    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]


def plan_profile(name: str, profile: Profile, catalog: Catalog) -> Planned:
    """Plan a profile for each of its targets. What nobody described becomes an `Unknown`, not an error."""
    facts, unknowns, diagnostics = _look_up(profile, catalog)
    engine = ENGINES.get(profile.engine.name)
    targets: list[str | None] = [*sorted(profile.targets)] or [None]
    one = plan_of(name, profile, facts, engine, unknowns)
    one = evolve(one, unknowns=tuple(_with_near_name(each, catalog) for each in one.unknowns))
    plans = tuple(
        evolve(
            one,
            target_name=target,
            target=profile.targets[target] if target else None,
            service=service(profile, profile.targets[target], model=facts.model)
            if target
            else None,
        )
        for target in targets
    )
    return Planned(plans=plans, diagnostics=diagnostics)


_KINDS = {"gpu-unknown": Kind.GPU, "model-unknown": Kind.MODEL, "draft-unknown": Kind.DRAFT}


def _with_near_name(unknown: Unknown, catalog: Catalog) -> Unknown:
    kind = _KINDS.get(unknown.code)
    return unknown if kind is None else evolve(unknown, near=catalog.near(kind, unknown.name))


def replan(plan: Plan, profile: Profile, catalog: Catalog) -> Plan:
    """The same service with other settings: what a remedy would give."""
    planned = plan_profile(plan.profile_name, evolve(profile, targets={}), catalog).plans[0]
    return evolve(planned, target_name=plan.target_name, target=plan.target)


def plan_of(
    name: str,
    profile: Profile,
    facts: Facts,
    engine: Engine | None,
    unknowns: tuple[Unknown, ...] = (),
) -> Plan:
    """The plan of a profile with what is known about it, for no target."""
    fraction, sized = _size(profile, facts, engine)
    spelled = engine.spell(profile, facts.release, fraction=fraction) if engine else None
    memory = sized.memory if sized else None
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
        required_tokens=sized.required_tokens if sized else None,
        prefill_chunk=sized.prefill_chunk if sized else None,
        verify_width=sized.verify_width if sized else 1,
        running_requests=sized.running_requests if sized else profile.serve.max_running_requests,
        memory=memory,
        effective=_effective(profile, memory, sized) if memory and sized else None,
        unknowns=(*unknowns, *(sized.unknowns if sized else ())),
        assumptions=sized.assumptions if sized else (),
    )


def _look_up(
    profile: Profile, catalog: Catalog
) -> tuple[Facts, tuple[Unknown, ...], tuple[Diagnostic, ...]]:
    gpu, gpu_faults = catalog.gpu(profile.gpus.kind)
    model, model_faults = catalog.model(profile.model.id)
    speculative = profile.speculative
    draft, draft_faults = (
        catalog.draft(speculative.draft) if speculative and speculative.draft else (None, ())
    )
    engine = profile.engine
    release, release_faults = catalog.release(engine.name, engine.version, engine.build)
    boots, boot_faults = catalog.boots()
    known = tuple(
        KnownBoot(
            boot=boot,
            draft=catalog.draft(boot.draft)[0] if boot.draft else None,
            release=catalog.release(boot.engine, boot.version, boot.build)[0],
        )
        for boot in (*boots, *catalog.public_boots(profile.model.id))
        if boot.model == profile.model.id and boot.gpu == profile.gpus.kind
    )
    unknowns: tuple[Unknown, ...] = ()
    if engine.name not in ENGINES:
        missing = (
            f"how to start and size it; there is {', '.join(f'`{known}`' for known in ENGINES)}"
        )
        unknowns = (
            Unknown(
                code="engine-unknown", name=engine.name, setting="engine.name", missing=missing
            ),
        )
    facts = Facts(gpu=gpu, model=model, draft=draft, release=release, boots=known)
    return (
        facts,
        unknowns,
        (*gpu_faults, *model_faults, *draft_faults, *release_faults, *boot_faults),
    )


def _size(
    profile: Profile, facts: Facts, engine: Engine | None
) -> tuple[float | None, Sized | None]:
    asked = profile.memory.fraction
    if engine is None:
        return (None if isinstance(asked, str) else asked), None
    if not isinstance(asked, str):
        # Outside of 0 to 1 there is nothing to size; a check says so.
        sensible = 0 < asked < 1
        return asked, engine.size(profile, facts, fraction=asked) if sensible else None
    if engine.size(profile, facts, fraction=_ANY_FRACTION).memory is None:
        # Nothing to fit where memory is not known; a check says so, and no fraction is written.
        return None, engine.size(profile, facts, fraction=_ANY_FRACTION)
    # Where nothing keeps the promise the plan shows how near it comes, and the checks refuse it.
    fitted = least_fraction(profile, facts, engine) or (THOUSANDTHS - 1) / THOUSANDTHS
    return fitted, engine.size(profile, facts, fraction=fitted)


def least_fraction(profile: Profile, facts: Facts, engine: Engine) -> float | None:
    """The least fraction, to three decimals, at which the pool holds the promise over its whole range.

    The pool grows with the fraction, so this is a bisection; 0.999 is the most that is tried. A higher fraction only takes
    from the reserve, so the least one also leaves the reserve best off: this is what "fit" means.
    """
    thousandths = least(
        low=1,
        high=THOUSANDTHS - 1,
        good=lambda value: _pool_passes(profile, facts, engine, value),
    )
    return None if thousandths is None else thousandths / THOUSANDTHS


def _pool_passes(profile: Profile, facts: Facts, engine: Engine, thousandths: int) -> bool:
    memory = engine.size(profile, facts, fraction=thousandths / THOUSANDTHS).memory
    return memory is not None and pool_outcome(memory) is Outcome.PASSES


def _effective(profile: Profile, memory: Memory, sized: Sized) -> Effective:
    pool = int(memory.pool.tokens.best)
    each = min(memory.pool.request_tokens, pool)
    at_once = pool // each if each else 0
    return Effective(
        context=min(profile.serve.context, pool),
        concurrency=at_once
        if sized.running_requests is None
        else min(sized.running_requests, at_once),
    )
