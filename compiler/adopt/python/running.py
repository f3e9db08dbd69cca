"""A call of a program goes in; the command that it runs comes out, with its variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from attrs import define, field

from compiler.adopt.launch import Change, Command, Word
from compiler.adopt.parts import speaks_of_engine
from compiler.adopt.python.expressions import Expressions, called_name
from compiler.adopt.python.values import Known, Listing, Scalar, Table, text_of
from compiler.engines.adopting import ChangeKind


_RUNS = re.compile(
    r"run|popen|call|output|exec|system|spawn|shell|launch|start|command|cmd|ssh", re.IGNORECASE
)
_PRINTING = "print pprint info debug warning error exception log echo secho write markdown"
_MAKING = "join len str list tuple set sorted repr copy isinstance dumps"
_ADDING = "append extend insert index add_argument ArgumentParser"
_SAYS = frozenset(f"{_PRINTING} {_MAKING} {_ADDING}".split())
"""Calls to which a launch is text."""
_ENVIRONMENT = "env"
_FEWEST = 3
"""Words of a launch that are given as arguments one by one: a Python, `-m`, and a module."""


@define
class Running:
    """Keeps what the calls of a program run.

    Attributes:
        commands: so far.
        environment: the variables that the program has set for itself.
    """

    commands: list[Command] = field(factory=list)
    environment: dict[str, Word] = field(factory=dict)
    _known: set[int] = field(factory=set)

    def visit(self, node: ast.expr | None, told: Expressions) -> None:
        """All calls in an expression, an outer one first."""
        for each in ast.walk(node) if node is not None else ():
            if isinstance(each, ast.Call) and called_name(each) not in _SAYS:
                self._call(each, told)

    def left(self, listing: Listing) -> Iterator[Command]:
        """A list that goes nowhere, where it speaks of an engine."""
        if id(listing) not in self._known and _speaks(listing.words):
            yield Command(words=tuple(listing.words), environment=dict(self.environment))

    def _call(self, node: ast.Call, told: Expressions) -> None:
        named = {each.arg: each.value for each in node.keywords if each.arg is not None}
        table = told.value(named[_ENVIRONMENT]) if _ENVIRONMENT in named else None
        given = [
            *(each.value if isinstance(each, ast.Starred) else each for each in node.args),
            *(value for name, value in named.items() if name != _ENVIRONMENT),
        ]
        several = [told.value(each) for each in given]
        if len(node.args) >= _FEWEST and all(isinstance(each, Scalar) for each in several):
            words = list(told.words(node.args))
            if _speaks(words):
                self._run(words, table, node, told)
                return
        for known in several:
            if isinstance(known, Listing):
                if _speaks(known.words):
                    known.is_spent = True
                    if id(known) not in self._known:
                        self._known.add(id(known))
                        self._run(known.words, table, node, told)
            elif _RUNS.search(called_name(node)):
                word = text_of(known)
                if word is not None and speaks_of_engine(word.text) and " " in word.text:
                    self._run([Word(text="bash"), Word(text="-c"), word], table, node, told)

    def _run(
        self, words: list[Word], table: Known | None, node: ast.Call, told: Expressions
    ) -> None:
        environment = dict(self.environment)
        changes: tuple[Change, ...] = ()
        if isinstance(table, Table):
            environment |= {
                name: text_of(known) or told.unknown(node).word
                for name, known in table.entries.items()
            }
        elif table is not None:
            shown = text_of(table)
            text = f"the variables of `{_ENVIRONMENT}={shown.text if shown else '...'}` are not known before the start"
            changes = (Change(kind=ChangeKind.UNKNOWN, text=text, span=told.place(node)),)
        self.commands.append(Command(words=tuple(words), environment=environment, changes=changes))


def _speaks(words: list[Word]) -> bool:
    return any(speaks_of_engine(each.text) for each in words)
