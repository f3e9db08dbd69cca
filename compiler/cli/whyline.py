"""What `why` says about one line of `out/`: what it depends on, each with its value and its place."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.cli.neighbours import names_beside
from compiler.cli.session import Session
from compiler.cli.whysources import EACH_RELEASE, source_lines
from compiler.diagnostics import Diagnostic, error
from compiler.inputs import resolve
from compiler.judged import Judged
from compiler.language.merge import Resolved
from compiler.pipeline import check_profiles, render_profile
from compiler.plan import Plan
from compiler.planner import look_up
from compiler.quantities import counted
from compiler.tree.places import MANIFEST
from compiler.why.files import line_of
from compiler.why.lines import Context, LineReasons
from compiler.workspace import OUT


def explain_line(path: str, number: int, session: Session) -> list[str] | Diagnostic:
    """The answer for a line of a file, by its path below `out/`; or why there is none.

    Errors: `line-unknown`.
    """
    name = _profile_of(path, session)
    if path == MANIFEST:
        return ["each line is the hash, the mode, and the profile of a file that a compile wrote"]
    if name is None:
        return _unknown(f"`{OUT}/{path}` is in the folder of no profile")
    beside = names_beside([name], session.inputs)
    several = check_profiles([name], session.inputs, beside=beside).judged
    resolved, _ = resolve(name, session.inputs)
    plan = several[0].plan if several else None
    refused = any(each.is_error for judged in several for each in judged.diagnostics)
    if resolved is None or plan is None or plan.target_name is None or refused:
        return _unknown(
            f"`{name}` does not compile, so nothing says what made the line",
            f"run `poolproof check {name}` to see why",
        )
    below = path.removeprefix(f"{name}/")
    rendered = _rendered(name, below, several)
    if rendered is None:
        return _unknown(f"no compile writes `{OUT}/{path}`")
    found = _same_line(rendered, number, path, session)
    if isinstance(found, Diagnostic):
        return found
    text = rendered[found]
    line = line_of(_context(several, plan, resolved, session), below, found)
    plans = tuple(each.plan for each in several if each.plan is not None)
    return [text.strip() or "(an empty line)", *_said(line, plans, resolved, session)]


def _profile_of(path: str, session: Session) -> str | None:
    """The profile in whose folder the file is: the longest name that fits."""
    names = [each for each in session.names if path.startswith(f"{each}/")]
    return max(names, key=len, default=None)


def _rendered(name: str, below: str, several: tuple[Judged, ...]) -> list[str] | None:
    files, _ = render_profile(name, several)
    text = next((each.text for each in files if each.path == f"{name}/{below}"), None)
    return None if text is None else _lines(text)


def _lines(text: str) -> list[str]:
    """The lines of a text; what stands behind its last line end is none."""
    return text.removesuffix("\n").split("\n")


def _same_line(rendered: list[str], number: int, path: str, session: Session) -> int | Diagnostic:
    """The line as it is compiled now, for a line of the file as it stands; the place counts from 0."""
    standing = session.workspace.out / path
    try:
        # A pipe or a device would be waited for without end.
        there = standing.is_file()
        lines = _lines(standing.read_text("utf-8", errors="replace")) if there else rendered
    except OSError:
        lines = rendered
    if not 1 <= number <= len(lines):
        return _unknown(f"`{OUT}/{path}` has {counted(len(lines), 'line')}, and no line {number}")
    text = lines[number - 1]
    if number <= len(rendered) and rendered[number - 1] == text:
        return number - 1
    same = [place for place, each in enumerate(rendered) if each == text]
    if len(same) == 1:
        return same[0]
    return _unknown(
        f"line {number} of `{OUT}/{path}` is not what the profiles give",
        "run `poolproof compile`, or `poolproof compile --check --diff` to see what differs",
    )


def _unknown(summary: str, *help_: str) -> Diagnostic:
    return error("line-unknown", summary, help=help_)


def _context(
    several: tuple[Judged, ...], plan: Plan, resolved: Resolved, session: Session
) -> Context:
    catalog = session.inputs.catalog
    facts, _, _ = look_up(plan.profile, catalog)
    versions = catalog.versions(plan.profile.engine.name)
    return Context(
        several=several,
        facts=facts,
        origins=resolved.origins,
        versions=versions[::EACH_RELEASE],
    )


def _said(
    line: LineReasons, plans: tuple[Plan, ...], resolved: Resolved, session: Session
) -> Iterator[str]:
    yield from (f"  from {each}" for each in line.notes)
    yield from source_lines(line.sources, plans, resolved, session.inputs.catalog)
    if not line.notes and not line.sources:
        yield "  nothing that can be changed a little changes this line"
