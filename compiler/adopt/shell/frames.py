"""Files and functions that a script goes into, and comes back from with what they have set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from compiler.adopt.files import NO_FILES, Files
from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.declaring import evaluated
from compiler.adopt.shell.known import Known
from compiler.adopt.shell.redirects import Streams, redirects_of
from compiler.adopt.shell.sourcing import (
    find_sourced,
    is_sourced,
    kept_by,
    not_here,
    sourced,
    taken_from,
)
from compiler.adopt.shell.syntax import data_of, locals_of, place_of
from compiler.adopt.shell.words import Evaluator
from compiler.diagnostics import Span
from compiler.source import Source


if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CALLS = 200
"""Calls of functions that are followed; the longest public script has twenty."""


@define
class Frames:
    """Where a walk through a script is.

    Attributes:
        parse: what makes a tree of another file; `None` where it is no script.
        files: how the files are read that it takes over.
        sources: those that were read.
        untaken: how many of the branches it is in are known not to be taken.
        taken: what decided that, and what else holds for all commands behind it.
        calls: the functions it is in, and where they are called.
        undecided: how many of the branches it is in may be taken or not, of the function it is in.
        has_left: whether that function has returned.
        is_unsure: whether it may have, or may write elsewhere.
        streams: where the commands write.
        inside: the files it is in, of other scripts or of functions that stand there.
    """

    source: Source
    data: bytes
    known: Known
    parse: Callable[[Source], Node | None] = lambda _: None
    files: Files = NO_FILES
    sources: dict[str, Source] = field(factory=dict)
    untaken: int = 0
    taken: tuple[Change, ...] = ()
    functions: dict[str, tuple[Node, Source]] = field(factory=dict)
    called: set[str] = field(factory=set)
    calls: list[tuple[str, Span]] = field(factory=list)
    inside: list[str] = field(factory=list)
    followed: int = 0
    undecided: int = 0
    has_left: bool = False
    is_unsure: bool = False
    streams: Streams = field(factory=Streams)

    def statement(self, node: Node) -> None:
        """One statement."""
        raise NotImplementedError

    def statements(self, node: Node) -> None:
        """Every statement below a node, in order."""
        for child in node.named_children:
            self.statement(child)

    def place(self, node: Node) -> Span:
        """Where a node stands."""
        return place_of(node, self.source, self.data)

    def evaluator(self) -> Evaluator:
        """What makes words of nodes here."""
        return Evaluator(
            known=self.known, place=self.place, is_here=self._is_here, printed=self.printed
        )

    def printed(self, node: Node) -> Word | None:
        """What a command in `$(...)` prints."""
        raise NotImplementedError

    def call(self, node: Node, words: Sequence[Word]) -> bool:
        """Follow a function into its body; whether it is one."""
        function = self.functions.get(words[0].text) if words else None
        is_again = function is not None and any(name == words[0].text for name, _ in self.calls)
        if function is None or is_again or self.followed >= MOST_CALLS:
            return False
        body, source = function
        self.called.add(words[0].text)
        self.followed += 1
        self.calls.append((words[0].text, self.place(node)))
        before, outside = self.known, (self.streams, self.undecided)
        self.known = evolve(before, arguments=tuple(words[1:]))
        self.streams = self.streams.behind(redirects_of(body.parent or body))
        self.undecided = 0
        self.within(source, body)
        self.streams, self.undecided = outside
        self.has_left = False
        self.known = self.known.outside(before, own=locals_of(body))
        self.calls.pop()
        return True

    def leave(self) -> None:
        """Behind a `return`: nothing follows in its function, where it is certain."""
        if self.undecided:
            self.is_unsure = True
        elif not self.untaken:
            self.has_left = True

    def within(self, source: Source, node: Node) -> None:
        """The statements of another file, or of a function that stands there."""
        before = self.source, self.data
        self.source, self.data = source, data_of(source)
        self.inside.append(source.name)
        self.statements(node)
        self.inside.pop()
        self.source, self.data = before

    def behind_eval(self, words: Sequence[Word]) -> Known:
        """Behind `eval`, whose words are a text of the shell again."""
        root = self.parse(Source(self.source.name, " ".join(each.text for each in words[1:])))
        span = words[-1].span
        if root is None or span is None:
            return self.known
        evaluator = evolve(self.evaluator(), place=lambda _: span)
        return evaluated(root, evaluator, is_sure=not any(each.unknown for each in words))

    def take_over(self, words: Sequence[Word]) -> bool:
        """Take over a file of settings; whether that is what a command does."""
        path = sourced(words)
        if path is None or self.followed >= MOST_CALLS:
            return False
        self.followed += 1
        found = find_sourced(path, script=self.source.name, files=self.files)
        root = self.parse(found) if found is not None else None
        if found is not None and found.name in self.inside:
            return True
        if found is None or root is None:
            told: Change | None = not_here(path)
            self.known = self.known.opened()
        else:
            told, before = taken_from(path, found), self.known
            self.sources[found.name] = found
            self.within(found, root)
            self.known = kept_by(self.known, before, source=found, files=self.files)
        if told is not None and not self.untaken:
            self.taken = tuple(dict.fromkeys((*self.taken, told)))
        return True

    def _is_here(self, path: Word) -> bool:
        return is_sourced(path, self.source) and (
            find_sourced(path, script=self.source.name, files=self.files) is not None
        )
