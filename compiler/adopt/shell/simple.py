"""A simple command of a shell's syntax tree goes in; its words come out, with what it assigns in front of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from compiler.adopt.launch import Word
from compiler.adopt.shell.known import Known
from compiler.adopt.shell.syntax import is_cut_off, raw_text
from compiler.adopt.shell.words import Evaluator
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

NO_WORDS = frozenset(
    {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"}
)


@frozen(kw_only=True, eq=False, repr=False)
class Simple(Value):
    """A simple command.

    Attributes:
        known: what is known while it runs.
        text: what its input is, where that stands beside it.
    """

    words: tuple[Word, ...]
    known: Known
    text: Word | None = None


def read_simple(
    node: Node,
    evaluator: Evaluator,
    *,
    data: bytes,
    text: Word | None,
    behind: Sequence[Node] = (),
) -> Simple:
    """The words that a shell makes of a command; `data` is the script, `behind` are words behind its redirects."""
    known = evaluator.known
    words: list[Word] = []
    before: Node | None = None
    assigns = ""
    for child in (*node.children, *behind):
        is_cut = is_cut_off(before, child)
        if child.type == "variable_assignment":
            name = child.child_by_field_name("name")
            assigns = raw_text(name) if name is not None else ""
            value = evaluator.text(child.child_by_field_name("value"))
            known = evolve(known.with_text(assigns, value), exported=known.exported | {assigns})
        elif child.type == "herestring_redirect" and child.named_children:
            text = evaluator.text(child.named_children[-1])
        elif child.type not in NO_WORDS and child.is_named:
            several = evaluator.words(child)
            if is_cut and assigns and not words:
                # `A=$B/$1` is no command, though the grammar takes its end for the name of one.
                whole = evaluator.numbered(known.texts[assigns], several)
                known = evaluator.known.with_text(assigns, whole)
                several = ()
            elif is_cut and words and several:
                words[-1] = evaluator.numbered(words[-1], several)
                several = several[1:]
            elif words and several and before and _is_joined(before, child, data):
                # The grammar ends a word there, and a shell does not.
                words[-1] = evaluator.beside(words[-1], several[0])
                several = several[1:]
            words += several
        before = child
    return Simple(words=tuple(words), known=known, text=text)


def _is_joined(before: Node, node: Node, data: bytes) -> bool:
    return data[before.end_byte : node.start_byte] == b"\\\n"
