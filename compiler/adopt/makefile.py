"""A Makefile goes in; the recipe of each target comes out as a script, its variables replaced as far as they are known.

gnu.org/software/make/manual, "How to Use Variables", "Functions for Conditionals", "Recipe Syntax".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from itertools import accumulate, islice

from attrs import define, evolve, field, frozen

from compiler.adopt.launch import Change, Document, Sheet, Word
from compiler.adopt.programming import MOST_PARTS, speaks_of_engine
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.source import Source
from compiler.value import Value


_ASSIGNED = re.compile(
    r"(?:override[ ]+|export[ ]+)*(?P<name>[\w.-]+)[ \t]*(?P<sign>\?=|::?=|\+=|=)[ \t]*(?P<value>.*)",
    re.DOTALL,
)
_TARGET = re.compile(r"(?P<name>[\w./%-]+)(?:[ ]+[\w./%-]+)*[ ]*:(?!=)")
_CONDITION = re.compile(r"(?:if(?:eq|neq|def|ndef)|endif)\b")
_PREFIX = re.compile(r"[@+-]+[ \t]*")
_PLAIN = re.compile(r"[\w.-]+")
_DEEPEST = 20
"""Variables of variables; a public Makefile has three."""
_LONGEST = 10_000
"""Characters of a variable."""


@frozen(kw_only=True, eq=False, repr=False)
class _Variables(Value):
    """What a Makefile has said so far; `defaults` are the names that a caller is asked to set, `made` what is worked out.

    `places` are the offsets of the lines that set each.
    """

    texts: Mapping[str, str] = field(factory=dict)
    defaults: frozenset[str] = frozenset()
    places: Mapping[str, tuple[tuple[int, int], ...]] = field(factory=dict)
    made: MutableMapping[str, _Told] = field(factory=dict)


@frozen(eq=False, repr=False)
class _Told(Value):
    """A text with its references replaced, what is not known in it, the variables used, and those that are not set."""

    text: str
    unknown: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def beside(self, *others: _Told) -> _Told:
        """The same, with what was looked at to come to it."""
        return evolve(
            self,
            unknown=(*self.unknown, *(part for each in others for part in each.unknown)),
            used=(*self.used, *(part for each in others for part in each.used)),
            unset=(*self.unset, *(part for each in others for part in each.unset)),
        )


def _joined(parts: Sequence[_Told]) -> _Told:
    """Several, one behind the other."""
    return _Told("".join(each.text for each in parts)).beside(*parts)


@define
class _Recipe:
    """The lines of one target, as far as they are read; `first` is the number of the first of them."""

    first: int
    lines: list[str] = field(factory=list)


def read_makefile(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The recipes of all targets; `given` are variables as `make NAME=value` sets them."""
    variables, recipes = _parts(source.text, given)
    # What a variable says may be the launch, too.
    launching = [name for name, text in variables.texts.items() if speaks_of_engine(text)]
    told = (each for each in recipes if _may_launch(each, launching))
    documents = tuple(_document(each, variables, source) for each in islice(told, MOST_PARTS))
    return Sheet(documents=documents, sources={source.name: source})


def _may_launch(recipe: _Recipe, names: Sequence[str]) -> bool:
    whole = "\n".join(recipe.lines)
    return speaks_of_engine(whole) or bool(names and "$" in whole)


def _parts(text: str, given: Mapping[str, str]) -> tuple[_Variables, list[_Recipe]]:
    texts = dict(given)
    defaults: set[str] = set()
    recipes: list[_Recipe] = []
    places: dict[str, tuple[tuple[int, int], ...]] = {}
    lines = text.split("\n")
    starts = (0, *accumulate(len(each) + 1 for each in lines))
    number = depth = 0
    while number < len(lines):
        start, parts = number, [lines[number]]
        is_recipe = lines[number].startswith("\t")
        while parts[-1].endswith("\\") and number + 1 < len(lines):
            number += 1
            parts.append(lines[number])
        number += 1
        if is_recipe:
            _add_to(recipes, start + 1, parts)
            continue
        whole = " ".join(each.removesuffix("\\").strip() for each in parts)
        condition = _CONDITION.match(whole)
        depth += 0 if condition is None else -1 if condition[0] == "endif" else 1
        told = _ASSIGNED.fullmatch(whole.partition(" #")[0])
        if told is not None and told["name"] not in given:
            _assign(told, texts, defaults, is_sure=depth == 0)
            name = told["name"]
            places[name] = (*places.get(name, ()), (starts[start], starts[number] - 1))
        elif _TARGET.match(whole):
            recipes.append(_Recipe(first=start + 2))
    variables = _Variables(texts=texts, defaults=frozenset(defaults), places=places)
    return variables, [each for each in recipes if each.lines]


def _add_to(recipes: list[_Recipe], first: int, parts: list[str]) -> None:
    if recipes:
        recipe = recipes[-1]
        # What stands between its lines keeps their numbers.
        recipe.lines += [""] * (first - recipe.first - len(recipe.lines))
        recipe.lines += parts


