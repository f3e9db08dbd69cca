"""The syntax tree of a script goes in, from top to bottom; its commands come out, and what it writes into files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from compiler.adopt.launch import Command, Document, Word
from compiler.adopt.shell.branches import Branches
from compiler.adopt.shell.conditions import (
    Condition,
)
from compiler.adopt.shell.declaring import declared
from compiler.adopt.shell.frames import MOST_CALLS
from compiler.adopt.shell.here import given_text, here_text, input_of, written_to
from compiler.adopt.shell.printing import printed, prints_only
from compiler.adopt.shell.redirects import Stream, arguments_behind, redirects_of
from compiler.adopt.shell.simple import NO_WORDS, read_simple
from compiler.adopt.shell.syntax import (
    counted_in,
    raw_text,
)
from compiler.adopt.shell.variables import assigned, learned, open_exports, unset


if TYPE_CHECKING:
    from tree_sitter import Node

_RETURN = "return"
_EVAL = "eval"


@define
class Walk(Branches):
    """Goes through a script, and keeps what it has said; of one that `only_prints` the output alone counts."""

    only_prints: bool = False
    _walks: Mapping[str, Callable[[Node], None]] = field(init=False, factory=dict)

    def script(self, root: Node) -> None:
        """A whole script; a function that nobody calls by its name is read at the end."""
        self.statements(root)
        for name, (body, source) in tuple(self.functions.items()):
            if name not in self.called:
                self.called.add(name)
                self.known = evolve(self.known, arguments=None)
                self.branches([(Condition(), partial(self.within, source, body))])

    def __attrs_post_init__(self) -> None:
        """What is done with each kind of statement; all others are looked through."""
        self._walks = {
            "variable_assignment": self._assign,
            "declaration_command": self._declare,
            "unset_command": self._unset,
            "function_definition": self._define,
            "command": self._command,
            "redirected_statement": self._redirected,
            "if_statement": self.if_,
            "case_statement": self.case_,
            "list": self.list_,
            "while_statement": self.loop_,
            "for_statement": self.loop_,
            "c_style_for_statement": self.loop_,
            "subshell": self._apart,
            "pipeline": self._piped,
            "compound_statement": self._compound,
        }

    def statement(self, node: Node) -> None:
        """One statement; behind a `return` there is none."""
        if self.has_left:
            return
        self._walks.get(node.type, self.statements)(node)

    def _assign(self, node: Node) -> None:
        self.known, _ = assigned(node, self.evaluator())

    def _declare(self, node: Node) -> None:
        told = tuple(open_exports(node, self.evaluator()))
        self.taken = tuple(dict.fromkeys((*self.taken, *told)))
        self.known = declared(node, self.evaluator())

    def _unset(self, node: Node) -> None:
        self.known, functions = unset(node, self.evaluator())
        if not self.untaken:
            for each in functions & self.functions.keys():
                del self.functions[each]

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[raw_text(name)] = (body, self.source)

    def _apart(self, node: Node) -> None:
        """A shell of its own, whose variables are gone behind it."""
        before = self.known, self.has_left
        self.statements(node)
        self.known, self.has_left = before

    def _piped(self, node: Node) -> None:
        """Each part is a shell of its own, which leaves no function."""
        before = self.has_left
        self.statements(node)
        self.has_left = before

    def _compound(self, node: Node) -> None:
        """`{ ... }`, and `((...))`, which counts."""
        if node.children[0].type == "((":
            self.known = self.known.without(list(counted_in(node)))
        self.statements(node)

    def _redirected(self, node: Node) -> None:
        """A command with what its input comes from, and its output goes to."""
        here = next((each for each in node.named_children if each.type == "heredoc_redirect"), None)
        before = self.streams
        self.streams = before.behind(redirects_of(node))
        self._fed_from(here, node) if here is not None else self._sent(node)
        self.streams = before

    def _sent(self, node: Node) -> None:
        """A command, what its output goes to, and the words that stand behind that."""
        redirects = redirects_of(node)
        words = [word for each in redirects for word in arguments_behind(each)]
        for each in node.named_children:
            if each.type == "command":
                self._command(each, input_of(node, self.evaluator()), behind=words)
            else:
                self.statement(each)

    def _fed_from(self, here: Node, node: Node) -> None:
        """A command whose input is a here-document."""
        text, is_exact = here_text(here, self.evaluator())
        starts = [each for each in node.named_children if each.type not in NO_WORDS]
        behind = [each for each in here.named_children if not each.type.startswith("heredoc")]
        words = [word for each in (*redirects_of(node), here) for word in arguments_behind(each)]
        for each in (*starts, *behind):
            self._receive(each, text, behind=words if each in starts else ())
        target = written_to((*starts, *node.named_children, *behind), self.evaluator())
        if target is not None and text is not None:
            self.documents.append(Document(name=target, text=text, is_exact=is_exact))

    def _receive(self, node: Node, text: Word | None, *, behind: Sequence[Node] = ()) -> None:
        """A command of a pipeline that begins with a here-document; what has parts of its own reads it itself."""
        if node.type == "command":
            self._command(node, text, behind=behind)
        elif node.type == "pipeline":
            for child in node.named_children:
                self._receive(child, text)
        else:
            self.statement(node)

    def _command(
        self, node: Node, text: Word | None = None, *, behind: Sequence[Node] = ()
    ) -> None:
        evaluator = self.evaluator()
        told = read_simple(node, evaluator, data=self.data, text=text, behind=behind)
        self.known, words, text = told.known, told.words, told.text
        if self.calls and words and words[0].text == _RETURN:
            self.leave()
        elif not self.call(node, words) and not self.take_over(words):
            self.add(
                Command(
                    words=given_text(words, text),
                    environment=self.known.environment,
                    changes=(*self.taken, *self.loops),
                    called=self.calls[0][1] if self.calls else None,
                    is_untaken=bool(self.untaken),
                )
            )
            ifs = self.known.separators
            if words:
                self.known = learned(node, words, evaluator, text=text, ifs=ifs)
            if words and words[0].text == _EVAL:
                self.known = self.behind_eval(words)
        if not self.only_prints:
            for child in (*node.named_children, *behind):
                self._inside(child)

    def add(self, command: Command) -> None:
        """A command; where only the output counts, one that writes elsewhere is none."""
        if not self.only_prints or self.streams.output is Stream.OUTPUT:
            self.commands.append(command)
        elif self.streams.output is Stream.UNKNOWN:
            self.is_unsure = True

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
        told = printed(walk.commands) if not walk.is_unsure else None
        if told is None:
            return None
        return evolve(told, span=self.place(node), changes=(*told.changes, *walk.taken))

    def _inside(self, node: Node) -> None:
        """Commands of a substitution are commands, too."""
        for child in node.named_children:
            if child.type == "command_substitution":
                self._piped(child)
            else:
                self._inside(child)
