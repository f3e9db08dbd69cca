"""`poolproof diff`: what a change does, in deployment terms."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import click
from attrs import evolve

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import Session, columns, find_tree, open_session, show
from compiler.diagnostics import Diagnostic, error, reason_of
from compiler.diff.git import has_revision, read_revision
from compiler.diff.installed import compare_installed, no_plan, read_installed
from compiler.diff.sides import Side, side_of_folder, side_of_revision
from compiler.diff.trees import TreeChange, compare_trees
from compiler.judged import Checked
from compiler.language.load import file_of, name_of
from compiler.near import near
from compiler.pipeline import check_profiles
from compiler.workspace import PROFILES, is_file, is_folder, is_there
from compiler.writtenplan import PLAN


class Format(StrEnum):
    """How a change is shown."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


HEAD = "HEAD"
HERE = "the working tree"


@click.command(name="diff")
@click.argument(
    "words",
    nargs=-1,
    metavar="[REF|REF REF|REF..REF|DIR] [PROFILE]...",
    shell_complete=completing.revisions,
)
@click.option(
    "--format",
    "form",
    type=click.Choice([each.value for each in Format]),
    default=Format.TEXT.value,
    help="How the change is shown; markdown is a comment for a pull request.",
)
@click.option("--exit-code", is_flag=True, help="Exit 4 when something changes.")
def command(words: tuple[str, ...], *, form: str, exit_code: bool) -> int:
    """Compare the working tree's services with those of a git revision (HEAD), another folder, or an installed plan.

    REF is a commit, a branch, or a tag; DIR holds `profiles/`, or a `plan.json`. `REF..REF`, or `REF REF`, compares two
    revisions with each other, and the working tree with neither. Nothing is checked out or written.
    """
    how = Format(form)
    session, faults = open_session(())
    if session is None:
        return _refused(faults, None, how)
    base, later, asked = _base(words, session)
    named = find_tree(asked)
    if named.diagnostics:
        return _refused(named.diagnostics, session, how)
    new = _later(later, session)
    if isinstance(new, Diagnostic):
        return _refused((new,), session, how)
    # What is found is shown in the texts of the side that it was found in.
    session = evolve(session, inputs=new.inputs, names=new.names)
    checked = check_profiles(new.names, new.inputs, whole=True)
    change = _compare(base, new, session, checked, named.names)
    if isinstance(change, Diagnostic):
        return _refused((change,), session, how)
    errors = [each for each in checked.all_diagnostics if each.is_error]
    show(errors, session)
    fragments = _about_fragments(named.names, checked)
    about_out = () if later else _about_out(checked, session)
    change = evolve(change, notes=(*change.notes, *fragments, *about_out))
    for note in change.notes:
        click.echo(f"note: {note}", err=True)
    sys.stdout.write(_rendered(change, how, errors))
    if errors:
        return Exit.REFUSED
    return Exit.DIFFERENT if exit_code and change.services else Exit.OK


def _refused(found: Sequence[Diagnostic], session: Session | None, form: Format) -> int:
    """Say why there is nothing to compare, as an object too where one was asked for."""
    show(found, session)
    if form is Format.JSON:
        import json  # noqa: PLC0415 - one form a run

        from compiler.diff.contract import refused_json  # noqa: PLC0415 - one form a run

        sys.stdout.write(json.dumps(refused_json(found), indent=2) + "\n")
    return Exit.REFUSED


_TWO = re.compile(r"(?P<old>.*[^./])?\.\.(?P<new>[^./].*)?")
"""Two revisions (gitrevisions(7)), HEAD where one is left out; no part of a revision's name may be `..`, and of a path it stands alone."""


def _base(words: tuple[str, ...], session: Session) -> tuple[str, str, tuple[str, ...]]:
    """What to compare, with what (nothing for the working tree), and the profiles.

    The first word is a profile when it can be nothing else; the second is a revision where it is no profile.
    """
    if not words:
        return HEAD, "", ()
    first, *others = words
    root = session.workspace.root
    if _is_profile(first, session) and not is_folder(first) and not has_revision(root, first):
        return HEAD, "", words
    two = None if is_there(first) else _TWO.fullmatch(first)
    if two is not None:
        return two["old"] or HEAD, two["new"] or HEAD, tuple(others)
    if others and not _is_profile(others[0], session) and has_revision(root, others[0]):
        return first, others[0], tuple(others[1:])
    return first, "", tuple(others)


def _is_profile(word: str, session: Session) -> bool:
    return name_of(word.removeprefix("./")) in session.names


