"""`poolproof show`: one profile, merged and typed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from compiler.cli import completing
from compiler.cli.exits import Exit
from compiler.cli.session import Session, findings_json, open_session, print_json, width
from compiler.cli.session import show as show_findings
from compiler.diagnostics import Diagnostic
from compiler.edit.order import table_rank
from compiler.inputs import is_deployable, resolve
from compiler.language.merge import Resolved
from compiler.language.settings import Setting, all_settings
from compiler.language.spans import split_key
from compiler.language.structure import check_fragment, structure_profile
from compiler.language.written import key_toml
from compiler.pipeline import check_profiles
from compiler.why.history import History, histories
from compiler.why.reckoned import Reckoned, reckoned


@click.command(name="show")
@click.argument("profile", shell_complete=completing.profiles)
@click.option("--origins", is_flag=True, help="Say behind each setting which file sets it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the origins.")
def command(profile: str, *, origins: bool, as_json: bool) -> int:
    """Print a profile as it is after merging, in TOML, with the defaults in comments."""
    session, faults = open_session([profile])
    if session is None or not session.names:
        return _refused(faults, session, as_json=as_json)
    resolved, found = resolve(session.names[0], session.inputs)
    if resolved is not None:
        wrong = (
            structure_profile(resolved)[1] if is_deployable(resolved) else check_fragment(resolved)
        )
        found = (*found, *wrong)
    if resolved is None:
        return _refused(found, session, as_json=as_json)
    settings = histories(resolved, ())
    if as_json:
        _print_json(resolved, settings, found)
    else:
        show_findings(found, session)
        lines = _toml(resolved, _reckoned(session), origins=origins)
        sys.stdout.writelines(f"{line}\n" for row in lines for line in _fitted(row))
    return Exit.REFUSED if any(each.is_error for each in found) else Exit.OK


def _refused(found: Sequence[Diagnostic], session: Session | None, *, as_json: bool) -> Exit:
    """Say why there is nothing to print."""
    if as_json:
        print_json(
            {"schema": 1, "profile": None, "settings": {}, "defaults": {}, **findings_json(found)}
        )
    else:
        show_findings(found, session)
    return Exit.REFUSED


def _reckoned(session: Session) -> Mapping[str, Reckoned]:
    """What the plans have for settings that nobody sets; nothing for a fragment."""
    judged = check_profiles(session.names[:1], session.inputs, advised=False).judged
    return reckoned(tuple(each.plan for each in judged if each.plan is not None))


def _print_json(
    resolved: Resolved, settings: tuple[History, ...], found: Sequence[Diagnostic]
) -> None:
    content = {
        "schema": 1,
        "profile": resolved.name,
        "settings": {each.setting: _json(each) for each in settings if each.value is not None},
        "defaults": {
            history.setting: history.default
            for path in _default_paths(resolved)
            for history in histories(resolved, path)
            if history.default is not None
        },
        **findings_json(found),
    }
    print_json(content)


def _json(history: History) -> dict[str, object]:
    steps = [
        {
            "file": each.span.file,
            "line": each.span.line,
            "column": each.span.column,
            "value": each.value,
            "reason": each.reason,
        }
        for each in history.steps
    ]
    return {"value": history.value, "origin": steps[0], "others": steps[1:]}


def _real_paths(setting: Setting, resolved: Resolved) -> Iterator[tuple[str, ...]]:
    """The paths of a setting in this profile: one for each target, none in a table that is left out."""
    if setting.path[-1] == "*" or (
        setting.within and "*" not in setting.within and setting.within not in resolved.tables
    ):
        return
    if "*" not in setting.path:
        yield setting.path
        return
    table, _, *rest = setting.path
    entries = resolved.values.get(table)
    for key in entries if isinstance(entries, dict) else ():
        yield (table, key, *rest)


Row = tuple[str, str]
"""A line of TOML, and the comment behind it; empty where there is none."""


def _fitted(row: Row) -> Iterator[str]:
    """The row on one line; where a terminal is too narrow for it the comment stands on the next."""
    line, comment = row
    whole = f"{line}  # {comment}" if comment else line
    if not comment or not sys.stdout.isatty():
        yield whole
        return
    from compiler.report.cells import cells  # noqa: PLC0415 - only for a terminal

    if cells(whole) <= width():
        yield whole
        return
    yield line
    below = f"# {comment}"
    yield f"  {below}" if cells(below) + 2 <= width() else below


def _toml(resolved: Resolved, known: Mapping[str, Reckoned], *, origins: bool) -> Iterator[Row]:
    """The settings by table, in the order of the language; what is not set is a comment with its default."""
    yield f"# {resolved.name}, merged", ""
    tables: dict[tuple[str, ...], list[Row]] = {(): []}
    for path in (*resolved.origins.by_path, *_default_paths(resolved)):
        for history in histories(resolved, path):
            tables.setdefault(path[:-1], []).append(_row(path[-1], history, origins=origins))
    for setting, told in known.items():
        path = split_key(setting) or ()
        if path not in resolved.origins.by_path:
            row = (f"# {key_toml(path[-1])} = {told.value}", told.by)
            tables.setdefault(path[:-1], []).append(row)
    for table in ((), *sorted(tables.keys() - {()}, key=lambda each: (table_rank(each), each))):
        rows = tables[table]
        if table:
            # A table that nobody opened is not opened here either.
            opened = not all(line.startswith("# ") for line, _ in rows)
            yield "", ""
            yield f"{'' if opened else '# '}[{'.'.join(key_toml(key) for key in table)}]", ""
        yield from rows


def _default_paths(resolved: Resolved) -> Iterator[tuple[str, ...]]:
    """The settings with a default that no file sets, where the table around them stands."""
    for setting in all_settings():
        for path in _real_paths(setting, resolved):
            if path not in resolved.origins.by_path and setting.default is not None:
                yield path


def _row(key: str, history: History, *, origins: bool) -> Row:
    if history.value is None:
        return f"# {key_toml(key)} = {history.default}", "the default"
    return f"{key_toml(key)} = {history.value}", history.steps[0].span.place if origins else ""
