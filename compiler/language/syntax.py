"""Text goes in; the values `tomllib` makes of it come out, or one diagnostic with a place for whatever it refuses."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compiler.diagnostics import Diagnostic, Label, Span, error
from compiler.origins import dotted
from compiler.source import Source


if TYPE_CHECKING:
    from compiler.language.spans import TomlPath


DEEPEST = 32
"""How far tables and lists may nest. No setting goes a fifth as deep; without a limit Python's own would be met."""

INTEGERS = range(-(2**63), 2**63)
"""Whole numbers that TOML 1.0 promises to keep."""
_BYTE_ORDER_MARK = "\ufeff"
_AFTER_PAIR = "cannot overwrite a value"  # its place is the end of the pair
_NO_VALUE, _AFTER_VALUE = "invalid value", "expected newline or end of document after a statement"
_IN_BRACKETS = frozenset({_NO_VALUE, "unclosed array", "unclosed inline table"})
_IN_STRING = {
    "illegal character `\\n`": "a string does not end on its line",
    "found invalid character `\\n`": "a string does not end on its line",
    'expected "\'"': "a string does not end on its line",
    "expected \"'''\"": "a string does not end",
    "unterminated string": "a string does not end",
}
_INSIDE = "duplicate inline table key"
_AGAIN = ("cannot declare", _AFTER_PAIR, "cannot mutate", "cannot redefine", _INSIDE)
_CLEARER = {_AFTER_PAIR: "a key is set twice, or is both a value and a table", **_IN_STRING}
# Patterns of what is wrong are compiled where something is, and not each time that Poolproof starts.
_PLACE = r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$"
_QUOTED = r"'([^' ]+)'"
_KEY_TUPLE = r"\(((?:'[^']*'(?:, )?)+),?\)"
_QUOTES = frozenset({'"', "'", '"""', "'''"})
_OPENING = _QUOTES | {"[", "{"}
_MANY_DOTS = 1000
"""Dots of a file from which on its keys are looked at first: the parser takes the square of the number of a key's parts."""
_PART, _DOT = r"[\w-]+", r"[ \t]*\.[ \t]*"
_LONG_KEY = rf"(?<![\w.-])(?:{_PART}{_DOT}){{{DEEPEST}}}({_PART})(?={_DOT}|[ \t]*\])"
_LONG_NUMBER = r"[0-9][0-9_]{4300,}"
_PIECE = r'''(?sx)
      """ (?: [^\\] | \\. )*? """
    | \'\'\' .*? \'\'\'
    | """ | \'\'\'
    | " (?: [^"\\\n]++ | \\. )*+ "
    | ' [^'\n]*+ '
    | \#[^\n]*+
    | [\[{\]}"']
    '''


def parse_toml(source: Source) -> tuple[dict[str, Any] | None, tuple[Diagnostic, ...]]:
    """Parse a file; no values when something is wrong with it.

    Errors: `toml-syntax`; `toml-limit` for TOML beyond what this compiler reads: nested deeper than `DEEPEST`, or
    whole numbers of more than 64 bits.
    """
    long_key = _first_long_key(source)
    if long_key is not None:
        return None, (_too_deep(long_key),)
    try:
        values = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as fault:
        return None, (_syntax(source, str(fault)),)
    except RecursionError:
        return None, (_too_deep(_first_too_deep(source)),)
    except ValueError:  # Python converts no number of thousands of digits
        return None, (_too_long(_first_long_number(source)),)
    faults = tuple(_beyond_limits(source, values))
    return (None, faults) if faults else (values, ())


def _syntax(source: Source, message: str) -> Diagnostic:
    """What `tomllib` said, with its place. Its attributes of 3.14 say the same as its message."""
    if source.text.startswith(_BYTE_ORDER_MARK):
        return error(
            "toml-syntax",
            "invalid TOML: the file starts with a byte order mark",
            Label(source.span(0, 0)),
            help=("save it as UTF-8 without a byte order mark",),
        )
    place = re.search(_PLACE, message)
    if place is None or place["line"] is None:
        offset = len(source.text.rstrip())
    else:
        offset = source.offset(int(place["line"]), column=int(place["column"]))
    from compiler.language.unmerged import unmerged  # noqa: PLC0415 - only a mistake pays for it

    merging = unmerged(source, offset, piece=_PIECE)
    if merging is not None:
        return merging
    said = _plain(message[: place.start()] if place else message)
    around = _still_open(source.text[:offset]) if said in {*_IN_BRACKETS, _AFTER_VALUE} else ()
    meant = (
        _slip(source, offset, within=bool(around)) if said in {_NO_VALUE, _AFTER_VALUE} else None
    )
    opened = around[-1:] if said in _IN_BRACKETS else ()
    first = _first(source, offset, said)
    if said in _IN_STRING:
        offset = next(reversed(_still_open(source.text[:offset])), offset)
    return error(
        "toml-syntax",
        f"invalid TOML: {_CLEARER.get(said, said)}",
        Label(
            _caret(source, offset, from_line_start=said == _AFTER_PAIR),
            "again here" if first else "",
        ),
        secondary=(*(Label(source.span(at, at + 1), "opened here") for at in opened), *first),
        help=(meant,) if meant is not None else ("leave one of them out",) if first else (),
    )


