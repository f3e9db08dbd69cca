"""Keys and values as they are written in; the same in their canonical spelling out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from compiler.language.written import number_toml
from compiler.value import Value


INDENT = "    "
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+'""")
_TOKEN = re.compile(
    r'''
      (?P<word> """ (?: [^\\] | \\. )*? "{3,5} (?!")
              | \'\'\' .*? '{3,5} (?!')
              | " (?: [^"\\]++ | \\. )*+ "
              | ' [^']*+ '
              | [^\s,\[\]{}=\#"']++ )
    | (?P<comment> \#[^\n]*+ )
    | (?P<end> \n )
    | (?P<mark> [\[\]{},=] )
    | (?P<space> [ \t\r]++ )
    ''',
    re.DOTALL | re.VERBOSE,
)
_WHOLE = re.compile(r"[+-]?[0-9](?:_?[0-9])*")
_SOLID = frozenset({"word", "mark"})


@frozen(eq=False, repr=False)
class _Token(Value):
    """A piece of a value; `apart` says whether blanks stand before it."""

    kind: str
    text: str
    apart: bool


def spell_key(written: str) -> str:
    """A dotted key without blanks around its dots."""
    return ".".join(_PART.findall(written))


def spell_comment(written: str) -> str:
    """A comment without blanks around it."""
    return written.strip()


def spell_value(written: str, *, counts: bool) -> str:
    """A value; `counts` says whether it counts something, so that a long number is grouped by thousands.

    A list keeps its lines. What stands in a string is never changed.
    """
    if counts and _WHOLE.fullmatch(written):
        return number_toml(int(written))
    lines = [line for line in _lines(_with_commas(list(_tokens(written)))) if line]
    depth, spelled = 0, []
    for number, line in enumerate(lines):
        closing = sum(1 for _ in _leading_closers(line))
        indent = INDENT * max(depth - closing, 0) if number else ""
        spelled.append(f"{indent}{_joined(line)}")
        depth += sum(
            (each.text in "[{") - (each.text in "]}") for each in line if each.kind == "mark"
        )
    return "\n".join(spelled)


def _tokens(written: str) -> Iterator[_Token]:
    apart = False
    for match in _TOKEN.finditer(written):
        kind = str(match.lastgroup)
        if kind == "space":
            apart = True
            continue
        text = match[0].rstrip() if kind == "comment" else match[0]
        yield _Token(kind, _quoted(text) if kind == "word" else text, apart)
        apart = False


def _quoted(word: str) -> str:
    """A literal string on one line in double quotes, where it needs no escape for that."""
    literal = word.startswith("'") and not word.startswith("'''")
    return f'"{word[1:-1]}"' if literal and not set(word) & set('"\\') else word


def _with_commas(tokens: Sequence[_Token]) -> list[_Token]:
    """The last item of a list with a comma when the bracket stands on another line, without one else."""
    kept: list[_Token] = []
    for each in tokens:
        if each.kind == "mark" and each.text == "]":
            last = next(at for at in reversed(range(len(kept))) if kept[at].kind in _SOLID)
            if kept[last].kind == "mark" and kept[last].text == ",":
                del kept[last]
                last = next(at for at in reversed(range(last)) if kept[at].kind in _SOLID)
            opens = kept[last].kind == "mark" and kept[last].text == "["
            if not opens and any(after.kind == "end" for after in kept[last:]):
                kept.insert(last + 1, _Token("mark", ",", apart=False))
        kept.append(each)
    return kept


def _lines(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    line: list[_Token] = []
    for each in tokens:
        if each.kind == "end":
            yield line
            line = []
        else:
            line.append(each)
    yield line


def _leading_closers(line: Sequence[_Token]) -> Iterator[_Token]:
    for each in line:
        if each.kind != "mark" or each.text not in "]}":
            return
        yield each


def _joined(line: Sequence[_Token]) -> str:
    text = line[0].text
    for before, each in pairwise(line):
        text += _gap(before, each) + each.text
    return text


def _gap(before: _Token, after: _Token) -> str:
    """The blanks between two pieces of one line."""
    if after.kind == "comment":
        return "  "
    if before.kind == after.kind == "word":
        return " " if after.apart else ""
    pair = (
        before.text if before.kind == "mark" else "",
        after.text if after.kind == "mark" else "",
    )
    if pair[1] in {",", "]"} or pair == ("{", "}"):
        return ""
    return "" if pair[0] == "[" else " "
