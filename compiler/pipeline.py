"""The straight line, read this first.

    paths -> Document -> Graph -> Resolved -> Profile -> Plan -> [Diagnostic] -> OutTree -> files
             load        link     merge       structure  plan    check, remedy   render     write | compare

Each step takes values and returns values with diagnostics. It runs to its end and collects; the line stops after a step
that left no value to go on with. Only `load` and the catalogue read; only `tree` writes.
"""

from __future__ import annotations

# First, as no imports nest deeper: `cli.commands.load_verb` says what that costs.
import compiler.engines.known  # noqa: F401


# isort: split
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from attrs import evolve

from compiler.abreast import abreast
from compiler.accept import apply_accepts, verdict
from compiler.checks import check, with_meaning
from compiler.concealing import concealed, concealed_judged
from compiler.diagnostics import Diagnostic
from compiler.inputs import Inputs, is_deployable, origins_in, resolve, tried_in
from compiler.judged import Checked, Judged, Verdict
from compiler.language.graph import ASKED_CODES
from compiler.language.load import Loaded
from compiler.language.merge import Resolved
from compiler.language.structure import check_fragment, structure_profile
from compiler.language.unused import idle_files
from compiler.memory.outcome import ADVISED_CODES
from compiler.origins import Origins
from compiler.plan import Plan
from compiler.planner import outlines_of, plan_profile
from compiler.profile import Profile


if TYPE_CHECKING:
    # Only what writes loads it: see `render_checked`.
    from compiler.tree import OutFile, OutTree


def check_profiles(
    names: Sequence[str],
    inputs: Inputs,
    *,
    whole: bool = False,
    advised: bool = True,
    beside: Sequence[str] = (),
) -> Checked:
    """Judge the named profiles, each by itself and then together; a fragment is checked as far as it goes.

    `whole`: these are all, and what none of them uses is used by nobody. `advised`: memory's findings say what mends them.
    `beside`: others on their hosts, of which only what they and the named do to each other is told.
    """

    def apart(share: Sequence[str]) -> tuple[Checked, Mapping[str, Loaded]]:
        return _check_apart(share, inputs, advised=advised), inputs.documents

    judged: list[Judged] = []
    loose: list[Diagnostic] = []
    fragments: list[str] = []
    for checked, documents in abreast(apart, names):
        judged += checked.judged
        loose += checked.diagnostics
        fragments += checked.fragments
        inputs.documents.update(documents)
    # Neighbours run what they run, whichever release the named are tried on.
    around, unseen = _plans_beside(judged, beside, inputs)
    judged = [evolve(each, unseen=unseen) for each in judged] if unseen else judged
    judged, between = _check_together(judged, around, inputs, advised=advised)
    loose += between
    loose += idle_files(fragments, inputs.documents, whole=whole)
    judged, loose = _with_askers(judged, loose)
    reported = {each for one in judged for each in one.diagnostics}
    return Checked(
        judged=tuple(judged),
        diagnostics=tuple(each for each in dict.fromkeys(loose) if each not in reported),
        fragments=tuple(fragments),
        unseen=unseen,
    )


def _with_askers(
    judged: list[Judged], loose: list[Diagnostic]
) -> tuple[list[Judged], list[Diagnostic]]:
    """The same, where what several profiles ask for in vain, or cannot merge, is one finding for all of them."""
    told = (*loose, *(found for each in judged for found in each.diagnostics))
    vain = [found for found in told if found.code in ASKED_CODES or found.profiles]
    if len(vain) < 2:  # noqa: PLR2004 - one alone has all of its places
        return judged, loose
    from compiler.language.asked import asked_once  # noqa: PLC0415 - only a mistake pays for it

    once = asked_once(vain)
    judged = [
        evolve(each, diagnostics=tuple(once.get(found, found) for found in each.diagnostics))
        for each in judged
    ]
    return judged, [once.get(found, found) for found in loose]


