"""One word of a shell's syntax tree goes in; the words that a shell would make of it come out, as far as that is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from compiler.adopt.launch import Change, Word
from compiler.adopt.shell.arrays import of_array
from compiler.adopt.shell.known import Known
from compiler.adopt.shell.numbers import evaluate_number
from compiler.adopt.shell.pieces import Piece, lengthened, split_piece
from compiler.adopt.shell.syntax import is_cut_off, raw_text
from compiler.adopt.shell.trimming import changed
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

_PAIR = re.compile(r"\\(.)", re.DOTALL)
_DEFAULT = re.compile(r"\$\{(\w+):?[-=](.*)\}", re.DOTALL)
_NEEDED = re.compile(r"\$\{(\w+):?\?.*\}", re.DOTALL)
_INSTEAD = re.compile(r"\$\{(\w+):?\+.*\}", re.DOTALL)
_ALL = re.compile(r"\$(?:[@*]|\{[@*](?::(?P<first>\d+)(?::(?P<count>\d+))?)?\})")
# What a backslash hides.
_HERE = "\\`$"
_QUOTED = f'"{_HERE}'
_COUNT = re.compile(r"\$(?:#|\{#\})")
_WHOLE_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_PLAIN = re.compile(r"\$\{?(\w+)\}?")
_FOLDER = frozenset({"$(pwd)", "`pwd`"})
_BRACES = re.compile(r"\{[^{}\s]*,[^{}\s]*\}")
_AT_START = frozenset(
    {"command_substitution", "arithmetic_expansion", "process_substitution", "brace_expression"}
)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


Placed = Callable[["Node"], Span]
"""Where a node of the tree stands."""


@frozen(kw_only=True, eq=False, repr=False)
class Evaluator(Value):
    """Evaluates words with what a script has said so far.

    Attributes:
        is_here: whether a word names a file that the script takes over, and that can be read.
        printed: what the command of a `$(...)` prints; `None` where that is known at start only.
    """

    known: Known
    place: Placed
    is_here: Callable[[Word], bool] = lambda _: False
    printed: Callable[[Node], Word | None] = lambda _: None

    def words(self, node: Node) -> tuple[Word, ...]:
        """The words that a shell makes of one."""
        made: list[Word] = []
        word, begun = Word(text="", span=self.place(node)), False
        for piece in self._pieces(node, quoted=False):
            if piece.words is not None:
                made += [
                    each if each.span else evolve(each, span=self.place(node))
                    for each in piece.words
                ]
                continue
            whole, parts = self._parts(piece)
            for number, part in enumerate(parts):
                if number and begun:
                    made.append(word)
                    word, begun = Word(text="", span=self.place(node)), False
                word = lengthened(word, whole, text=part)
                begun = begun or bool(part) or not whole.splits
        return (*made, word) if begun else tuple(made)

    def _parts(self, piece: Piece) -> tuple[Piece, Sequence[str]]:
        """What separators make of a piece; where they are not known, or leave words that hold nothing, it is not known."""
        ifs = self.known.separators
        parts = split_piece(piece, ifs) if ifs is not None or not piece.splits else None
        if parts is not None:
            return piece, parts
        return evolve(piece, unknown=(piece.text,), splits=False), (piece.text,)

    def beside(self, one: Word, other: Word) -> Word:
        """Two words as one."""
        piece = Piece(other.text, other.unknown, changes=other.changes, names=other.names)
        return lengthened(one, piece, text=other.text)

    def numbered(self, word: Word, behind: Sequence[Word]) -> Word:
        """A word with an argument of the script at its end, of which the grammar has cut off the digit."""
        first = behind[0]
        digit, rest = first.text[:1], first.text[1:]
        value = self.value(digit) or Word(text=f"${digit}", unknown=(f"${digit}",))
        front = evolve(word, text=word.text.removesuffix("$"))
        return self.beside(self.beside(front, value), evolve(first, text=rest))

    def listed(self, nodes: Sequence[Node]) -> tuple[Word, ...]:
        """The words of several nodes side by side."""
        made: list[Word] = []
        for before, node in zip((None, *nodes), nodes, strict=False):
            several = self.words(node)
            if made and several and is_cut_off(before, node):
                made[-1], several = self.numbered(made[-1], several), several[1:]
            made += several
        return tuple(made)

    def text(self, node: Node | None) -> Word:
        """One word, without splitting: what an assignment stores."""
        if node is None:
            return Word(text="")
        word = Word(text="", span=self.place(node))
        for piece in self._pieces(node, quoted=True):
            told = piece.as_text()
            word = lengthened(word, told, text=told.text)
        return word

    def _pieces(self, node: Node, *, quoted: bool) -> Sequence[Piece]:
        raw = raw_text(node)
        match node.type:
            case (
                "word"
                | "number"
                | "variable_name"
                | "special_variable_name"
                | "regex"
                | "extglob_pattern"
            ):
                return (self._bare(raw, quoted=quoted),)
            case "raw_string":
                return (Piece(raw[1:-1]),)
            case "ansi_c_string":
                return (Piece(_PAIR.sub(lambda found: _ANSI.get(found[1], found[1]), raw[2:-1])),)
            case "string":
                return self._string(node)
            case "concatenation" | "command_name":
                return [
                    piece for each in node.children for piece in self._pieces(each, quoted=quoted)
                ]
            case "simple_expansion" | "expansion":
                # The grammar counts the blanks between two of them to the second.
                start = raw.index("$")
                blanks = [Piece(_unescaped(raw[:start], _QUOTED))] if start else []
                return (*blanks, self._expansion(node, raw[start:], quoted=quoted))
            case "arithmetic_expansion":
                return (self._arithmetic(node, raw),)
            case _:
                return (self._substituted(node, raw, quoted=quoted),)

    def _substituted(self, node: Node, raw: str, *, quoted: bool) -> Piece:
        """A command or a process in place of a word, and whatever else is not looked into."""
        told = self.known.texts.get("PWD") if raw in _FOLDER else None
        if told is None and node.type == "command_substitution":
            told = self.printed(node)
        if told is None:
            return Piece(raw, (raw,) if node.type in _AT_START else ())
        return Piece(
            told.text, told.unknown, splits=not quoted, changes=told.changes, names=told.names
        )

    def _bare(self, raw: str, *, quoted: bool) -> Piece:
        text = _PAIR.sub(lambda found: "" if found[1] == "\n" else found[1], raw)
        if raw == "~" or raw.startswith("~/"):
            home = self.known.texts.get("HOME")
            return Piece(text, ("~",)) if home is None else Piece(home.text + text[1:])
        if not quoted and _BRACES.search(raw):
            return Piece(text, (raw,))
        return Piece(text)

    def here(self, node: Node) -> Word:
        """A here-document whose variables are replaced."""
        word = Word(text="", span=self.place(node))
        for piece in self._between(node, start=0, special=_HERE):
            told = piece.as_text()
            word = lengthened(word, told, text=told.text)
        return word

    def _string(self, node: Node) -> Sequence[Piece]:
        pieces = self._between(node, start=1, special='"\\`$')
        # A list among other text is one text with it.
        return pieces if len(pieces) == 1 else [each.as_text() for each in pieces]

    def _between(self, node: Node, *, start: int, special: str) -> Sequence[Piece]:
        """A text in double quotes: what stands between its parts counts, too; a backslash hides what is `special`."""
        whole = node.text or b""
        base, at = node.start_byte, start
        pieces: list[Piece] = []
        for child in node.named_children:
            if child.type in {"string_content", "heredoc_content"}:
                continue
            between = whole[at : child.start_byte - base].decode(errors="surrogateescape")
            pieces += [Piece(_unescaped(between, special))] if between else []
            pieces += self._pieces(child, quoted=True)
            at = child.end_byte - base
        rest = whole[at : len(whole) - start].decode(errors="surrogateescape")
        return (*pieces, Piece(_unescaped(rest, special))) if rest or not pieces else pieces

    def _expansion(self, node: Node, raw: str, *, quoted: bool) -> Piece:
        given = self._arguments(raw) or self._listed(raw)
        given = given or of_array(node, raw, self.known, self.value)
        if given is not None:
            is_one = quoted and "*" in raw and given.words is not None
            return given.as_text((self.known.separators or "")[:1]) if is_one else given
        other = changed(raw, self.value)
        if other is not None:
            return Piece(other.text, splits=not quoted, changes=other.changes, names=other.names)
        plain = _PLAIN.fullmatch(raw) or _NEEDED.fullmatch(raw)
        default = _DEFAULT.fullmatch(raw)
        instead = _INSTEAD.fullmatch(raw)
        name = (plain or default or instead or ("", ""))[1]
        value = self.value(name)
        if value is not None and instead is not None and not value.unknown:
            return (
                self._default(node, raw, quoted=quoted, is_told=True)
                if value.text
                else Piece("", splits=not quoted)
            )
        if value is not None and (value.text or plain) and instead is None:
            return Piece(
                value.text,
                value.unknown,
                splits=not quoted,
                changes=value.changes,
                names=(*value.names, name),
            )
        if default is not None and not (self.known.is_open and name not in self.known.texts):
            return self._default(node, raw, quoted=quoted)
        return Piece(raw, (raw,))

    def value(self, name: str) -> Word | None:
        """A variable; an argument that is not given is empty."""
        arguments = self.known.arguments
        if arguments is not None and name.isdecimal() and name != "0":
            at = int(name) - 1
            return arguments[at] if at < len(arguments) else Word(text="")
        return self.known.texts.get(self.known.named(name))

    def _listed(self, raw: str) -> Piece | None:
        """A list as a whole, where it is known."""
        whole = _WHOLE_ARRAY.fullmatch(raw)
        words = self.known.arrays.get(self.known.named(whole[1])) if whole is not None else None
        return Piece("", words=tuple(filter(None, words))) if words is not None else None

    def _arguments(self, raw: str) -> Piece | None:
        """`$@` and `$#`, where the arguments are known."""
        arguments = self.known.arguments
        if arguments is None:
            return None
        if _COUNT.fullmatch(raw):
            return Piece(str(len(arguments)))
        found = _ALL.fullmatch(raw)
        if found is None:
            return None
        first = max(1, int(found["first"] or 1)) - 1
        count = len(arguments) if found["count"] is None else int(found["count"])
        return Piece("", words=arguments[first : first + count])

    def _arithmetic(self, node: Node, raw: str) -> Piece:
        number, open_names = evaluate_number(node, self.value)
        return Piece(raw, (raw, *open_names)) if number is None else Piece(str(number))

    def _default(self, node: Node, raw: str, *, quoted: bool, is_told: bool = False) -> Piece:
        """What stands behind the name; it is assumed, unless the script says so itself."""
        parts = [
            piece for child in node.children[3:-1] for piece in self._pieces(child, quoted=True)
        ]
        text = "".join(part.joined for part in parts)
        unknown = tuple(each for part in parts for each in part.unknown)
        told = f"`{raw}` is taken to be `{text}`, its default"
        taken = Change(kind=ChangeKind.ASSUMED, text=told, span=self.place(node))
        return Piece(
            text, unknown, splits=not quoted, changes=() if unknown or is_told else (taken,)
        )


def _unescaped(text: str, special: str) -> str:
    """What stands in double quotes: only what is special there loses its backslash.

    A joined line of a here-document is kept as it is: what it becomes joins it, too, and lines keep their numbers.
    """
    end = "\\\n" if special == _HERE else ""
    return _PAIR.sub(
        lambda found: end if found[1] == "\n" else found[1] if found[1] in special else found[0],
        text,
    )
