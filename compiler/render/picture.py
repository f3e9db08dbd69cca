"""memory.svg: the bars of a plan as a drawing that code hosts show inside PLAN.md. Nothing in it runs or is fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from compiler.bars import Bar, Part, memory_bars
from compiler.plan import Memory
from compiler.render.templates import fill
from compiler.value import Value


# All lengths are px of the drawing, which scales with its page. What is the same in every drawing stands in the
# template; these are where it leaves room.
WIDTH = 760
_MARGIN = 12
_BAR_WIDTH = WIDTH - 2 * _MARGIN
_BAR_BOTTOM = 50
_MARK_HEIGHT = 20
_LEGEND_HEIGHT = 18
_GAP = 14
_COLUMNS = 2
_CHARACTER = 6.4  # of a 12 px sans-serif font, on average
_LEGEND_CHARACTERS = int((_BAR_WIDTH / _COLUMNS - 20) / _CHARACTER)
COLOURS = 8
"""How many colours the style sheet has; more parts begin again."""


@frozen(kw_only=True, eq=False, repr=False)
class Box(Value):
    """A rectangle of a bar, `x` from its left end; `kind` is `sure`, `likely`, or `possible`."""

    x: float
    width: float
    kind: str
    colour: int
    title: str


@frozen(kw_only=True, eq=False, repr=False)
class Entry(Value):
    """A line of a legend, from the corner of its bar."""

    x: float
    y: float
    colour: int
    text: str


@frozen(kw_only=True, eq=False, repr=False)
class Rule(Value):
    """A mark across a bar, with how far it may lie off; the words stand to the left where the right has no room."""

    x: float
    low: float
    width: float
    text: str
    anchor: str


@frozen(kw_only=True, eq=False, repr=False)
class Drawn(Value):
    """One bar, `y` px below the top of the drawing."""

    title: str
    y: float
    boxes: tuple[Box, ...]
    rule: Rule | None
    legend: tuple[Entry, ...]
    height: float


def picture_title(name: str) -> str:
    """The title of a profile's drawing."""
    return f"memory of {name}"


def render_picture(memory: Memory, *, title: str) -> str:
    """The text of memory.svg."""
    return fill("memory.svg.j2", **picture_values(memory, title=title))


def picture_values(memory: Memory, *, title: str) -> dict[str, object]:
    """What the template of the drawing prints."""
    bars = memory_bars(memory)
    drawn: list[Drawn] = []
    y = float(_MARGIN)
    for bar in bars:
        drawn.append(_drawn(bar, y=y))
        y += drawn[-1].height + _GAP
    return {
        "title": title,
        "description": "; ".join(_sentence(bar) for bar in bars),
        "width": WIDTH,
        "height": y,
        "bars": tuple(drawn),
    }


def _sentence(bar: Bar) -> str:
    held = f", {bar.mark.name} {bar.ranged(bar.mark.at)}" if bar.mark else ""
    told = zip(bar.parts, bar.figures, strict=True)
    parts = ", ".join(f"{part.name} {figures}" for part, figures in told)
    return f"{bar.title}: {bar.ranged(bar.size)} {bar.unit}{held}; {parts}"


def _drawn(bar: Bar, *, y: float) -> Drawn:
    top = _BAR_BOTTOM + (_MARK_HEIGHT if bar.mark else 4)
    legend = tuple(_legend(bar, top=top)) if len(bar.parts) > 1 else ()
    rows = -(-len(legend) // _COLUMNS)
    return Drawn(
        title=f"{bar.title}: {bar.ranged(bar.size)} {bar.unit}",
        y=y,
        boxes=tuple(_boxes(bar)),
        rule=_rule(bar),
        legend=legend,
        height=top + rows * _LEGEND_HEIGHT,
    )


def _boxes(bar: Bar) -> Iterator[Box]:
    """Each part as far as it is sure, then as far as it is likely; what all of them may take beyond is one box."""
    start = 0.0
    for index, (part, figures) in enumerate(zip(bar.parts, bar.figures, strict=True)):
        sure, likely = part.size.low, part.size.best - part.size.low
        title = f"{part.name} {figures} {bar.unit}"
        if sure > 0:
            yield _box(bar, start, sure, kind="sure", colour=index % COLOURS, title=title)
        if likely > 0:
            yield _box(
                bar, start + sure, likely, kind="likely", colour=index % COLOURS, title=title
            )
        start += part.size.best
    if bar.size.high > start:
        beyond = bar.size.high - start
        title = f"possibly {bar.counted(beyond)} more"
        yield _box(bar, start, beyond, kind="possible", colour=0, title=title)


def _box(bar: Bar, start: float, size: float, *, kind: str, colour: int, title: str) -> Box:
    return Box(
        x=_place(bar, start),
        width=size / bar.whole * _BAR_WIDTH,
        kind=kind,
        colour=colour,
        title=title,
    )


def _place(bar: Bar, amount: float) -> float:
    return amount / bar.whole * _BAR_WIDTH if bar.whole else 0.0


def _rule(bar: Bar) -> Rule | None:
    if bar.mark is None:
        return None
    x = _place(bar, bar.mark.at.best)
    text = f"{bar.mark.name} {bar.ranged(bar.mark.at)}"
    fits = x + len(text) * _CHARACTER < _BAR_WIDTH
    low = _place(bar, bar.mark.at.low)
    return Rule(
        x=x,
        low=low,
        width=_place(bar, bar.mark.at.high) - low,
        text=text,
        anchor="start" if fits else "end",
    )


def _legend(bar: Bar, *, top: float) -> Sequence[Entry]:
    entries: list[Entry] = []
    for index, (part, figures) in enumerate(zip(bar.parts, bar.figures, strict=True)):
        row, column = divmod(index, _COLUMNS)
        entries.append(
            Entry(
                x=column * _BAR_WIDTH / _COLUMNS,
                y=top + row * _LEGEND_HEIGHT,
                colour=index % COLOURS,
                text=_short(part, figures),
            )
        )
    return entries


def _short(part: Part, figures: str) -> str:
    room = max(8, _LEGEND_CHARACTERS - len(figures) - 1)
    name = part.name if len(part.name) <= room else f"{part.name[: room - 3]}..."
    return f"{name} {figures}"
