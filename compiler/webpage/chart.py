"""Lines and bands in a frame: where each lies in a drawing, and the numbers along its edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from compiler.ranges import Range
from compiler.value import Value


WIDTH = 340
HEIGHT = 190
LEFT = 58
_RIGHT = 12
TOP = 10
BOTTOM = HEIGHT - 34


@frozen(kw_only=True, eq=False, repr=False)
class Series(Value):
    """One quantity over the sweep.

    Attributes:
        kind: the style it is drawn in: `have` for what is there, `need` for what is wanted of it.
        points: its place and its range, in order.
    """

    name: str
    kind: str
    points: tuple[tuple[float, Range], ...]


@frozen(kw_only=True, eq=False, repr=False)
class Tick(Value):
    """A number at an edge."""

    at: float
    text: str
    anchor: str = "middle"


@frozen(kw_only=True, eq=False, repr=False)
class Line(Value):
    """A series as the drawing has it: the corners of its band, and of its best estimate."""

    kind: str
    band: str
    best: str


@frozen(kw_only=True, eq=False, repr=False)
class Chart(Value):
    """A frame and what is in it; `own_x` is where the profile's own setting lies."""

    title: str
    lines: tuple[Line, ...]
    own_x: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str


def chart(
    title: str,
    series: Sequence[Series],
    *,
    own: float,
    across: Callable[[float], str],
    upwards: Callable[[float], str],
) -> Chart | None:
    """The chart of some series over the same places; `None` when there are fewer than two.

    `across` and `upwards` write the numbers of the two edges.
    """
    places = [at for each in series for at, _ in each.points]
    if len(set(places)) < 2:  # noqa: PLR2004 - one point is no line
        return None
    low, high = min(places), max(places)
    top = max(range_.high for each in series for _, range_ in each.points) or 1.0
    bottom = min(0.0, *(range_.low for each in series for _, range_ in each.points))

    def x(at: float) -> float:
        return LEFT + (at - low) / (high - low) * (WIDTH - LEFT - _RIGHT)

    def y(amount: float) -> float:
        return BOTTOM - (amount - bottom) / (top - bottom) * (BOTTOM - TOP)

    return Chart(
        title=title,
        lines=tuple(_line(each, x, y) for each in series),
        own_x=x(own),
        x_ticks=(
            Tick(at=x(low), text=across(low), anchor="start"),
            Tick(at=x((low + high) / 2), text=across((low + high) / 2)),
            Tick(at=x(high), text=across(high), anchor="end"),
        ),
        y_ticks=tuple(
            Tick(at=y(each), text=upwards(each)) for each in (bottom, (bottom + top) / 2, top)
        ),
        summary="; ".join(_summary(each, across=across, upwards=upwards) for each in series),
    )


def _line(series: Series, x: Callable[[float], float], y: Callable[[float], float]) -> Line:
    there = [(x(at), range_) for at, range_ in series.points]
    outline = [
        *((at, y(each.high)) for at, each in there),
        *((at, y(each.low)) for at, each in reversed(there)),
    ]
    return Line(
        kind=series.kind,
        band=_corners(outline),
        best=_corners([(at, y(each.best)) for at, each in there]),
    )


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _summary(
    series: Series, *, across: Callable[[float], str], upwards: Callable[[float], str]
) -> str:
    (first, low), (last, high) = series.points[0], series.points[-1]
    return f"{series.name} {upwards(low.best)} at {across(first)}, {upwards(high.best)} at {across(last)}"
