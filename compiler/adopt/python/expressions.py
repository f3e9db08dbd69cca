"""An expression of a program goes in; what it comes to comes out, as far as that is known without running it.

What is not known stands in a word as an f-string has it, `{port}`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from attrs import define, evolve

from compiler.adopt.launch import Change, Word
from compiler.adopt.python.values import OPEN, Known, Listing, Scalar, taken, text_of
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.source import Source


def called_name(node: ast.Call) -> str:
    """The last name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def is_environment(node: ast.expr | None) -> bool:
    """Whether it is `os.environ`."""
    return isinstance(node, ast.Attribute) and node.attr == "environ"


_OWN = frozenset({"args", "opts", "options", "opt"})
"""What programs call the options of their own command line, once they are parsed."""


def option_of(node: ast.expr) -> str | None:
    """The name of an option of the program's own command line: `port` of `args.port`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id in _OWN else None
    return None


@define
class Expressions:
    """Reads expressions with the names that are known where they stand.

    Attributes:
        names: by their names; `self.x` by that.
        given: values that whoever adopts it says.
        options: the defaults of options of the program's own command line, by the name that they are stored under.
        readers: what reads each kind of expression.
        made: the lists that were made so far.
        doubts: the conditions above, of which nobody knows whether they hold.
    """

    source: Source
    names: dict[str, Known]
    given: Mapping[str, str]
    options: Mapping[str, Known]
    readers: Mapping[type[ast.expr], Callable[[Expressions, ast.expr], Known | None]]
    made: list[Listing]
    doubts: int = 0

    def listing(self, words: Iterable[Word], node: ast.AST) -> Listing:
        """A list that is made here."""
        made = Listing(words=list(words), span=self.place(node), doubts=self.doubts)
        self.made.append(made)
        return made

    def place(self, node: ast.AST) -> Span:
        """Where an expression stands."""
        at = cast("ast.expr", node)
        return self.source.span(
            self._offset(at.lineno, at.col_offset),
            self._offset(at.end_lineno or at.lineno, at.end_col_offset or at.col_offset),
        )

    def _offset(self, line: int, bytes_in: int) -> int:
        start = self.source.line_starts[min(line, len(self.source.line_starts)) - 1]
        behind = self.source.text[start : start + bytes_in]
        if behind.isascii():
            return start + bytes_in
        return start + len(behind.encode()[:bytes_in].decode(errors="ignore"))

    def value(self, node: ast.expr | None) -> Known:
        """What an expression comes to."""
        if node is None:
            return Scalar(word=Word(text=""))
        read = self.readers.get(type(node))
        known = read(self, node) if read is not None else None
        return self.unknown(node) if known is None else known

    def unknown(self, node: ast.expr) -> Scalar:
        """What is known at the start only, as it is written; a name alone, or that of an own option, may be said."""
        written = ast.get_source_segment(self.source.text, node) or "..."
        shown = option_of(node) or " ".join(written.split())
        said = self.given.get(shown)
        if said is not None:
            return Scalar(word=Word(text=said, span=self.place(node), names=(shown,)), value=said)
        part = f"{{{shown}}}"
        names = (shown,) if shown.isidentifier() else ()
        return Scalar(word=Word(text=part, span=self.place(node), unknown=(part,), names=names))

    def part(self, node: ast.expr) -> Word:
        """Words that may not be there, as they are written."""
        word = self.unknown(node).word
        return word if word.unknown else evolve(word, unknown=(word.text,))

    def word(self, node: ast.expr) -> Word:
        """One word of a list."""
        return text_of(self.value(node)) or self.unknown(node).word

    def words(self, nodes: Sequence[ast.expr]) -> Iterator[Word]:
        """The words of a list."""
        for each in nodes:
            if isinstance(each, ast.Starred):
                yield from self.spread(each.value, self.value(each.value))
            else:
                yield evolve(self.word(each), span=self.place(each))

    def spread(self, node: ast.expr, known: Known) -> Iterator[Word]:
        """The words of a list that goes into another; it may not be known."""
        if isinstance(known, Listing):
            known.is_spent = True
            yield from known.words
        else:
            yield self.unknown(node).word

    def truth(self, node: ast.expr) -> bool | None:
        """Whether a condition holds; `None` where that is not known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            held = self.truth(node.operand)
            return None if held is None else not held
        if isinstance(node, ast.BoolOp):
            told = [self.truth(each) for each in node.values]
            decisive = isinstance(node.op, ast.Or)
            if decisive in told:
                return decisive
            return None if None in told else not decisive
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node)
        known = self.value(node)
        if isinstance(known, Scalar) and known.value is not OPEN and not known.word.unknown:
            return bool(known.value)
        return None

    def _compared(self, node: ast.Compare) -> bool | None:
        left, right = self.value(node.left), self.value(node.comparators[0])
        if not (isinstance(left, Scalar) and isinstance(right, Scalar)):
            return None
        if left.value is OPEN or right.value is OPEN:
            return None
        same = left.value == right.value
        if isinstance(node.ops[0], ast.Eq | ast.Is):
            return same
        return not same if isinstance(node.ops[0], ast.NotEq | ast.IsNot) else None

    def variable(self, node: ast.Call | ast.Subscript) -> Known | None:
        """What a variable of the environment is read as: what is said of it, or the default."""
        if isinstance(node, ast.Subscript):
            name, default = self.value(node.slice), None
        else:
            if not node.args:
                return None
            name = self.value(node.args[0])
            default = self.value(node.args[1]) if len(node.args) > 1 else None
        named = text_of(name)
        if named is None or named.unknown:
            return None
        said = self.given.get(named.text)
        span = self.place(node)
        if said is not None:
            return Scalar(word=Word(text=said, span=span, names=(named.text,)), value=said)
        if isinstance(default, Scalar) and default.value is not None and default.value is not OPEN:
            shown = ast.get_source_segment(self.source.text, node) or named.text
            return taken(default, assumed(shown, default.word.text, span))
        part = f"${{{named.text}}}"
        return Scalar(word=Word(text=part, span=span, unknown=(part,), names=(named.text,)))


def assumed(shown: str, text: str, span: Span | None) -> Change:
    """A default that is taken for the value."""
    said = f"`{' '.join(shown.split())}` is taken to be `{text}`, its default"
    return Change(kind=ChangeKind.ASSUMED, text=said, span=span)
