"""A justfile goes in; its recipes that speak of an engine come out as scripts, with the variables that it knows in them.

just.systems/man/en, "Variables and substitution", "Environment variables", and "Recipe parameters".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from compiler.adopt.launch import Document, Sheet, Word
from compiler.adopt.parts import MOST_PARTS, SCRIPT, speaks_of_engine
from compiler.adopt.unreadfiles import taken_over
from compiler.diagnostics import Span
from compiler.source import Source


_TEXT = r"""(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>\d[\w.]*))"""
_SET = re.compile(r"(?:export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:=[ \t]*(?P<value>.+?)[ \t]*")
_OF_ENV = re.compile(
    r"""(?:env|env_var_or_default)\([ \t]*["'](?P<name>\w+)["'][ \t]*,[ \t]*(?P<value>.+?)[ \t]*\)"""
)
_LITERAL = re.compile(_TEXT)
_HEAD = re.compile(r"@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>[^:\n]*):(?!=).*")
_PARAMETER = re.compile(rf"\$?(?P<name>[A-Za-z_][\w-]*)[ \t]*=[ \t]*(?P<value>{_TEXT})")
_USE = re.compile(r"\{\{[ \t]*(?P<name>[A-Za-z_][\w-]*)[ \t]*\}\}")

_TAKEN_OVER = re.compile(
    r"^(?:import\??[ \t]+['\"]|set[ \t]+dotenv-(?:load|filename|path|required)\b(?!.*\bfalse\b))[^#\n]*",
    re.MULTILINE,
)
"""just.systems/man/en, "Imports", and "Dotenv Settings"."""


def read_justfile(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The recipes; `given` are values of variables, which come before those of the file."""
    lines = source.text.split("\n")
    known: dict[str, str] = {}
    for found in filter(None, map(_SET.fullmatch, lines)):
        value = _value(found["value"])
        if value is not None:
            known[found["name"]] = value
    recipes = (
        _document(*each, known={**known, **given}, source=source) for each in _recipes(lines, given)
    )
    spoken = (each for each in recipes if speaks_of_engine(each.text.text))
    return Sheet(documents=tuple(islice(spoken, MOST_PARTS)), sources={source.name: source})


def _value(text: str) -> str | None:
    """What an expression says, as a shell reads it; `None` where it is more than a text."""
    of_env = _OF_ENV.fullmatch(text)
    literal = _LITERAL.fullmatch(of_env["value"] if of_env is not None else text)
    if literal is None:
        return None
    said = next((each for each in literal.groups() if each is not None), "")
    return said if of_env is None else f"${{{of_env['name']}:-{said}}}"


def _recipes(
    lines: list[str], given: Mapping[str, str]
) -> Iterator[tuple[int, list[str], dict[str, str]]]:
    """Each recipe by the number of its first line, with its parameters that have a value."""
    body: list[str] = []
    first, own = 0, dict[str, str]()
    for number, line in enumerate((*lines, "-"), start=1):
        if not line.strip() or line[:1] in " \t":
            body.append(line)
            continue
        if first and body:
            yield first, body, own
        head = _HEAD.fullmatch(line)
        body, first = [], number + 1 if head is not None else 0
        told = _PARAMETER.finditer(head["parameters"]) if head is not None else ()
        own = {each["name"]: _value(each["value"]) or "" for each in told}
        own |= {name: given[name] for name in own if name in given}


def _document(
    first: int,
    lines: list[str],
    own: Mapping[str, str],
    *,
    known: Mapping[str, str],
    source: Source,
) -> Document:
    values = {**known, **own}
    told = [_USE.sub(lambda use: values.get(use["name"], use[0]), each) for each in lines]
    # `@` hides a command, and `-` lets it fail.
    text = "\n".join(re.sub(r"^([ \t]+)[@-]+", r"\1", each) for each in told) + "\n"
    end = first + len(lines) - 1
    span = Span(file=source.name, line=first, column=1, end_line=end, end_column=1)
    word = Word(text=text, span=span, changes=tuple(taken_over(_TAKEN_OVER, source)))
    return Document(name=SCRIPT, text=word, is_exact=False)
