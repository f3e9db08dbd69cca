"""`poolproof why`: where a setting's value comes from, and what made a line of `out/`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import Session, open_session, show, write_lines
from compiler.diagnostics import Diagnostic, error
from compiler.inputs import resolve
from compiler.language.merge import Resolved
from compiler.language.spans import split_key
from compiler.origins import SettingPath
from compiler.why.history import History, histories
from compiler.workspace import OUT


WORDS = ('"fit"', '"auto"')
"""Values of settings that stand for another."""
_LINE = re.compile(r"(.+):([0-9]{1,9})")


@click.command(name="why", context_settings={"ignore_unknown_options": True})
@click.argument(
    "what",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="PROFILE KEY... | out/FILE:LINE...",
    shell_complete=completing.keys,
)
def command(what: tuple[str, ...]) -> int:
    """Say where a value comes from, or what made a line of out/.

    With a PROFILE and a KEY (memory.fraction, or its last part; a table such as memory; targets.*.user; or a flag such as
    --mem-fraction-static): who sets it, who lost, and why; of what nobody sets, what the plan has and what that comes from. With a line of a file below out/: the settings and the facts of the catalogue that it depends on.
    """
    lines = [line for each in what if (line := _LINE.fullmatch(each)) is not None]
    if len(lines) == len(what):
        return max(_explain_line(line[1], int(line[2])) for line in lines)
    if len(what) == 1:
        raise click.UsageError("give a PROFILE and a KEY, or a line as `out/FILE:LINE`")
    profile, *keys = what
    session, faults = open_session([profile])
    if session is None or not session.names:
        show(faults, session)
        return Exit.REFUSED
    resolved, found = resolve(session.names[0], session.inputs)
    show(found, session)
    if resolved is None:
        return Exit.REFUSED
    return max(_explain(key, resolved, session) for key in keys)


def _explain(key: str, resolved: Resolved, session: Session) -> Exit:
    path = split_key(key)
    several = histories(resolved, path) if path else ()
    # Of the table `flags` any key is a setting, whether or not the release has the flag, or spells it so.
    flag = path[1] if path and path[0] == "flags" and len(path) > 1 else None
    if not several or (flag is not None and not any(each.steps for each in several)):
        several = _taken_for(key, flag, resolved, session)
    wrong = _unknown(key, path, several, resolved, session)
    if wrong is not None:
        show((wrong,), session)
        return Exit.REFUSED
    told = ((*_history(each), *_unset(each, resolved, session)) for each in several)
    for at, lines in enumerate(told):
        write_lines(("", *lines) if at else lines)
    return Exit.OK


def _unset(history: History, resolved: Resolved, session: Session) -> Iterator[str]:
    """What a value is that nobody sets, or that stands for another, and what it comes from."""
    if history.value is not None and history.value not in WORDS:
        return
    from compiler.cli.whyunset import unset_lines  # noqa: PLC0415 - of a setting that is not set

    yield from unset_lines(history, resolved, session)


def _taken_for(
    key: str, flag: str | None, resolved: Resolved, session: Session
) -> tuple[History, ...]:
    """The histories of what a key stands for that is no setting itself: the last parts of one, a pattern, or a flag."""
    from compiler.cli.whyflag import setting_of_flag  # noqa: PLC0415 - a setting does without the engines
    from compiler.cli.whykey import meant  # noqa: PLC0415 - as above

    if flag is None and not key.startswith("-"):
        found = [each for path in meant(key, resolved) for each in histories(resolved, path)]
        if found:
            return tuple(found)
    setting = setting_of_flag(flag or key, resolved, session.inputs.catalog)
    return histories(resolved, setting) if setting else ()


def _unknown(
    key: str,
    path: SettingPath | None,
    several: tuple[History, ...],
    resolved: Resolved,
    session: Session,
) -> Diagnostic | None:
    """Why there is nothing to explain."""
    if any(each.steps for each in several) or (several and (not path or path[0] != "targets")):
        return None
    from compiler.cli.whykey import unknown_key, unknown_target  # noqa: PLC0415 - of a slip

    if several and path:
        return unknown_target(path, resolved)
    return unknown_key(key, resolved, session.inputs.catalog)


def _history(history: History) -> Iterator[str]:
    if history.value is not None:
        yield f"{history.setting} = {history.value}"
    elif history.default is not None:
        yield f"{history.setting} is not set; the default is {history.default}"
    else:
        yield f"{history.setting} is not set"
    places = [each.span.place for each in history.steps]
    wide = max(map(len, places), default=0)
    for place, step in zip(places, history.steps, strict=True):
        value = f"  {step.value}" if step.value and step.value != history.value else ""
        yield f"  {place.ljust(wide)}  {step.reason}{f':{value}' if value else ''}"
    yield from (f"  item {item}  {span.place}" for item, span in history.items)


def _explain_line(file: str, number: int) -> Exit:
    """Every line of a file is that of the profile whose folder of `out/` it is in."""
    from compiler.cli.whyline import explain_line  # noqa: PLC0415 - a setting does without templates

    session, faults = open_session(())
    if session is None:
        show(faults)
        return Exit.REFUSED
    path = _below_out(file, session)
    answer = _elsewhere(file) if path is None else explain_line(path, number, session)
    if isinstance(answer, Diagnostic):
        show((answer,), session)
        return Exit.REFUSED
    write_lines(answer)
    return Exit.OK


def _elsewhere(file: str) -> Diagnostic:
    is_profile = file.endswith(".toml")
    return error(
        "line-unknown",
        f"`{file}` is not below `{OUT}/`, and only what a compile wrote there has reasons",
        help=(
            f"name the file as it stands in the tree: `{OUT}/PROFILE/TARGET/FILE:LINE`",
            *(("of a setting ask by its name: `poolproof why PROFILE KEY`",) if is_profile else ()),
        ),
    )


def _below_out(file: str, session: Session) -> str | None:
    """The path below `out/`, from where the user is, or as from the tree's root; `None` for one elsewhere."""
    root = session.workspace.out.resolve()
    for start in (Path.cwd(), session.workspace.root):
        try:
            return (start / file).resolve().relative_to(root).as_posix()
        except (OSError, RuntimeError, ValueError):
            continue
    return None
