"""The syntax tree of a script goes in, from top to bottom; its commands come out, and what it writes into files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from compiler.adopt.launch import Change, Command, Document, Word
from compiler.adopt.shell.conditions import (
    Condition,
    decide,
    decide_case,
    decide_clause,
    decide_loop,
)
from compiler.adopt.shell.frames import MOST_CALLS, Frames
from compiler.adopt.shell.here import fed, here_text, written_to
from compiler.adopt.shell.known import joined, open_word
from compiler.adopt.shell.printing import printed, prints_only
from compiler.adopt.shell.simple import NO_WORDS, read_simple
from compiler.adopt.shell.syntax import (
    counted_in,
    leaves,
    raw_text,
    set_in,
    split_clause,
)
from compiler.adopt.shell.turns import Turns, told_of, turns_of
from compiler.adopt.shell.variables import assigned, declared, learned, open_exports, unset


if TYPE_CHECKING:
    from tree_sitter import Node

_CLAUSES = frozenset({"elif_clause", "else_clause"})


@define
class Walk(Frames):
    """Goes through a script, and keeps what it has said; of one that `only_prints` the output alone counts.

    `loops` are words about the loops that it is in.
    """

    only_prints: bool = False
    commands: list[Command] = field(factory=list)
    documents: list[Document] = field(factory=list)
    loops: tuple[Change, ...] = ()
    _walks: Mapping[str, Callable[[Node], None]] = field(init=False, factory=dict)

    def script(self, root: Node) -> None:
        """A whole script; a function that nobody calls by its name is read at the end."""
        self.statements(root)
        for name, (body, source) in tuple(self.functions.items()):
            if name not in self.called:
                self.called.add(name)
                self.known = evolve(self.known, arguments=None)
                self._branches([(Condition(), partial(self.within, source, body))])

    def _run(self, nodes: Sequence[Node]) -> None:
        for each in nodes:
            self.statement(each)

    def __attrs_post_init__(self) -> None:
        """What is done with each kind of statement; all others are looked through."""
        self._walks = {
            "variable_assignment": self._assign,
            "declaration_command": self._declare,
            "unset_command": self._unset,
            "function_definition": self._define,
            "command": self._command,
            "redirected_statement": self._redirected,
            "if_statement": self._if,
            "case_statement": self._case,
            "list": self._list,
            "while_statement": self._loop,
            "for_statement": self._loop,
            "c_style_for_statement": self._loop,
            "subshell": self._apart,
            "compound_statement": self._compound,
        }

    def statement(self, node: Node) -> None:
        """One statement."""
        self._walks.get(node.type, self.statements)(node)

    def _assign(self, node: Node) -> None:
        self.known, _ = assigned(node, self.evaluator())

    def _declare(self, node: Node) -> None:
        told = tuple(open_exports(node, self.evaluator()))
        self.taken = tuple(dict.fromkeys((*self.taken, *told)))
        self.known = declared(node, self.evaluator())

    def _unset(self, node: Node) -> None:
        self.known = unset(node, self.known)

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[raw_text(name)] = (body, self.source)

    def _apart(self, node: Node) -> None:
        """A shell of its own, whose variables are gone behind it."""
        before = self.known
        self.statements(node)
        self.known = before

    def _compound(self, node: Node) -> None:
        """`{ ... }`, and `((...))`, which counts."""
        if node.children[0].type == "((":
            self.known = self.known.without(list(counted_in(node)))
        self.statements(node)

    def _branches(self, several: Sequence[tuple[Condition, Callable[[], None]]]) -> None:
        """Branches of which at most one is taken, each with its condition."""
        before, ends = self.known, []
        is_sure = False
        for condition, walk in several:
            self.known = before
            is_out = is_sure or condition.holds is False
            if condition.holds is not None:
                self.taken = tuple(dict.fromkeys((*self.taken, *condition.changes)))
            self.untaken += is_out
            walk()
            self.untaken -= is_out
            ends += [] if is_out else [self.known]
            is_sure = is_sure or condition.holds is True
        if not is_sure:
            ends.append(before)
        self.known = ends[0] if len(ends) == 1 else joined(before, ends)

    def _if(self, node: Node) -> None:
        several: list[tuple[Condition, Callable[[], None]]] = []
        for clause in (node, *(each for each in node.named_children if each.type in _CLAUSES)):
            condition, body = split_clause(clause)
            self._run(condition)
            told = decide_clause(condition, body, self.evaluator())
            several.append((told, partial(self._run, body)))
        self._branches(several)

    def _case(self, node: Node) -> None:
        several = decide_case(node, self.evaluator())
        self._branches([(told, partial(self._run, body)) for told, body in several])

    def _list(self, node: Node) -> None:
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
        self._branches([(told, partial(self.statement, right))])

    def _loop(self, node: Node) -> None:
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
        self._branches([(told, partial(self._turn, node, body, turns))])
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

    def _redirected(self, node: Node) -> None:
        """A command with what its input comes from, and its output goes to."""
        here = next((each for each in node.named_children if each.type == "heredoc_redirect"), None)
        if here is None:
            self.statements(node)
            return
        text, is_exact = here_text(here, self.evaluator())
        starts = [each for each in node.named_children if each.type not in NO_WORDS]
        behind = [each for each in here.named_children if not each.type.startswith("heredoc")]
        for each in (*starts, *behind):
            self._receive(each, text)
        target = written_to((*starts, *node.named_children, *behind), self.evaluator())
        if target is not None and text is not None:
            self.documents.append(Document(name=target, text=text, is_exact=is_exact))

    def _receive(self, node: Node, text: Word | None) -> None:
        """A command of a pipeline that begins with a here-document; what has parts of its own reads it itself."""
        if node.type == "command":
            self._command(node, text)
        elif node.type == "pipeline":
            for child in node.named_children:
                self._receive(child, text)
        else:
            self.statement(node)

    def _command(self, node: Node, text: Word | None = None) -> None:
        evaluator = self.evaluator()
        told = read_simple(node, evaluator, data=self.data, text=text)
        self.known, words, text = told.known, told.words, told.text
        if not self.call(node, words) and not self.take_over(words):
            self.commands.append(
                Command(
                    words=_given_text(words, text),
                    environment=self.known.environment,
                    changes=(*self.taken, *self.loops),
                    called=self.calls[0][1] if self.calls else None,
                    is_untaken=bool(self.untaken),
                )
            )
            self.known = learned(node, words, evaluator, text=text) if words else told.known
        if not self.only_prints:
            for child in node.named_children:
                self._inside(child)

    def printed(self, node: Node) -> Word | None:
        """What a command in `$(...)` prints: it is gone through for that, and changes nothing here."""
        bodies = {name: body for name, (body, _) in self.functions.items()}
        if self.followed >= MOST_CALLS or not prints_only(node, bodies):
            return None
        self.followed += 1
        walk = Walk(
            source=self.source,
            data=self.data,
            known=self.known,
            parse=self.parse,
            files=self.files,
            functions=dict(self.functions),
            calls=list(self.calls),
            followed=self.followed,
            only_prints=True,
        )
        walk.statements(node)
        self.followed = walk.followed
        told = printed(walk.commands)
        if told is None:
            return None
        return evolve(told, span=self.place(node), changes=(*told.changes, *walk.taken))

    def _inside(self, node: Node) -> None:
        """Commands of a substitution are commands, too."""
        for child in node.named_children:
            if child.type == "command_substitution":
                self.statements(child)
            else:
                self._inside(child)


def _given_text(words: tuple[Word, ...], text: Word | None) -> tuple[Word, ...]:
    """A command with the text that is its input: `cat` prints it."""
    if text is None:
        return words
    if len(words) == 1 and words[0].text == "cat":
        return (*words, text)
    return fed(words, text)