def _assign(
    told: re.Match[str], texts: dict[str, str], defaults: set[str], *, is_sure: bool
) -> None:
    """What is set in a branch may have another value."""
    name, value = told["name"], told["value"].strip()
    if not is_sure:
        texts[name] = f"$(shell {name})"
    elif told["sign"] == "+=":
        texts[name] = f"{texts.get(name, '')} {value}".strip()
    elif told["sign"] != "?=":
        texts[name] = value
        defaults.discard(name)
    elif name not in texts:
        texts[name] = value
        defaults.add(name)


def _document(recipe: _Recipe, variables: _Variables, source: Source) -> Document:
    last = recipe.first + len(recipe.lines) - 1
    span = Span(file=source.name, line=recipe.first, column=1, end_line=last, end_column=1)
    parts: list[_Told] = []
    is_new = True
    for line in recipe.lines:
        bare = line.removeprefix("\t")
        bare = _PREFIX.sub("", bare, count=1) if is_new and _PREFIX.match(bare) else bare
        parts.append(_expanded(bare + "\n", variables, depth=0))
        is_new = not line.endswith("\\")
    told = _joined(parts)
    defaults = (each for each in dict.fromkeys(told.used) if each in variables.defaults)
    taken = [
        f"`$({each})` is taken to be `{variables.texts[each]}`, its default" for each in defaults
    ]
    taken += [f"`$({each})` is taken not to be set" for each in dict.fromkeys(told.unset)]
    changes = tuple(Change(kind=ChangeKind.ASSUMED, text=each, span=span) for each in taken)
    word = Word(text=told.text, span=span, unknown=told.unknown, changes=changes)
    names = dict.fromkeys(told.used)
    elsewhere = tuple(place for each in names for place in variables.places.get(each, ()))
    return Document(name="recipe.sh", text=word, is_exact=False, elsewhere=elsewhere)


def _expanded(text: str, variables: _Variables, *, depth: int) -> _Told:
    parts: list[_Told] = []
    at = 0
    while True:
        found = text.find("$", at)
        if found < 0 or found + 1 >= len(text):
            return _joined([*parts, _Told(text[at:])])
        parts.append(_Told(text[at:found]))
        sign = text[found + 1]
        if sign not in "({":
            # `$$` is a dollar for the shell, `$@` the target, and `$X` a variable of one letter.
            one = text[found : found + 2]
            parts.append(_Told("$") if sign == "$" else _Told(one, (one,)))
            at = found + 2
            continue
        end = _closing(text, found + 1)
        if end < 0:
            return _joined([*parts, _Told(text[found:])])
        parts.append(_reference(text[found : end + 1], variables, depth=depth))
        at = end + 1


def _closing(text: str, at: int) -> int:
    """The index of the bracket that closes the one at an index."""
    first, last = text[at], ")" if text[at] == "(" else "}"
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == first) - (text[index] == last)
        if depth == 0:
            return index
    return -1


def _reference(raw: str, variables: _Variables, *, depth: int) -> _Told:
    inside = raw[2:-1].strip()
    open_ = _Told(raw, (raw,))
    if depth > _DEEPEST:
        return open_
    if _PLAIN.fullmatch(inside):
        value = variables.texts.get(inside)
        if value is None:
            # Both brackets mean the same there, and these are the shell's.
            return _Told(f"${{{inside}}}", (f"${{{inside}}}",))
        if inside not in variables.made:
            # One that names itself is open; each is worked out once, however often it is named.
            variables.made[inside] = open_
            told = _expanded(value, variables, depth=depth + 1)
            if len(told.text) <= _LONGEST:
                variables.made[inside] = evolve(told, used=(inside, *dict.fromkeys(told.used)))
        return variables.made[inside]
    name, _, rest = inside.partition(" ")
    parts = [_given(each, variables, depth=depth) for each in _split(rest)]
    if name == "or":
        first = next((each for each in parts if each.text), _Told(""))
        return first.beside(*parts[: parts.index(first)] if first in parts else parts)
    if name == "if" and len(parts) > 1:
        more = parts[2] if len(parts) > 2 else _Told("")  # noqa: PLR2004 - the third is `else`
        return (parts[1] if parts[0].text else more).beside(evolve(parts[0], unknown=()))
    return open_


def _given(text: str, variables: _Variables, *, depth: int) -> _Told:
    """A part of a condition: a variable that nobody sets is empty."""
    bare = text.strip()
    name = bare[2:-1]
    if bare[:1] == "$" and _PLAIN.fullmatch(name) and name not in variables.texts:
        return _Told("", unset=(name,))
    return _expanded(bare, variables, depth=depth + 1)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no bracket."""
    depth, start = 0, 0
    for at, each in enumerate(text):
        depth += (each in "({") - (each in ")}")
        if each == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
