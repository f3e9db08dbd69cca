"""Branches and loops of a script, and what is known behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, field

from compiler.adopt.launch import Change, Command, Document
from compiler.adopt.shell.conditions import (
    Condition,
    decide,
    decide_case,
    decide_clause,
    decide_loop,
)
from compiler.adopt.shell.frames import MOST_CALLS, Frames
from compiler.adopt.shell.known import joined, open_word
from compiler.adopt.shell.syntax import leaves, set_in, split_clause
from compiler.adopt.shell.turns import Turns, told_of, turns_of


if TYPE_CHECKING:
    from tree_sitter import Node

_CLAUSES = frozenset({"elif_clause", "else_clause"})


@define
class Branches(Frames):
    """Where a walk is, what it has found, and how it goes through what may be done once, often, or not at all.

    `loops` are words about the loops that it is in.
    """

    commands: list[Command] = field(factory=list)
    documents: list[Document] = field(factory=list)
    loops: tuple[Change, ...] = ()

    def _run(self, nodes: Sequence[Node]) -> None:
        for each in nodes:
            self.statement(each)

    def branches(self, several: Sequence[tuple[Condition, Callable[[], None]]]) -> None:
        """Branches of which at most one is taken, each with its condition."""
        before, ends = self.known, []
        is_sure = False
        for condition, walk in several:
            self.known = before
            is_out = is_sure or condition.holds is False
            if condition.holds is not None:
                self.taken = tuple(dict.fromkeys((*self.taken, *condition.changes)))
            is_open = not is_out and condition.holds is None
            self.untaken += is_out
            self.undecided += is_open
            walk()
            self.untaken -= is_out
            self.undecided -= is_open
            ends += [] if is_out else [self.known]
            is_sure = is_sure or condition.holds is True
        if not is_sure:
            ends.append(before)
        self.known = ends[0] if len(ends) == 1 else joined(before, ends)

    def if_(self, node: Node) -> None:
        """Its clauses."""
        several: list[tuple[Condition, Callable[[], None]]] = []
        for clause in (node, *(each for each in node.named_children if each.type in _CLAUSES)):
            condition, body = split_clause(clause)
            self._run(condition)
            told = decide_clause(condition, body, self.evaluator())
            several.append((told, partial(self._run, body)))
        self.branches(several)

    def case_(self, node: Node) -> None:
        """Its patterns."""
        several = decide_case(node, self.evaluator())
        self.branches([(told, partial(self._run, body)) for told, body in several])

    def list_(self, node: Node) -> None:
        """`a && b`, `a || b`: what stands behind a test hangs on it."""
        if len(node.children) != len(("left", "sign", "right")):
            self.statements(node)
            return
        left, sign, right = node.children
        self.statement(left)
        told = decide(left, self.evaluator())
        if sign.type == "&&" and not told.is_test:
            # One step after the other, each of which works out.
            self.statement(right)
            return
        told = told if sign.type == "&&" else told.negated()
        told = Condition() if told.holds and leaves([right]) else told
        self.branches([(told, partial(self.statement, right))])

    def loop_(self, node: Node) -> None:
        """Its body, which may be done once or often."""
        body = node.child_by_field_name("body")
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self.statement(condition)
        told = decide_loop(node, self.evaluator())
        turns = turns_of(node, self.evaluator())
        is_said = turns is not None and turns.name in self.known.said
        if turns is not None and not is_said:
            only = turns.values[0] if turns.values is not None and len(turns.values) == 1 else None
            self.known = self.known.with_text(turns.name, only or open_word(turns.name))
        if body is None:
            return
        before = self.loops
        if turns is not None and told.holds is not False:
            self.loops = (*before, *filter(None, (told_of(turns, self.known.said),)))
        self.branches([(told, partial(self._turn, node, body, turns))])
        self.loops = before

    def _turn(self, node: Node, body: Node, turns: Turns | None) -> None:
        """The body of a loop: the turn that is said behind those before it, else any of its turns."""
        names = [each for each in set_in(node) if each not in self.known.said]
        until = turns.until(self.known.said.get(turns.name)) if turns is not None else ()
        if turns is None or not until or self.followed + len(until) > MOST_CALLS:
            # What one turn sets, the next one has.
            self.known = self.known.without(names)
            self.statements(body)
            return
        self.followed += len(until)
        for each in until:
            count = len(self.commands), len(self.documents)
            self.known = self.known.with_text(turns.name, each)
            self.statements(body)
            if each is not until[-1]:
                # Other turns start launches of their own.
                del self.commands[count[0] :], self.documents[count[1] :]
