"""Memory as bars: what each part takes, how sure that is, and where the promise or the reserve ends. Drawn elsewhere."""

from __future__ import annotations

from functools import cached_property

from attrs import frozen

from compiler.plan import Memory
from compiler.ranges import Range, total
from compiler.value import Value


SMALL = 0.02
"""A part under this share of its bar is drawn with the other small ones."""


@frozen(kw_only=True, eq=False, repr=False)
class Part(Value):
    """One part of a bar, in the bar's unit."""

    name: str
    size: Range


@frozen(kw_only=True, eq=False, repr=False)
class Mark(Value):
    """A line across a bar: at the best estimate, and where it may be instead."""

    name: str
    at: Range


@frozen(kw_only=True, eq=False, repr=False, slots=False)
class Bar(Value):
    """Parts end to end, each as long as its best estimate.

    Attributes:
        title: what the whole is.
        unit: `tokens` or `GiB`.
        parts: in the order they are drawn.
        mark: what the parts are held against, if anything.
        within: where they end together, whatever each takes; `None` where that is not known.
    """

    title: str
    unit: str
    parts: tuple[Part, ...]
    mark: Mark | None = None
    within: Range | None = None

    @cached_property
    def size(self) -> Range:
        """All parts together."""
        each = total(each.size for each in self.parts)
        ends = self.within
        if ends is None or not ends.low <= each.best <= ends.high:
            return each  # a pool that is capped leaves a part of them unused
        return Range(max(each.low, ends.low), each.best, min(each.high, ends.high))

    @cached_property
    def whole(self) -> float:
        """Where the scale ends: nothing is drawn beyond it."""
        return max(self.size.high, self.mark.at.high if self.mark else 0.0)

    @cached_property
    def figures(self) -> tuple[str, ...]:
        """The size of each part as people read it."""
        return tuple(self.ranged(each.size) for each in self.parts)

    def written(self, amount: float) -> str:
        """An amount as people read it."""
        return f"{amount:,.0f}" if self.unit == "tokens" else f"{amount:,.2f}"

    def counted(self, amount: float) -> str:
        """An amount with its unit: `1 token`, `2.50 GiB`."""
        written = self.written(amount)
        return f"{written} {self.unit.removesuffix('s') if written == '1' else self.unit}"

    def ranged(self, amount: Range) -> str:
        """An amount that is known to a degree."""
        best = self.written(amount.best)
        if amount.is_exact:
            return best
        low, high = self.written(amount.low), self.written(amount.high)
        return best if low == high else f"{best} ({low} to {high})"


def memory_bars(memory: Memory) -> tuple[Bar, ...]:
    """The pool against the promise, the static budget, and what must fit into the reserve against it; of one GPU."""
    pool, reserve = memory.pool, memory.reserve
    static = tuple(Part(name=each.item, size=each.gib) for each in memory.static)
    needs = tuple(Part(name=each.item, size=each.gib) for each in memory.reserve_lines)
    return (
        Bar(
            title="KV pool against the promise",
            unit="tokens",
            parts=(Part(name="KV pool", size=pool.tokens),),
            mark=Mark(name="promised", at=Range.exactly(pool.required_tokens)),
        ),
        Bar(
            title="static budget of one GPU",
            unit="GiB",
            parts=_drawn(static),
            within=memory.free_before_load_gib.scaled(memory.fraction),
        ),
        Bar(
            title="needed in the reserve of one GPU",
            unit="GiB",
            parts=_drawn(needs),
            mark=Mark(name="reserve", at=reserve.available_gib),
        ),
    )


def _drawn(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts that can be seen, in their order; the small ones together at the end."""
    least = SMALL * sum(each.size.high for each in parts)
    small = [each for each in parts if each.size.high < least]
    if len(small) <= 1:
        return parts
    rest = Part(name=f"{len(small)} smaller items", size=total(each.size for each in small))
    return (*(each for each in parts if each.size.high >= least), rest)