def _check_apart(names: Sequence[str], inputs: Inputs, *, advised: bool) -> Checked:
    """Each profile by itself."""
    judged: list[Judged] = []
    loose: list[Diagnostic] = []
    fragments: list[str] = []
    for name in names:
        resolved, found = resolve(name, inputs)
        if resolved is None and _is_fragment(name, inputs):
            loose += concealed(found, {})
        elif resolved is None:
            judged.append(_unplanned(name, concealed(found, {})))
        elif is_deployable(resolved):
            judged += _judge(name, resolved, inputs, before=found, advised=advised)
        else:
            fragments.append(name)
            faults = with_meaning(check_fragment(resolved), resolved.values, inputs.catalog)
            loose += concealed((*found, *faults), resolved.values)
    return Checked(judged=tuple(judged), diagnostics=tuple(loose), fragments=tuple(fragments))


def _plans_beside(
    judged: Sequence[Judged], names: Sequence[str], inputs: Inputs
) -> tuple[tuple[Plan, ...], tuple[str, ...]]:
    """The plans of profiles that are not judged, and which of them have none; outlines where nobody asks for more."""
    if not names:
        return (), ()
    from compiler.checks.neighbours.hosts import replace_each_other  # noqa: PLC0415 - one alone has no neighbour

    known: dict[str, Profile] = {}
    for name in names:
        resolved, _ = resolve(name, inputs)
        profile = None if resolved is None else structure_profile(resolved)[0]
        if profile is not None:
            known[name] = profile
    unseen = tuple(name for name in names if name not in known)
    plans = tuple(one for name, each in known.items() for one in outlines_of(name, each))
    if not replace_each_other((*(each.plan for each in judged if each.plan is not None), *plans)):
        each_planned = (plan_profile(name, each, inputs.catalog) for name, each in known.items())
        plans = tuple(one for each in each_planned for one in each.plans)
    return plans, unseen


def _check_together(
    judged: list[Judged], others: Sequence[Plan], inputs: Inputs, *, advised: bool
) -> tuple[list[Judged], tuple[Diagnostic, ...]]:
    """What services do to each other, and the services with it, but for what those around them do among themselves.

    Origins are not kept for a whole tree: what is found merges again.
    """
    plans = [each.plan for each in judged if each.plan is not None]
    # In the order of the tree, so that the same is said of them whichever are named.
    plans = sorted((*plans, *others), key=lambda each: each.profile_name)
    if len(plans) < 2:  # noqa: PLR2004 - one alone has no neighbour
        return judged, ()
    from compiler.checks import neighbours  # noqa: PLC0415 - as said above

    def capped(plan: Plan, tokens: int, fraction: float) -> Plan | None:
        from compiler.remedy.beside import capped_at  # noqa: PLC0415 - few trees share a GPU too tightly

        return capped_at(plan, tokens, fraction, catalog=inputs.catalog)

    where = origins_in(inputs, tried={each.profile_name for each in judged})
    again = capped if advised else None
    together = neighbours.judge_together(plans, where, capped=again)
    found = concealed(together.found, {})
    if others:
        known = concealed(neighbours.check_neighbours(others, where, capped=again), {})
        found = neighbours.more_than(known, found)
    return neighbours.with_neighbours(judged, found, together.seconds), found


def _is_fragment(name: str, inputs: Inputs) -> bool:
    """Whether a profile that could not be merged is known to have no target."""
    document, _ = inputs.documents.get(name, (None, ()))
    return document is not None and not document.directives.is_deployable


def _judge(
    name: str, resolved: Resolved, inputs: Inputs, *, before: tuple[Diagnostic, ...], advised: bool
) -> list[Judged]:
    profile, faults = structure_profile(resolved)
    if profile is None:
        faults = with_meaning(faults, resolved.values, inputs.catalog)
        return [_unplanned(name, concealed((*before, *faults), resolved.values))]
    if inputs.engine is not None:
        engine, version = inputs.engine
        profile = evolve(profile, engine=evolve(profile.engine, name=engine, version=version))
    where = tried_in(resolved.origins, inputs)
    several = judge_profile(
        name, profile, where, inputs, before=(*before, *faults), advised=advised
    )
    return [concealed_judged(each, resolved.values) for each in several]


