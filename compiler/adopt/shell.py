"""The text of a shell script in, its commands out, with the values of the variables that it sets itself.

The syntax is read by the Bash grammar of tree-sitter. What a branch or a function sets is not known behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from compiler.adopt.files import unreadable
from compiler.adopt.launch import Command, Sheet, Word
from compiler.adopt.shellwords import Evaluator, Known
from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.source import Source


if TYPE_CHECKING:
    from tree_sitter import Node

_BRANCHES = frozenset(
    {
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
        "case_statement",
        "case_item",
        "function_definition",
    }
)
_DEEPEST = 150
"""Levels of a syntax tree; a function with a branch in a branch has twenty."""
_ASSIGNING = frozenset({"declaration_command"})
_SOURCING = frozenset({"source", "."})
_NO_WORDS = frozenset(
    {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"}
)


def read_shell(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The commands of a script; `given` are variables that its caller sets. Errors: `launch-unreadable`."""
    import tree_sitter_bash  # noqa: PLC0415 - what only a script needs
    from tree_sitter import Language, Parser  # noqa: PLC0415 - as above

    data = source.text.encode(errors="surrogateescape")
    root = Parser(Language(tree_sitter_bash.language())).parse(data).root_node
    if _is_deep(root):
        return Sheet(
            diagnostics=(unreadable(source.name, "it nests too deep for a launch"),),
            sources={source.name: source},
        )
    walk = _Walk(
        source=source,
        data=data,
        known=Known(texts={name: Word(text=value) for name, value in given.items()}),
    )
    walk.statements(root)
    found = tuple(_faults(root, walk))
    return Sheet(commands=tuple(walk.commands), diagnostics=found, sources={source.name: source})


def _is_deep(root: Node) -> bool:
    """Whether a tree is deeper than any launch; told without going down into it by calls."""
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in node.children]
        if not level:
            return False
    return True


@define
class _Walk:
    """Goes through a script from top to bottom, and keeps what it has said."""

    source: Source
    data: bytes
    known: Known
    exported: dict[str, Word] = field(factory=dict)
    commands: list[Command] = field(factory=list)

    def statements(self, node: Node) -> None:
        """Every statement below a node, in order."""
        for child in node.named_children:
            self._statement(child)

    def place(self, node: Node) -> Span:
        """Where a node stands."""
        return self.source.span(self._offset(node.start_byte), self._offset(node.end_byte))

    def _offset(self, byte: int) -> int:
        # Of a text in ASCII, which most are, each byte is a character.
        if len(self.data) == len(self.source.text):
            return byte
        return len(self.data[:byte].decode(errors="surrogateescape"))

    def _statement(self, node: Node) -> None:
        if node.type == "variable_assignment":
            self._assign(node)
        elif node.type in _ASSIGNING:
            self._declare(node)
        elif node.type == "command":
            self._command(node)
        elif node.type in _BRANCHES:
            before = self.known
            self.statements(node)
            self.known = _doubtful(before, self.known)
        else:
            self.statements(node)

    def _evaluator(self) -> Evaluator:
        return Evaluator(known=self.known, place=self.place)

    def _assign(self, node: Node) -> str | None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None or name_node.type != "variable_name":
            return None
        name = (name_node.text or b"").decode(errors="surrogateescape")
        adds = any(each.type == "+=" for each in node.children)
        evaluator = self._evaluator()
        if value is not None and value.type == "array":
            words = tuple(
                word
                for each in value.named_children
                if each.type != "comment"
                for word in evaluator.words(each)
            )
            before = self.known.arrays.get(name, ()) if adds else ()
            self.known = evolve(self.known, arrays={**self.known.arrays, name: (*before, *words)})
            return name
        told = evaluator.text(value)
        if adds:
            first = self.known.texts.get(name, Word(text=""))
            told = evolve(
                told,
                text=first.text + told.text,
                unknown=(*first.unknown, *told.unknown),
                changes=(*first.changes, *told.changes),
            )
        self.known = evolve(self.known, texts={**self.known.texts, name: told})
        if name in self.exported:
            self.exported[name] = told
        return name

    def _declare(self, node: Node) -> None:
        exports = node.children[0].type == "export"
        for child in node.named_children:
            name = self._assign(child) if child.type == "variable_assignment" else None
            if child.type == "variable_name":
                name = (child.text or b"").decode(errors="surrogateescape")
            if exports and name is not None and name in self.known.texts:
                self.exported[name] = self.known.texts[name]

    def _command(self, node: Node) -> None:
        environment = dict(self.exported)
        evaluator = self._evaluator()
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                name = child.child_by_field_name("name")
                value = evaluator.text(child.child_by_field_name("value"))
                environment[(name.text or b"").decode() if name else ""] = value
            elif child.type not in _NO_WORDS and child.is_named:
                words += evaluator.words(child)
        self._learn(words)
        self.commands.append(Command(words=tuple(words), environment=environment))
        for child in node.named_children:
            self._inside(child)

    def _inside(self, node: Node) -> None:
        """Commands of a substitution are commands, too."""
        for child in node.named_children:
            if child.type == "command_substitution":
                self.statements(child)
            else:
                self._inside(child)

    def _learn(self, words: list[Word]) -> None:
        """What a command does to the variables of the commands behind it."""
        texts = [word.text for word in words]
        if texts[:1] == ["export"]:
            self.exported |= {
                each: self.known.texts[each] for each in texts if each in self.known.texts
            }
        if len(texts) > 1 and texts[0] in _SOURCING and texts[1].endswith("/bin/activate"):
            folder = evolve(words[1], text=texts[1].removesuffix("/bin/activate"))
            self.exported["VIRTUAL_ENV"] = folder


def _doubtful(before: Known, after: Known) -> Known:
    """What is known behind a branch: what it may have set is not."""
    texts = {
        name: word
        if before.texts.get(name) is word
        else evolve(word, text=f"${{{name}}}", unknown=(f"${{{name}}}",))
        for name, word in after.texts.items()
    }
    arrays = {
        name: words
        if before.arrays.get(name) is words
        else (
            *before.arrays.get(name, ()),
            Word(text=f"${{{name}[@]}}", unknown=(f"${{{name}[@]}}",)),
        )
        for name, words in after.arrays.items()
    }
    return Known(texts=texts, arrays=arrays)


def _faults(root: Node, walk: _Walk) -> Iterator[Diagnostic]:
    """The first place that is no shell, when there is one."""
    if not root.has_error:
        return
    node = root
    while True:
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None or node.type == "ERROR":
            break
        node = inner
    text = walk.data[node.start_byte :].decode(errors="surrogateescape")
    quote = next((each for each in text if each in "\"'"), None)
    what = (
        "a quote is left open here"
        if quote and text.count(quote) % 2
        else "this is no shell script"
    )
    span = walk.place(node)
    line = walk.source.line(span.line)
    short = evolve(
        span,
        end_line=span.line,
        end_column=max(span.column + 1, min(len(line) + 1, span.column + 40)),
    )
    yield error("launch-unreadable", f"the script cannot be read: {what}", Label(short, what))
