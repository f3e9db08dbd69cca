"""A change as text for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diff import wording
from compiler.diff.comparing import Difference, FileState, Restart, ServiceChange
from compiler.diff.trees import TreeChange
from compiler.report.cells import cells, shown


_SIGN = {FileState.NEW: "+", FileState.REMOVED: "-", FileState.CHANGED: "~"}
_NARROWEST = 24  # cells; what is narrower is worse to read than lines that run over


def render_text(change: TreeChange, *, width: int) -> str:
    """The change, a service a paragraph; each line ends in a newline."""
    blocks = [list(_service(each)) for each in change.services]
    inputs = list(_inputs(change))
    head = [(0, f"{change.old} -> {change.new}: {wording.headline(change.services)}")]
    return "\n".join(
        "".join(f"{line}\n" for indent, row in block for line in _wrapped(row, indent, width))
        for block in (head, *blocks, *([inputs] if inputs else []))
    )


Row = tuple[int, str]
"""An indent and a line."""


def _service(change: ServiceChange) -> Iterator[Row]:
    yield 0, f"{change.name}: {wording.outcome(change)}"
    if change.identity:
        yield 2, wording.identity(change)
    for each in change.why:
        yield 2, f"because of {each}"
    yield from _differences("settings", change.settings)
    yield from _differences("command line", change.options)
    yield from _differences("environment", change.environment)
    figures = list(wording.figure_lines(change))
    if figures:
        yield 2, "memory of one GPU"
        yield from (
            (4, f"{what}  {wording.between(old, new, by='->')}") for what, old, new in figures
        )
    old, new = wording.verdicts(change)
    if old != new and change.verdicts != (None, None) and new:
        yield 2, f"verdict  {wording.between(old, new, by='->')}"
    for each in change.found:
        yield 2, f"found    {each}"
    for each in change.gone:
        yield 2, f"gone     {each}"
    yield from _restart(change.restart)
    if change.files:
        yield 2, "files"
        yield from ((4, f"{_SIGN[state]} out/{path}") for path, state in change.files)


def _restart(restart: Restart | None) -> Iterator[Row]:
    if restart is None:
        return
    if restart.install:
        yield 2, f"install  {restart.install}"
    yield 2, f"restart  {', '.join(restart.reasons)}; down {wording.downtime(restart)}"


def _differences(title: str, several: tuple[Difference, ...]) -> Iterator[Row]:
    if several:
        yield 2, title
    for each in several:
        old, new = wording.arrow(each)
        where = wording.where(each)
        yield 4, f"{each.name}  {old} -> {new}" + (f"  {where}" if where else "")


def _inputs(change: TreeChange) -> Iterator[Row]:
    if change.inputs:
        yield 0, "changed below profiles/"
    for each in change.inputs:
        reached = ", ".join(each.profiles) or "no deployable profile"
        yield 2, f"{_SIGN[each.state]} {each.path}: {reached}"


def _wrapped(row: str, indent: int, width: int) -> Iterator[str]:
    """The row in lines that fit, broken between words; what follows its first line is indented more."""
    room = max(width - indent, _NARROWEST)
    text = shown(row)
    if cells(text) <= room:
        yield " " * indent + text
        return
    line, margin = "", indent
    words = text.split()
    if words[0] in _SIGN.values():
        words[:2] = [" ".join(words[:2])]
    for word in words:
        if line and cells(line) + 1 + cells(word) > room:
            yield " " * margin + line
            line, margin = word, indent + 2
            room = max(width - margin, _NARROWEST)
        else:
            line = f"{line} {word}" if line else word
    yield " " * margin + line
