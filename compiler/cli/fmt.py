"""`poolproof fmt`: profiles in their canonical layout."""

from __future__ import annotations

import sys

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import Session, open_session, show
from compiler.diagnostics import Diagnostic, error
from compiler.edit.files import refusal, replace
from compiler.edit.formatting import Formatted, format_loaded
from compiler.language.load import file_of, load_document, name_fault
from compiler.quantities import counted


@click.command(name="fmt")
@click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=completing.files)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; show what would change, and exit 3 if anything would.",
)
def command(files: tuple[str, ...], *, check: bool) -> int:
    """Lay profiles out in one way; all of the tree when none is named.

    Tables stand in the order of the settings with one blank line between them, long numbers that count something are
    grouped (200_000), strings have double quotes, nothing is aligned. Comments stay with what they belong to, and no value
    changes. When one of the files cannot be formatted, none is written.

    A FILE is a path (profiles/k2.6-200k.toml) or a name (k2.6-200k).
    """
    session, faults = open_session(files)
    if session is None:
        show(faults, session)
        return Exit.REFUSED
    formatted, faults = _format(session)
    show(faults, session)
    if faults:
        click.echo("nothing was written", err=True)
        return Exit.REFUSED
    changed = [each for each in formatted if each.before != each.after]
    return _compare(changed) if check else _write(changed, session, total=len(formatted))


def _format(session: Session) -> tuple[list[Formatted], tuple[Diagnostic, ...]]:
    formatted: list[Formatted] = []
    faults: list[Diagnostic] = []
    for name in session.names:
        held = refusal(session.workspace.profiles, name)
        if held is not None:
            faults.append(held)
            continue
        loaded = load_document(session.inputs.reader, name)
        session.inputs.documents[name] = loaded
        made = format_loaded(name, loaded)
        if isinstance(made, Formatted):
            formatted.append(made)
        else:
            faults += made or (_missing(name),)
    return formatted, tuple(faults)


def _missing(name: str) -> Diagnostic:
    fault = name_fault(name)
    reason = "there is no such file" if fault is None else f"the name {fault}"
    return error("profile-missing", f"`{file_of(name)}` cannot be formatted: {reason}")


def _compare(changed: list[Formatted]) -> Exit:
    from compiler.tree.difftext import changed_lines  # noqa: PLC0415 - who writes compares nothing

    for each in changed:
        names = (file_of(each.name), file_of(each.name))
        sys.stdout.writelines(changed_lines(each.before, each.after, names=names))
    if not changed:
        click.echo("every profile is laid out", err=True)
        return Exit.OK
    click.echo(f"{counted(len(changed), 'file')} to lay out: run `poolproof fmt`", err=True)
    return Exit.STALE


def _write(changed: list[Formatted], session: Session, *, total: int) -> Exit:
    for each in changed:
        failed = replace(
            session.workspace.profiles, each.name, before=each.before, after=each.after
        )
        if failed is not None:
            show([failed], session)
            return Exit.MACHINE
        click.echo(f"laid out {file_of(each.name)}")
    left = total - len(changed)
    click.echo(f"{counted(len(changed), 'file')} laid out, {left:,} unchanged", err=True)
    return Exit.OK