def _first(source: Source, offset: int, said: str) -> tuple[Label, ...]:
    """Where what is set again is set first."""
    if not said.startswith(_AGAIN):
        return ()
    from compiler.language.twice import first_place  # noqa: PLC0415 - only a mistake pays for it

    place = first_place(source, offset, inside=said.startswith(_INSIDE))
    return () if place is None else (Label(place, "first here"),)


def _slip(source: Source, offset: int, *, within: bool) -> str | None:
    from compiler.language.slips import slip  # noqa: PLC0415 - only a mistake pays for it

    return slip(source, offset, within=within)


def _caret(source: Source, offset: int, *, from_line_start: bool) -> Span:
    """One character, or all of the line before it. It stays on its line, so it may point past the end of one."""
    line, column = source.position(offset)
    text = source.line(line)[: column - 1]
    if not (from_line_start and text.strip()):
        return Span(
            file=source.name, line=line, column=column, end_line=line, end_column=column + 1
        )
    start = len(text) - len(text.lstrip()) + 1
    return Span(file=source.name, line=line, column=start, end_line=line, end_column=column)


def _plain(message: str) -> str:
    """A message of `tomllib` in our style: lower case, keys dotted, what it quotes in backticks."""

    def key(match: re.Match[str]) -> str:
        parts = re.findall("'([^']*)'", match[1])
        return f"`{dotted(tuple(parts))}`"

    said = re.sub(_QUOTED, r"`\1`", re.sub(_KEY_TUPLE, key, message))
    return said[:1].lower() + said[1:]


def _still_open(text: str) -> tuple[int, ...]:
    """The offsets of the brackets that this beginning of a file leaves open, and of the quote; outermost first."""
    opened: list[int] = []
    for token in re.finditer(_PIECE, text):
        if token[0] in _OPENING:
            opened.append(token.start())
        elif token[0] in "]}" and opened:
            opened.pop()
        if token[0] in _QUOTES:
            break
    return tuple(opened)


def _first_too_deep(source: Source) -> Span:
    """The first bracket that nests too deep, in a file that was too deep for the parser."""
    depth = 0
    for token in re.finditer(_PIECE, source.text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if depth > DEEPEST:
            return source.span(token.start(), token.end())
    return source.span(0, 0)


def _first_long_key(source: Source) -> Span | None:
    """The part that is too deep of the first key with such a one, in a file of a great many dots."""
    if source.text.count(".") < _MANY_DOTS:
        return None

    def without_dots(piece: re.Match[str]) -> str:
        return piece[0] if piece[0] in _OPENING or piece[0] in "]}" else "_" * len(piece[0])

    match = re.search(_LONG_KEY, re.sub(_PIECE, without_dots, source.text))
    return source.span(*match.span(1)) if match else None


def _first_long_number(source: Source) -> Span:
    """The number that Python refused."""
    match = re.search(_LONG_NUMBER, source.text)
    return source.span(*match.span()) if match else source.span(0, 0)


def _too_deep(place: Span) -> Diagnostic:
    summary = f"tables and lists are nested more than {DEEPEST} deep"
    return error("toml-limit", summary, Label(place))


def _too_long(place: Span) -> Diagnostic:
    return error("toml-limit", "a whole number has more than 64 bits", Label(place))


def _beyond_limits(source: Source, values: dict[str, Any]) -> Iterator[Diagnostic]:
    """What is valid TOML and yet beyond our limits; of what is too deep, only the first place."""
    todo: list[tuple[TomlPath, Any]] = [((), values)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict | list):
            if len(path) > DEEPEST:
                yield _too_deep(_place(source, path))
                return
            items = value.items() if isinstance(value, dict) else enumerate(value)
            todo += [((*path, key), item) for key, item in items]
        elif type(value) is int and value not in INTEGERS:
            yield _too_long(_place(source, path))


def _place(source: Source, path: TomlPath) -> Span:
    from compiler.language.spans import index_spans  # noqa: PLC0415 - only what has something to say needs places

    return index_spans(source)[path].value
