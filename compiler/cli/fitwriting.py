"""One change of those that `fit` found, by its number, written to the profile's file."""

from __future__ import annotations

import click
from attrs import evolve

from compiler.amend import Amended, Amendment, amend
from compiler.cli.fitted import Answer, given_away
from compiler.cli.session import Session, find_tree
from compiler.diagnostics import Diagnostic, error
from compiler.edit.files import refusal, replace


UNCHOSEN = 0
"""Stands for the number of a change where none is given."""


class Number(click.ParamType[int]):
    """The number of a change."""

    name = "N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """As click has it; what is no number may be the profile, behind an option that takes none."""
        if value == UNCHOSEN:
            return UNCHOSEN
        text = str(value)
        if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 3 and int(text)):  # noqa: PLR2004 - never a thousand changes
            self.fail(
                f"`{text}` is no number of a change; write the profile first: `poolproof fit PROFILE --write`",
                param,
                ctx,
            )
        return int(text)


def write(
    answer: Answer, number: int, session: Session, *, file: str | None
) -> Answer | tuple[Diagnostic, ...]:
    """Write one change, proved before; the findings say why not."""
    if number == UNCHOSEN:
        dear = given_away(answer) if answer.remedies else None
        if dear is not None:
            return (_unchosen(answer, dear),)
        number = 1
    if number > len(answer.remedies):
        return (_no_such_change(answer, number),)
    name = answer.plan.profile_name
    target = name if file is None else name_of(file)
    remedy = answer.remedies[number - 1]
    held = refusal(session.workspace.profiles, target)
    if held is not None:
        return (held,)
    wanted = Amendment(profile=name, settings=remedy.settings, plan=remedy.plan, file=target)
    amended = amend(wanted, session.inputs)
    if not isinstance(amended, Amended):
        return amended
    done = evolve(answer, chosen=number, file=target, also=amended.also)
    if amended.before == amended.after:
        return evolve(done, stood=True)
    failed = replace(session.workspace.profiles, target, before=amended.before, after=amended.after)
    return (failed,) if failed else done


def _unchosen(answer: Answer, dear: str) -> Diagnostic:
    first = answer.remedies[0]
    return error(
        "fit-unchosen",
        f"change 1 {dear}, and no number was given: nothing is written",
        notes=(f"it is {first}", *(f"it costs: {loss}" for loss in first.loses)),
        help=("choose one of the list by its number: `--write 1`",),
    )


def name_of(file: str) -> str:
    """The name of the profile that a file is given by."""
    names = find_tree([file]).names
    return names[0] if names else file


def _no_such_change(answer: Answer, number: int) -> Diagnostic:
    count = len(answer.remedies)
    if not count and answer.spare is not None:
        return error("fit-impossible", "there is nothing to write: the promise holds already")
    there = f"there {'is' if count == 1 else 'are'} {count or 'none'}"
    return error("fit-impossible", f"there is no change {number} to write; {there}")