def _later(later: str, session: Session) -> Side | Diagnostic:
    """The side that is compared: the working tree, where no other is named."""
    if later:
        revision = read_revision(session.workspace.root, later)
        return revision if isinstance(revision, Diagnostic) else side_of_revision(revision)
    try:
        return side_of_folder(session.workspace.profiles, label=HERE, inputs=session.inputs)
    except OSError as fault:
        return _unreadable(fault, HERE)


def _unreadable(fault: OSError, base: str) -> Diagnostic:
    reason = reason_of(fault)
    return error("profile-unreadable", f"`{fault.filename or base}` cannot be read: {reason}")


def _compare(
    base: str, here: Side, session: Session, checked: Checked, names: tuple[str, ...]
) -> TreeChange | Diagnostic:
    """The change from what `base` names. A folder is what it holds; one that holds neither may be a revision's name."""
    if not base:
        return error("revision-unknown", "the name of the revision is empty")
    folder = Path(base)
    is_tree = is_folder(folder / PROFILES)
    try:
        if not is_tree and _holds_plan(folder):
            return _missing(names, here.names) or _from_plan(folder, here, checked, names)
        old = side_of_folder(folder / PROFILES, label=base) if is_tree else _revision(base, session)
    except OSError as fault:
        return _unreadable(fault, base)
    if isinstance(old, Diagnostic):
        return old
    missing = _missing(names, (*old.names, *here.names))
    return missing or compare_trees(old, here, checked=checked, only=names)


def _holds_plan(folder: Path) -> bool:
    """Whether it is that of a profile or a generation, or the folder of a target, whose plan stands above it."""
    return is_file(folder / PLAN) or (is_folder(folder) and is_file(folder.parent / PLAN))


def _revision(base: str, session: Session) -> Side | Diagnostic:
    revision = read_revision(session.workspace.root, base)
    if not isinstance(revision, Diagnostic):
        return side_of_revision(revision)
    if is_folder(base) and revision.code == "revision-unknown":
        return no_plan(Path(base))
    if is_file(base) and revision.code == "revision-unknown":
        return _a_file(Path(base))
    return revision


def _a_file(path: Path) -> Diagnostic:
    """A plan is named by its folder."""
    return error(
        "revision-unknown",
        f"`{path}` is a file, and neither a revision nor a folder",
        help=(f"name its folder: `poolproof diff {path.parent}`",) if path.name == PLAN else (),
    )


def _from_plan(
    folder: Path, here: Side, checked: Checked, names: tuple[str, ...]
) -> TreeChange | Diagnostic:
    is_target = not is_file(folder / PLAN)
    place = folder.parent if is_target else folder
    installed = read_installed(place, target=folder.resolve().name if is_target else None)
    if isinstance(installed, Diagnostic):
        return installed
    return compare_installed(installed, here, checked=checked, label=str(place / PLAN), only=names)


def _missing(names: Sequence[str], known: Sequence[str]) -> Diagnostic | None:
    unknown = [each for each in names if each not in known]
    if not unknown:
        return None
    similar = near(unknown[0], known)
    return error(
        "profile-missing",
        f"there is no profile `{unknown[0]}` on either side",
        help=(f"a profile with a similar name exists: `{similar}`",) if similar else (),
    )


def _about_fragments(names: Sequence[str], checked: Checked) -> Iterator[str]:
    """What was asked for and is no service, and where its services are named."""
    for name in names:
        if name in checked.fragments:
            yield f"`{name}` is a fragment, and no service: `poolproof affected {file_of(name)}` names those made of it"


def _about_out(checked: Checked, session: Session) -> list[str]:
    """That `out/` is not what the profiles give, so that what is committed says something else than this."""
    from compiler.pipeline import render_checked  # noqa: PLC0415 - as `compile --check` does
    from compiler.tree import OutTree, compare  # noqa: PLC0415 - as above

    if checked.refused:
        return []
    if not session.workspace.out.is_dir():
        return ["there is no `out/` yet: the files below are those that `poolproof compile` writes"]
    tree = render_checked(checked)
    if isinstance(tree, OutTree):
        comparison = compare(tree, root=session.workspace.out, profiles=None)
        if not comparison.is_current():
            return [
                "`out/` is not what the profiles give: run `poolproof compile`, and commit it too"
            ]
    return []


def _rendered(change: TreeChange, form: Format, errors: Sequence[Diagnostic]) -> str:
    match form:
        case Format.TEXT:
            from compiler.diff.text import render_text  # noqa: PLC0415 - one form a run

            return render_text(change, width=columns())
        case Format.MARKDOWN:
            from compiler.diff.markdown import render_markdown  # noqa: PLC0415 - one form a run

            return render_markdown(change)
        case Format.JSON:
            import json  # noqa: PLC0415 - one form a run

            from compiler.diff.contract import diff_json  # noqa: PLC0415 - one form a run

            return json.dumps(diff_json(change, errors), indent=2) + "\n"
