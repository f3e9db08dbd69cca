"""A change as a comment on a pull request: short, with a table on top, and the details folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.diff import wording
from compiler.diff.comparing import ServiceChange
from compiler.diff.snapshot import Figures
from compiler.diff.trees import InputChange, TreeChange
from compiler.render.templates import fill
from compiler.value import Value


LONGEST = 60_000
"""Characters; GitHub takes a comment of 65,536."""

_MOST_ROWS = 50
_MOST_DETAILS = 20
_MOST_DIFFERENCES = 40
_MOST_FILES = 12
_LONGEST_VALUE = 160


@frozen(kw_only=True, eq=False, repr=False)
class Row(Value):
    """A service in the table on top."""

    name: str
    outcome: str
    pool: str
    needed: str
    margin: str
    verdict: str


@frozen(kw_only=True, eq=False, repr=False)
class Cells(Value):
    """A setting, flag, or variable that differs; `None` where a side has none."""

    name: str
    old: str | None
    new: str | None
    where: str


@frozen(kw_only=True, eq=False, repr=False)
class Details(Value):
    """What is folded away of a service."""

    title: str
    facts: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    kind: str
    differences: tuple[Cells, ...]
    files: tuple[tuple[str, str], ...]
    left_out: str | None


def render_markdown(change: TreeChange) -> str:
    """The comment; services whose details would make it too long for one stand in the table only."""
    details = min(_MOST_DETAILS, len(change.services))
    text = _render(change, details=details, inputs=_MOST_ROWS)
    while len(text) > LONGEST and details:
        details //= 2
        text = _render(change, details=details, inputs=_MOST_ROWS)
    return text if len(text) <= LONGEST else _render(change, details=0, inputs=0)


def _render(change: TreeChange, *, details: int, inputs: int) -> str:
    services = change.services
    left_out = len(services) - min(len(services), _MOST_ROWS)
    return fill(
        "diff.md.j2",
        headline=wording.headline(services),
        sides=f"From {change.old} to {change.new}",
        rows=tuple(_row(each) for each in services[:_MOST_ROWS]),
        more=f"and {left_out} more; `poolproof diff` shows them all" if left_out else None,
        details=tuple(_details(each) for each in services[:details]),
        inputs=tuple(_input(each) for each in change.inputs[:inputs]),
        notes=change.notes,
        nothing=wording.NOTHING,
    )


def _row(change: ServiceChange) -> Row:
    return Row(
        name=_cut(change.name),
        outcome=_outcome(change),
        pool=_both(*wording.sides(change, _pool)),
        needed=_both(*wording.sides(change, _needed)),
        margin=_both(*wording.sides(change, _margin)),
        verdict=_both(*wording.verdicts(change)),
    )


def _outcome(change: ServiceChange) -> str:
    restart = change.restart
    if restart is None or restart.start.expected_s is None:
        return wording.outcome(change)
    return f"{wording.outcome(change)}, down about {wording.minutes(restart.start.expected_s)} (estimate)"


def _both(old: str, new: str) -> str:
    return new if old == new else wording.between(old, new, by="→")


def _pool(figures: Figures) -> str:
    return figures.on_each(f"{figures.pool.best:,.0f}")


def _needed(figures: Figures) -> str:
    return figures.on_each(f"{figures.required_tokens:,}")


def _margin(figures: Figures) -> str:
    return f"{figures.margin.best:.2f}"


def _details(change: ServiceChange) -> Details:
    several = change.settings or (*change.options, *change.environment)
    files = [(f"out/{path}", state.value) for path, state in change.files]
    left = (len(several) - _MOST_DIFFERENCES, len(files) - _MOST_FILES)
    left_out = ", ".join(
        f"{count} more {what}"
        for count, what in zip(left, ("that differ", "files"), strict=True)
        if count > 0
    )
    return Details(
        title=f"{change.name}: {wording.outcome(change)}",
        facts=tuple(_facts(change)),
        lines=tuple(_lines(change)),
        kind="setting" if change.settings else "flag or variable",
        differences=tuple(
            Cells(
                name=_cut(each.name),
                old=None if each.old is None else _cut(wording.arrow(each)[0]),
                new=None if each.new is None else _cut(wording.arrow(each)[1]),
                where=wording.where(each),
            )
            for each in several[:_MOST_DIFFERENCES]
        ),
        files=tuple(files[:_MOST_FILES]),
        left_out=f"Left out here: {left_out}" if left_out else None,
    )


def _facts(change: ServiceChange) -> Iterator[tuple[str, str]]:
    for name, value in change.identity.items():
        before = change.identity_before.get(name)
        yield name, _cut(value) if before is None else f"{_cut(before)} -> {_cut(value)}"


def _lines(change: ServiceChange) -> Iterator[str]:
    yield from (f"because of `{each}`" for each in change.why)
    yield from (
        f"{what}: {wording.between(old, new, by='→')}"
        for what, old, new in wording.figure_lines(change)
    )
    yield from (f"found: {_code(each)}" for each in change.found)
    yield from (f"gone: {_code(each)}" for each in change.gone)
    if change.restart and change.restart.install:
        yield f"install first: {change.restart.install}"
    if change.restart:
        reasons = ", ".join(change.restart.reasons)
        yield f"restart ({reasons}): down {wording.downtime(change.restart)}"


def _code(finding: str) -> str:
    severity, _, code = finding.partition(" ")
    return f"{severity} `{code}`"


def _input(each: InputChange) -> tuple[str, str, str]:
    return f"profiles/{each.path}", each.state.value, _listed(each.profiles)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_FILES])
    rest = len(names) - _MOST_FILES
    return (f"{shown}, and {rest} more" if rest > 0 else shown) or "none"


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}..."