def judge_profile(
    name: str,
    profile: Profile,
    where: Origins,
    inputs: Inputs,
    *,
    before: tuple[Diagnostic, ...] = (),
    left_out: frozenset[str] = frozenset(),
    advised: bool = True,
) -> list[Judged]:
    """Judge a typed profile, once for each of its targets; `where` says where its settings stand.

    Errors of the codes that are `left_out` keep no change from being offered: the caller does not show them.
    """
    planned = plan_profile(name, profile, inputs.catalog)
    standing = (*before, *planned.diagnostics)
    judged = [_judge_plan(plan, where, before=standing) for plan in planned.plans]
    return [_advised(each, where, inputs, left_out) for each in judged] if advised else judged


def _judge_plan(plan: Plan, where: Origins, *, before: tuple[Diagnostic, ...]) -> Judged:
    found = apply_accepts(plan, check(plan, where), where)
    return Judged(
        profile_name=plan.profile_name,
        target_name=plan.target_name,
        verdict=verdict(plan),
        plan=plan,
        diagnostics=(*before, *found),
        standing=before,
    )


def _advised(judged: Judged, where: Origins, inputs: Inputs, left_out: frozenset[str]) -> Judged:
    """The same, with what mends its memory, or a limit that it falls short of."""
    plan, standing = judged.plan, judged.standing
    found = judged.diagnostics[len(standing) :]
    if plan is None or not any(each.code in ADVISED_CODES for each in found):
        return judged
    from compiler.remedy import advise  # noqa: PLC0415 - a profile that passes does without
    from compiler.remedy.replanning import Replanner  # noqa: PLC0415 - as above

    again = Replanner(plan=plan, catalog=inputs.catalog)
    found = advise(plan, found, replan=again, standing=standing, left_out=left_out, where=where)
    return evolve(judged, diagnostics=(*standing, *found))


def _unplanned(name: str, found: tuple[Diagnostic, ...]) -> Judged:
    return Judged(
        profile_name=name, target_name=None, verdict=Verdict.UNKNOWN, plan=None, diagnostics=found
    )


def render_checked(checked: Checked) -> OutTree | tuple[Diagnostic, ...]:
    """The files of all services, proved against their plans; or why they make no tree.

    Nothing of a refused profile is rendered: ask `checked.refused` first.
    """
    # Templates and hashes take longer to load than a whole `check`, which renders nothing.
    from compiler.tree import assemble  # noqa: PLC0415

    def rendered(share: Sequence[tuple[Judged, ...]]) -> list[_Rendered]:
        return [render_profile(several[0].profile_name, several) for several in share]

    services = [
        tuple(several) for _, several in groupby(checked.judged, lambda each: each.profile_name)
    ]
    made = [each for share in abreast(rendered, services) for each in share]
    faults = tuple(found for _, several in made for found in several)
    return faults or assemble([file for files, _ in made for file in files])


_Rendered: TypeAlias = "tuple[list[OutFile], tuple[Diagnostic, ...]]"


def render_profile(name: str, several: tuple[Judged, ...]) -> _Rendered:
    """The files of one profile on all its targets, and what is wrong with them; it must not be refused."""
    from compiler.render import render_target  # noqa: PLC0415 - as above
    from compiler.render.picture import picture_title, render_picture  # noqa: PLC0415 - as above
    from compiler.render.planfile import render_plan_file  # noqa: PLC0415 - as above
    from compiler.render.proof import prove  # noqa: PLC0415 - as above
    from compiler.render.review import render_review  # noqa: PLC0415 - as above
    from compiler.tree import OutFile  # noqa: PLC0415 - as above
    from compiler.writtenplan import PLAN  # noqa: PLC0415 - as above

    def out(path: str, text: str, *, executable: bool = False) -> OutFile:
        return OutFile(path=f"{name}/{path}", text=text, executable=executable, profile=name)

    files = [out(PLAN, render_plan_file(several)), out("PLAN.md", render_review(several))]
    plan = several[0].plan
    if plan is not None and plan.memory is not None:
        files.append(out("memory.svg", render_picture(plan.memory, title=picture_title(name))))
    faults: tuple[Diagnostic, ...] = ()
    for each in several:
        if each.plan is not None:
            rendered = render_target(each.plan)
            faults = (*faults, *prove(each.plan, rendered))
            files += [
                out(f"{each.target_name}/{file.path}", file.text, executable=file.executable)
                for file in rendered
            ]
    return sorted(files, key=lambda each: each.path), faults
