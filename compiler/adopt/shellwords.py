"""One word of a shell's syntax tree goes in; the words that a shell would make of it come out, as far as that is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from compiler.adopt.launch import Change, Word
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.value import Value


if TYPE_CHECKING:
    from tree_sitter import Node

_PAIR = re.compile(r"\\(.)", re.DOTALL)
_DEFAULT = re.compile(r"\$\{(\w+):?[-=](.*)\}", re.DOTALL)
_WHOLE_ARRAY = re.compile(r"\$\{(\w+)\[[@*]\]\}")
_PLAIN = re.compile(r"\$\{?(\w+)\}?")
_BRACES = re.compile(r"\{[^{}\s]*,[^{}\s]*\}")
_AT_START = frozenset(
    {"command_substitution", "arithmetic_expansion", "process_substitution", "brace_expression"}
)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


@frozen(kw_only=True, eq=False, repr=False)
class Known(Value):
    """What a script has said so far.

    Attributes:
        texts: variables with one value.
        arrays: variables with a list of words.
    """

    texts: Mapping[str, Word] = field(factory=dict)
    arrays: Mapping[str, tuple[Word, ...]] = field(factory=dict)


@frozen(eq=False, repr=False)
class _Piece(Value):
    """A part of a word: `splits` when blanks in it separate words; `words` when it stands for several."""

    text: str
    unknown: tuple[str, ...] = ()
    splits: bool = False
    words: tuple[Word, ...] | None = None
    changes: tuple[Change, ...] = ()

    @property
    def joined(self) -> str:
        """Its text where nothing is split."""
        if self.words is None:
            return self.text
        return " ".join(word.text for word in self.words)


Placed = Callable[["Node"], Span]
"""Where a node of the tree stands."""


@frozen(kw_only=True, eq=False, repr=False)
class Evaluator(Value):
    """Evaluates words with what a script has said so far."""

    known: Known
    place: Placed

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
            # What is not known may hold blanks of its own, which separate nothing yet.
            splits = piece.splits and not piece.unknown
            parts = re.split(r"[ \t\n]+", piece.text) if splits else [piece.text]
            for number, part in enumerate(parts):
                if number and begun:
                    made.append(word)
                    word, begun = Word(text="", span=self.place(node)), False
                word = _longer(word, piece, text=part)
                begun = begun or bool(part) or not piece.splits
        return (*made, word) if begun else tuple(made)

    def text(self, node: Node | None) -> Word:
        """One word, without splitting: what an assignment stores."""
        if node is None:
            return Word(text="")
        word = Word(text="", span=self.place(node))
        for piece in self._pieces(node, quoted=True):
            word = _longer(word, piece, text=piece.joined)
        return word

    def _pieces(self, node: Node, *, quoted: bool) -> Sequence[_Piece]:
        raw = _raw(node)
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
                return (_Piece(raw[1:-1]),)
            case "ansi_c_string":
                return (_Piece(_PAIR.sub(lambda found: _ANSI.get(found[1], found[1]), raw[2:-1])),)
            case "string":
                return self._string(node)
            case "concatenation" | "command_name":
                return [
                    piece for each in node.children for piece in self._pieces(each, quoted=quoted)
                ]
            case "simple_expansion" | "expansion":
                return (self._expansion(node, raw, quoted=quoted),)
            case _:
                return (_Piece(raw, (raw,) if node.type in _AT_START else ()),)

    def _bare(self, raw: str, *, quoted: bool) -> _Piece:
        text = _PAIR.sub(lambda found: "" if found[1] == "\n" else found[1], raw)
        if raw == "~" or raw.startswith("~/"):
            home = self.known.texts.get("HOME")
            return _Piece(text, ("~",)) if home is None else _Piece(home.text + text[1:])
        if not quoted and _BRACES.search(raw):
            return _Piece(text, (raw,))
        return _Piece(text)

    def _string(self, node: Node) -> Sequence[_Piece]:
        """A word in double quotes: what stands between its parts counts, too."""
        whole = node.text or b""
        base, at = node.start_byte, 1
        pieces: list[_Piece] = []
        for child in node.named_children:
            if child.type == "string_content":
                continue
            between = whole[at : child.start_byte - base].decode(errors="surrogateescape")
            pieces += [_Piece(_unescaped(between))] if between else []
            pieces += self._pieces(child, quoted=True)
            at = child.end_byte - base
        rest = whole[at:-1].decode(errors="surrogateescape")
        return (*pieces, _Piece(_unescaped(rest))) if rest or not pieces else pieces

    def _expansion(self, node: Node, raw: str, *, quoted: bool) -> _Piece:
        whole = _WHOLE_ARRAY.fullmatch(raw)
        if whole is not None and whole[1] in self.known.arrays:
            return _Piece("", words=self.known.arrays[whole[1]])
        plain = _PLAIN.fullmatch(raw)
        default = _DEFAULT.fullmatch(raw)
        name = (plain or default or ("", ""))[1]
        value = self.known.texts.get(name)
        if value is not None and (value.text or plain):
            return _Piece(value.text, value.unknown, splits=not quoted, changes=value.changes)
        if default is not None:
            return self._default(node, raw, quoted=quoted)
        return _Piece(raw, (raw,))

    def _default(self, node: Node, raw: str, *, quoted: bool) -> _Piece:
        parts = [
            piece for child in node.children[3:-1] for piece in self._pieces(child, quoted=True)
        ]
        text = "".join(part.joined for part in parts)
        unknown = tuple(each for part in parts for each in part.unknown)
        told = f"`{raw}` is taken to be `{text}`, its default"
        taken = Change(kind=ChangeKind.ASSUMED, text=told, span=self.place(node))
        return _Piece(text, unknown, splits=not quoted, changes=() if unknown else (taken,))


def _longer(word: Word, piece: _Piece, *, text: str) -> Word:
    """A word with one part more."""
    return evolve(
        word,
        text=word.text + text,
        unknown=(*word.unknown, *piece.unknown),
        changes=(*word.changes, *piece.changes),
    )


def _raw(node: Node) -> str:
    return (node.text or b"").decode(errors="surrogateescape")


def _unescaped(text: str) -> str:
    """What stands in double quotes: only what is special there loses its backslash."""
    return _PAIR.sub(
        lambda found: "" if found[1] == "\n" else found[1] if found[1] in '"\\`$' else found[0],
        text,
    )
