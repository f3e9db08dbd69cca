"""`poolproof compile`: check, render, and write `out/` or compare with it."""

from __future__ import annotations

import sys

import click
from attrs import evolve

from compiler.accept import strictly
from compiler.cli import completing
from compiler.cli.exits import Exit, exit_of
from compiler.cli.neighbours import check_asked, tell_unseen
from compiler.cli.session import Format, Session, open_session, show, write_lines
from compiler.diagnostics import Diagnostic, error
from compiler.judged import Checked
from compiler.pipeline import render_checked
from compiler.quantities import counted
from compiler.report.verdicts import verdict_lines
from compiler.tree import Comparison, OutTree, State, Written, compare, unified_diff, write


@click.command(name="compile")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...", shell_complete=completing.profiles)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 3 if out/ is not what the profiles give."
)
@click.option("--diff", is_flag=True, help="With --check, show what would change.")
@click.option(
    "--strict",
    is_flag=True,
    help="Treat every warning as an error, and with --check foreign files too.",
)
@click.option(
    "--overwrite", is_flag=True, help="Write over files that were edited by hand or are not ours."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([Format.TEXT.value, Format.GITHUB.value]),
    default=Format.TEXT.value,
    help="How findings are shown.",
)
def command(
    profiles: tuple[str, ...], *, check: bool, diff: bool, strict: bool, overwrite: bool, form: str
) -> int:
    """Write units, env files and launch scripts below out/.

    Without a PROFILE every deployable profile is compiled, and what no profile gives any more is removed. With names only
    their folders are written; what else runs on their hosts is looked at beside them.
    """
    if diff and not check:
        raise click.UsageError("--diff goes with --check")
    how = Format(form)
    session, faults = open_session(profiles)
    checked = Checked(judged=(), diagnostics=faults) if session is None else _check(session)
    checked = strictly(checked) if strict else checked
    show(checked.all_diagnostics, session, form=how)
    if session is None or checked.refused:
        return _refuse(checking=check)
    tree = render_checked(checked)
    if not isinstance(tree, OutTree):
        show(tree, session, form=how)
        return _refuse(checking=check)
    if check:
        return _compare(tree, session, diff=diff, strict=strict, form=how)
    return _write(tree, session, checked, overwrite=overwrite, form=how)


def _check(session: Session) -> Checked:
    checked = check_asked(session)
    tell_unseen(checked.unseen)
    if not session.named:
        return checked
    written = {each.profile_name for each in checked.judged}
    fragments = tuple(_not_deployable(name) for name in session.names if name not in written)
    return evolve(checked, diagnostics=(*checked.diagnostics, *fragments))


def _not_deployable(name: str) -> Diagnostic:
    return error(
        "profile-not-deployable",
        f"`{name}` has no target, so there is nothing to write for it",
        help=("compile a profile that extends it, or give it a `[targets.NAME]`",),
    )


def _refuse(*, checking: bool) -> Exit:
    if not checking:
        click.echo("nothing was written", err=True)
    return Exit.REFUSED


def _write(
    tree: OutTree, session: Session, checked: Checked, *, overwrite: bool, form: Format
) -> Exit:
    done = write(tree, root=session.workspace.out, profiles=_scope(session), overwrite=overwrite)
    if not isinstance(done, Written):
        show(done, session, form=form)
        return exit_of(done)
    write_lines(verdict_lines(checked.judged))
    sys.stdout.writelines(f"removed out/{path}\n" for path in done.removed)
    if done.resumed:
        click.echo("an earlier run was cut off; it is finished now", err=True)
    files = counted(len(done.written), "file")
    click.echo(f"wrote {files} below out/, {done.unchanged:,} unchanged")
    return Exit.OK


def _scope(session: Session) -> frozenset[str] | None:
    return frozenset(session.names) if session.named else None


_MEANING = {
    State.STALE: "its inputs changed",
    State.EDITED: "edited by hand",
    State.MISSING: "not there",
    State.ORPHAN: "no profile gives it any more",
    State.BLOCKED: "something else stands in its place",
    State.FOREIGN: "not ours, left alone",
}


def _compare(tree: OutTree, session: Session, *, diff: bool, strict: bool, form: Format) -> Exit:
    comparison = compare(tree, root=session.workspace.out, profiles=_scope(session))
    show(comparison.diagnostics, session, form=form)
    for each in comparison.differences:
        notes = "".join(f"; {note}" for note in each.notes)
        click.echo(f"{each.state.value:<8} out/{each.path} ({_MEANING[each.state]}{notes})")
    if diff:
        sys.stdout.write(unified_diff(comparison))
    if comparison.diagnostics:
        return exit_of(comparison.diagnostics)
    if comparison.is_current(strict=strict):
        click.echo("out/ is what the profiles give", err=True)
        return Exit.OK
    click.echo(_way_out(comparison), err=True)
    return Exit.STALE


def _way_out(comparison: Comparison) -> str:
    if comparison.of(State.EDITED, State.BLOCKED):
        return "move the edit into a profile, then run `poolproof compile --overwrite` and review the diff"
    return "run `poolproof compile` and commit the result"
