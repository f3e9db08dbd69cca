"""A loop goes in; the values that its variable has in its turns come out, where the script says them itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.syntax import raw_text
from compiler.adopt.shell.words import Evaluator
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

MOST_TURNS = 64
"""Of a loop that starts servers; a host has no more GPUs."""
_MOST_SHOWN = 8
_RANGE = re.compile(r"\{(-?\d{1,6})\.\.(-?\d{1,6})\}")
_SEQ = re.compile(r"(?:\$\(|`)\s*seq\s+(?:(?P<first>[^\s()`]+)\s+)?(?P<last>[^\s()`]+)\s*(?:\)|`)")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_COUNTED = re.compile(
    r"\(\(\s*(?P<name>\w+)\s*=\s*(?P<first>\d{1,6})\s*;\s*(?P=name)\s*(?P<sign><=?)\s*\$?\{?(?P<last>\w+)\}?\s*;\s*"
    r"(?:(?P=name)\+\+|\+\+(?P=name)|(?P=name)\s*\+=\s*1)\s*\)\)"
)


@frozen(kw_only=True, eq=False, repr=False)
class Turns(Value):
    """The turns of a loop.

    Attributes:
        name: its variable.
        values: what that holds in each; `None` where it is known at start only.
        over: what it goes through, as it is written.
    """

    name: str
    values: tuple[Word, ...] | None
    over: str
    span: Span

    def until(self, text: str | None) -> tuple[Word, ...]:
        """The turns up to the one in which the variable has a value; none where there is no such turn."""
        values = self.values or ()
        at = next((at for at, each in enumerate(values) if each.text == text), None)
        return values[: at + 1] if at is not None else ()


def turns_of(node: Node, evaluator: Evaluator) -> Turns | None:
    """The turns of a `for`; `None` for any other loop."""
    span = evaluator.place(node)
    if node.type == "c_style_for_statement":
        return _counted(node, evaluator, span)
    variable = node.child_by_field_name("variable")
    if variable is None:
        return None
    over = node.children_by_field_name("value")
    values: list[Word] = []
    for each in over:
        values += _range(each, evaluator) or evaluator.words(each)
    is_known = bool(over) and len(values) <= MOST_TURNS and not any(e.unknown for e in values)
    return Turns(
        name=raw_text(variable),
        values=tuple(values) if is_known else None,
        over=" ".join(map(raw_text, over)),
        span=span,
    )


def told_of(turns: Turns, said: Mapping[str, str]) -> Change | None:
    """A word about a loop that starts a launch more than once; one that has a single turn is none."""
    values, name = turns.values, turns.name
    if values is not None and len(values) <= 1:
        return None
    own = 'each needs a unit name of its own, `unit = "..."` under `[targets.HOST]`'
    if values is None:
        text = f"a loop over `{turns.over}` starts the launch, which is known at start only, and the profile is one turn of it: say which, `--var {name}=...`; {own}"
        return Change(kind=ChangeKind.ASSUMED, text=text, span=turns.span, first=True)
    texts = [each.text for each in values]
    chosen = said.get(name) if said.get(name) in texts else None
    left = [f"`--var {name}={each}`" for each in dict.fromkeys(texts) if each != chosen]
    shown = ", ".join(left[:_MOST_SHOWN])
    shown += f", and {len(left) - _MOST_SHOWN} more" if len(left) > _MOST_SHOWN else ""
    which = (
        f"that with `{name}={chosen}`: adopt the others" if chosen else "one of them: adopt each"
    )
    text = (
        f"a loop starts the launch {len(texts)} times, and the profile is {which}, {shown}; {own}"
    )
    return Change(kind=ChangeKind.ASSUMED, text=text, span=turns.span, first=True)


def _range(node: Node, evaluator: Evaluator) -> Sequence[Word]:
    """`{0..3}` and `$(seq 0 3)`, whose ends may be variables."""
    raw = raw_text(node)
    found = _RANGE.fullmatch(raw)
    if found is not None:
        return _numbers(int(found[1]), int(found[2]), evaluator.place(node))
    sequence = _SEQ.fullmatch(raw)
    if sequence is None:
        return ()
    first, last = (_whole(sequence[each] or "1", evaluator) for each in ("first", "last"))
    if first is None or last is None or first > last:
        return ()
    return _numbers(first, last, evaluator.place(node))


def _counted(node: Node, evaluator: Evaluator, span: Span) -> Turns | None:
    """`for ((i = 0; i < 4; i++))`."""
    head = raw_text(node).removeprefix("for").partition("))")[0].strip() + "))"
    found = _COUNTED.fullmatch(head)
    if found is None:
        return None
    last = _whole(found["last"], evaluator)
    last = last - 1 if last is not None and found["sign"] == "<" else last
    values = _numbers(int(found["first"]), last, span) if last is not None else ()
    is_known = 0 < len(values) <= MOST_TURNS
    return Turns(
        name=found["name"], values=tuple(values) if is_known else None, over=head, span=span
    )


def _numbers(first: int, last: int, span: Span) -> Sequence[Word]:
    step = 1 if last >= first else -1
    several = range(first, last + step, step)[: MOST_TURNS + 1]
    return [Word(text=str(each), span=span) for each in several]


def _whole(text: str, evaluator: Evaluator) -> int | None:
    found = _VARIABLE.fullmatch(text)
    name = found[1] if found is not None else text
    value = None if name.isdecimal() else evaluator.value(name)
    told = name if name.isdecimal() else value.text if value is not None else ""
    return int(told) if told.isdecimal() and len(told) < len(str(10**6)) else None
