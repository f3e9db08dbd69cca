"""`poolproof fit`: the smallest changes that keep a promise, or the most that it may ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
from attrs import evolve

from compiler.accept import STALE_CODE
from compiler.amend import stranger
from compiler.cli import completing
from compiler.cli.exits import Exit, exit_of
from compiler.cli.fitted import Answer, answer_json, answer_lines
from compiler.cli.fitwriting import UNCHOSEN, Number, name_of, write
from compiler.cli.neighbours import names_beside, tell_unseen
from compiler.cli.session import Session, open_session, print_json, show, write_lines
from compiler.diagnostics import Diagnostic, error, error_codes
from compiler.inputs import origins_in, resolve
from compiler.judged import Judged
from compiler.language.graph import link
from compiler.memory.outcome import MEMORY_CODES, Outcome, memory_outcome
from compiler.pipeline import check_profiles
from compiler.plan import Plan
from compiler.remedy.beside import Neighbours
from compiler.remedy.fitting import fit
from compiler.remedy.moves import memory_of
from compiler.remedy.objections import Rules, forced_in
from compiler.remedy.replanning import Replanner
from compiler.remedy.room import spare, the_most
from compiler.remedy.scales import Most
from compiler.remedy.trials import Trials
from compiler.remedy.waivers import only_stale, without_stale


_UNCERTAIN_BESIDE = "promise-uncertain-beside"
"""What neighbours do to the promise that refuses nothing, and that no change here is held to."""


@click.command(name="fit")
@click.argument("profile", shell_complete=completing.profiles)
@click.option(
    "--max",
    "most",
    type=click.Choice([each.value for each in Most]),
    help="Ask for the most of one thing instead, with the rest as it is; never for less than is promised now.",
)
@click.option(
    "--write",
    "number",
    type=Number(),
    is_flag=False,
    flag_value=UNCHOSEN,
    metavar="[N]",
    help="Write change N to the profile; comments and layout stay. Without N the first, where it keeps the whole promise.",
)
@click.option(
    "--in",
    "file",
    metavar="FILE",
    shell_complete=completing.profiles,
    help="Change this file instead: one that the profile extends, such as one that sets something by force.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def command(
    profile: str, *, most: str | None, number: int | None, file: str | None, as_json: bool
) -> int:
    """Find the smallest changes that keep a profile's promise.

    Each setting that can help is moved just far enough, alone or with one other. Of each change you see its price and
    both budgets after it; each passes the whole check. A profile that passes already is told what it has to spare.

    What keeps the whole promise comes before what gives up a part of it, and what gives up more than half comes last. Of
    each kind the certain changes come first, then the cheapest: what no client sees (the fraction, graphs of large
    batches), fewer requests or adapters at once, slower starts of long prompts, fewer GPUs for the attention of a request,
    accuracy (the KV dtype), a lower rank of adapters, more GPUs, and the draft's speed.

    A PROFILE is a path (profiles/k2.6-200k.toml) or a name (k2.6-200k). Exits 1 when nothing keeps the promise.
    """
    session, faults = open_session([profile])
    if session is None:
        return _fail(faults, session, as_json=as_json)
    found, beside, warned = _judged(session)
    if not isinstance(found, Judged):
        return _fail(found, session, as_json=as_json)
    plan = found.plan
    if plan is None:
        return _fail(found.diagnostics, session, as_json=as_json)
    if plan.memory is None:
        return _fail((*found.diagnostics, _unknown(found)), session, as_json=as_json)
    asked = None if most is None else Most(most)
    if file is not None and name_of(file) not in _made_of(plan, session):
        return _fail((stranger(plan.profile_name, name_of(file)),), session, as_json=as_json)
    answer = _answer(plan, found, session, asked, file=file, beside=beside)
    answer = evolve(answer, warned=warned)
    if number is not None:
        written = write(answer, number, session, file=file)
        if not isinstance(written, Answer):
            return _fail(written, session, as_json=as_json)
        answer = written
    _print(answer, session, as_json=as_json)
    return Exit.OK if answer.remedies or answer.spare is not None else Exit.REFUSED


def _judged(
    session: Session,
) -> tuple[Judged | tuple[Diagnostic, ...], Neighbours | None, tuple[Diagnostic, ...]]:
    """The service, on the first of its targets, with what its neighbours on all of them do to it; those; and of what they may do.

    Where it runs changes nothing about its own memory.
    """
    name = session.names[0]
    around = names_beside((name,), session.inputs)
    checked = check_profiles((name, *around), session.inputs, advised=False)
    own = [each for each in checked.judged if each.profile_name == name]
    if not own:
        return checked.diagnostics or (_no_target(name),), None, ()
    tell_unseen(
        [each.profile_name for each in checked.judged if each.plan is None and each not in own]
    )
    places = tuple(each.plan for each in own if each.plan is not None)
    others = tuple(
        each.plan for each in checked.judged if each.plan is not None and each not in own
    )
    beside = Neighbours(places=places, others=others) if places and others else None
    found = [each for one in own for each in one.diagnostics]
    warned: tuple[Diagnostic, ...] = ()
    if beside is not None:
        between = beside.findings(origins_in(session.inputs), session.inputs.catalog)
        found += [each for each in between if each.is_error]
        warned = tuple(each for each in between if each.code == _UNCERTAIN_BESIDE)
    return evolve(own[0], diagnostics=tuple(dict.fromkeys(found))), beside, warned


def _no_target(name: str) -> Diagnostic:
    return error(
        "profile-not-deployable",
        f"`{name}` has no target, so it promises nothing that could be fitted",
        help=("fit a profile that extends it; with `--in` the change is one to this file",),
    )


def _unknown(judged: Judged) -> Diagnostic:
    return error(
        "fit-impossible",
        f"`{judged.profile_name}` cannot be fitted: its memory is not known",
        help=("mend what is said above; a recorded boot or a catalogue entry fills a gap",),
    )


def _answer(
    plan: Plan,
    judged: Judged,
    session: Session,
    most: Most | None,
    *,
    file: str | None,
    beside: Neighbours | None,
) -> Answer:
    errors = [each for each in judged.diagnostics if each.is_error]
    standing = tuple(each for each in judged.standing if each.is_error)
    forced = _forced(judged, session, file=file)
    # A waiver that a change leaves stale goes with it, but for one that another file sets by force.
    stays = any(each.startswith("accept.") for each in forced)
    going = frozenset[str]() if stays else frozenset({STALE_CODE})
    rules = Rules(standing=standing, beside=beside, left_out=going)
    again = Replanner(plan=plan, catalog=session.inputs.catalog)
    trials = Trials(replan=again, rules=rules, forced=forced)
    others = tuple(each for each in errors if each.code not in MEMORY_CODES)
    answer = Answer(plan=plan, first=others, refused_by=error_codes(errors), most=most, into=file)
    if most is not None:
        furthest = the_most(most, plan, trials)
        answer = evolve(answer, short=furthest.short, remedies=furthest.remedies)
        answer = evolve(answer, pool_ends=furthest.pool_ends)
        return _placed(evolve(answer, plans=trials.count), session)
    outcome = memory_outcome(memory_of(plan))
    held = outcome <= Outcome.UNCERTAIN and not others
    if held:
        shares = beside is not None and beside.shares_gpus
        answer = evolve(answer, spare=spare(plan, trials), shares_gpus=shares)
    if going and {each.code for each in errors} == going:
        answer = evolve(answer, remedies=(only_stale(plan),))
    elif not held or outcome is not Outcome.PASSES:
        found = fit(plan, trials, refused=bool(errors))
        answer = evolve(answer, remedies=found.remedies, unhelpful=found.unhelpful)
    return _placed(evolve(answer, plans=trials.count), session)


def _placed(answer: Answer, session: Session) -> Answer:
    """The same, where each change takes out the waivers that it leaves stale, with where those stand."""
    remedies = tuple(without_stale(each) for each in answer.remedies)
    stale = {waiver for each in remedies for waiver in each.waivers}
    resolved = resolve(answer.plan.profile_name, session.inputs)[0] if stale else None
    if resolved is None:
        return answer
    found = {each: resolved.origins.primary(each).span for each in stale}
    places = {each: f"{span.file}:{span.line}" for each, span in found.items()}
    return evolve(answer, remedies=remedies, waivers=places)


def _made_of(plan: Plan, session: Session) -> Mapping[str, object]:
    """The files that the profile is made of, by their names."""
    graph, _ = link(session.inputs.reader, plan.profile_name, cache=session.inputs.documents)
    return {} if graph is None else graph.documents


def _forced(judged: Judged, session: Session, *, file: str | None) -> Mapping[str, str]:
    """The settings by force that a change would not touch, and where they are set."""
    if not any(each.code == "force-in-use" for each in judged.diagnostics):
        return {}
    resolved, _ = resolve(judged.profile_name, session.inputs)
    forced = {} if resolved is None else forced_in(resolved.origins)
    edited = judged.profile_name if file is None else name_of(file)
    return {setting: profile for setting, profile in forced.items() if profile != edited}


def _print(answer: Answer, session: Session, *, as_json: bool) -> None:
    if as_json:
        print_json(answer_json(answer))
        return
    if answer.chosen is None:  # else what was found stands no more as it was
        show((*answer.first, *answer.warned), session)
    write_lines(answer_lines(answer))


def _fail(found: Sequence[Diagnostic], session: Session | None, *, as_json: bool) -> Exit:
    from compiler.report.contract import check_json  # noqa: PLC0415 - on this path only

    if as_json:
        print_json(check_json(found, judged=()))
    else:
        show(found, session)
    return exit_of(found) or Exit.REFUSED
