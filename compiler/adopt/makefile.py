"""A Makefile goes in; the recipe of each target comes out as a script, its variables replaced as far as they are known.

gnu.org/software/make/manual, "How to Use Variables", "Functions for Conditionals", "Recipe Syntax".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

from attrs import define, evolve, field

from compiler.adopt.launch import Change, Document, Sheet, Word
from compiler.adopt.makevariables import (
    LONGEST,
    Own,
    Place,
    Told,
    Variables,
    expanded,
    joined,
    unsure,
)
from compiler.adopt.parts import MOST_PARTS, SCRIPT, speaks_of_engine
from compiler.adopt.unreadfiles import taken_over
from compiler.diagnostics import Span
from compiler.engines.adopting import ChangeKind
from compiler.source import Source


_ASSIGNED = re.compile(
    r"(?P<front>(?:(?:override|export|private)[ \t]+)*)(?P<name>[\w.-]+)[ \t]*"
    r"(?P<sign>\?=|:{1,3}=|\+=|!=|=)[ \t]*(?P<value>.*)",
    re.DOTALL,
)
_TARGET = re.compile(r"(?P<names>[\w./% -]*[\w./%-])[ ]*::?(?!=)(?P<rest>.*)", re.DOTALL)
_DEFINE = re.compile(r"(?:override[ \t]+)?define[ \t]+(?P<name>[\w.-]+)[ \t]*(?:[:?+]?=)?[ \t]*")
_CONDITION = re.compile(r"(?:if(?:eq|neq|def|ndef)|endif)\b")
_INCLUDE = re.compile(r"^[ ]*[-s]?include[ \t]+(?![:+?]?=)[^#\n]+", re.MULTILINE)
_SETS = re.compile(r"\b\w+\+?=|\b(?:export|unset|set|cd|source|read|exit)\b")
"""What a line says that the next one does not know: each is a shell of its own."""
_MOST_OWN = 100
"""Variables of targets; a public Makefile has ten."""
_PREFIX = re.compile(r"^[@+-]+[ \t]*")


@define
class _Recipe:
    """The lines of some targets, as far as they are read; `first` is the number of the first of them."""

    names: tuple[str, ...]
    first: int
    lines: list[str] = field(factory=list)


@define
class _Parts:
    """What a Makefile has said so far."""

    given: Mapping[str, str]
    texts: dict[str, str]
    fixed: dict[str, Told] = field(factory=dict)
    defaults: set[str] = field(factory=set)
    recipes: list[_Recipe] = field(factory=list)
    own: list[Own] = field(factory=list)
    needed: dict[str, set[str]] = field(factory=dict)
    places: dict[str, tuple[Place, ...]] = field(factory=dict)
    prefix: str = "\t"
    is_one_shell: bool = False
    steps: list[str] = field(factory=list)

    @property
    def variables(self) -> Variables:
        """As they are known here."""
        return Variables(
            texts=self.texts,
            fixed=self.fixed,
            defaults=frozenset(self.defaults),
            places=self.places,
            steps=self.steps,
        )

    def set_at(self, name: str, place: Place) -> None:
        """Keeps where a variable is set."""
        self.places[name] = (*self.places.get(name, ()), place)


def read_makefile(source: Source, *, given: Mapping[str, str]) -> Sheet:
    """The recipes of all targets; `given` are variables as `make NAME=value` sets them."""
    parts = _parts(source.text, given)
    # What a variable says may be the launch, too.
    own = ((each.variable, each.value) for each in parts.own)
    said = (*parts.texts.items(), *own)
    launching = [name for name, text in said if speaks_of_engine(text)]
    told = (each for each in parts.recipes if _may_launch(each, launching))
    whole = parts.variables
    documents = tuple(_document(each, parts, whole, source) for each in islice(told, MOST_PARTS))
    return Sheet(documents=documents, sources={source.name: source})


def _may_launch(recipe: _Recipe, names: Sequence[str]) -> bool:
    whole = "\n".join(recipe.lines)
    return speaks_of_engine(whole) or bool(names and "$" in whole)


def _parts(text: str, given: Mapping[str, str]) -> _Parts:
    made = _Parts(given=given, texts=dict(given))
    lines = text.split("\n")
    starts = (0, *accumulate(len(each) + 1 for each in lines))
    number = depth = 0
    while number < len(lines):
        start, parts = number, [lines[number]]
        while parts[-1].endswith("\\") and number + 1 < len(lines):
            number += 1
            parts.append(lines[number])
        number += 1
        if parts[0].startswith(made.prefix):
            _add_to(made, start + 1, parts)
            continue
        whole = " ".join(each.removesuffix("\\").strip() for each in parts)
        define_ = _DEFINE.fullmatch(whole)
        if define_ is not None:
            number = _define(define_["name"], lines, number, made, is_sure=depth == 0)
            made.set_at(define_["name"], (starts[start], starts[min(number, len(lines))] - 1))
            continue
        condition = _CONDITION.match(whole)
        depth += 0 if condition is None else -1 if condition[0] == "endif" else 1
        plain = whole.partition(" #")[0].rstrip()
        told = _ASSIGNED.fullmatch(plain)
        target = _TARGET.match(whole)
        place = (starts[start], starts[number] - 1)
        if told is not None:
            _assign(told, made, place, is_sure=depth == 0)
        elif target is not None:
            _target(target, parts, made, place, line=start + 1)
    made.recipes = [each for each in made.recipes if each.lines]
    return made


def _target(
    found: re.Match[str], parts: Sequence[str], made: _Parts, place: Place, *, line: int
) -> None:
    """A rule, which may have a recipe behind `;`, or a variable of some targets alone."""
    names = tuple(found["names"].split())
    told = _ASSIGNED.fullmatch(found["rest"].strip().partition(" #")[0].rstrip())
    if told is not None:
        if len(made.own) >= _MOST_OWN:
            _set(told["name"], "=", told["value"], made, is_sure=False)
            made.set_at(told["name"], place)
        elif told["name"] not in made.given or "override" in told["front"]:
            own = Own(
                names=names,
                variable=told["name"],
                sign=told["sign"],
                value=told["value"].strip(),
                told=expanded(told["value"].strip(), made.variables)
                if told["sign"].startswith(":")
                else None,
                place=place,
            )
            made.own.append(own)
        return
    made.is_one_shell |= ".ONESHELL" in names
    needed, semicolon, _ = found["rest"].partition(";")
    for name in names:
        made.needed.setdefault(name, set()).update(needed.partition("#")[0].split())
    recipe = _Recipe(names=names, first=line if semicolon else line + 1)
    if semicolon and ";" in parts[0]:
        recipe.lines += [parts[0].partition(";")[2].lstrip(), *parts[1:]]
    made.recipes.append(recipe)


def _define(name: str, lines: Sequence[str], at: int, made: _Parts, *, is_sure: bool) -> int:
    """A variable of several lines; the number of the line behind it comes out."""
    end = next((e for e in range(at, len(lines)) if lines[e].strip() == "endef"), len(lines))
    body = re.sub(r"[ \t]*\\\n[ \t]*", " ", "\n".join(lines[at:end]))
    several = (_PREFIX.sub("", each.strip(), count=1) for each in body.split("\n"))
    text = "; ".join(each for each in several if each and not each.startswith("#"))
    if name not in made.given:
        _set(name, "=", text, made, is_sure=is_sure)
    return end + 1


def _add_to(made: _Parts, first: int, parts: Sequence[str]) -> None:
    if made.recipes:
        recipe = made.recipes[-1]
        # What stands between its lines keeps their numbers.
        recipe.lines += [""] * (first - recipe.first - len(recipe.lines))
        recipe.lines += [each.removeprefix(made.prefix) for each in parts]


def _assign(told: re.Match[str], made: _Parts, place: Place, *, is_sure: bool) -> None:
    name, value = told["name"], told["value"].strip()
    if name == ".RECIPEPREFIX":
        made.prefix = value[:1] or "\t"
    elif name not in made.given or "override" in told["front"]:
        _set(name, told["sign"], value, made, is_sure=is_sure)
        made.set_at(name, place)


def _set(name: str, sign: str, value: str, made: _Parts, *, is_sure: bool) -> None:
    """What is set in a branch may have another value."""
    before = made.fixed.get(name)
    if sign == "?=" and name in made.texts:
        return
    made.defaults.discard(name)
    if not is_sure:
        # Whether it is the launch is asked of all that it may say.
        made.texts[name] = (
            value if not speaks_of_engine(made.texts.get(name, "")) else made.texts[name]
        )
        made.fixed[name] = unsure(name)
    elif sign.startswith(":") or (sign == "+=" and before is not None):
        told = expanded(value, made.variables)
        made.texts[name] = value if before is None else f"{made.texts[name]} {value}"[:LONGEST]
        told = told if sign != "+=" or before is None else joined((before, Told(" "), told))
        told = evolve(told, used=(name, *dict.fromkeys(told.used)))
        made.fixed[name] = told if len(told.text) <= LONGEST else unsure(name)
    else:
        made.fixed.pop(name, None)
        text = made.texts.get(name, "") if sign == "+=" else ""
        made.texts[name] = f"$(shell {value})" if sign == "!=" else f"{text} {value}".strip()
        made.defaults |= {name} if sign == "?=" else set()


def _variables_of(recipe: _Recipe, parts: _Parts, whole: Variables) -> Variables:
    """The variables as a recipe has them: those of its targets before those of the `whole`.

    One that a target sets is set for what that target needs, too, when it is made for it.
    """
    own = _Parts(
        given={},
        texts=dict(parts.texts),
        fixed=dict(parts.fixed),
        defaults=set(parts.defaults),
        places=dict(parts.places),
    )
    is_own = False
    for each in parts.own:
        if each.is_for(recipe.names):
            is_own = True
            own.set_at(each.variable, each.place)
            if each.told is not None:
                used = (each.variable, *each.told.used)
                own.texts[each.variable] = each.value
                own.fixed[each.variable] = evolve(each.told, used=used)
            else:
                _set(each.variable, each.sign, each.value, own, is_sure=True)
        elif not each.reached(parts.needed).isdisjoint(recipe.names):
            is_own = True
            own.set_at(each.variable, each.place)
            _set(each.variable, "=", each.value, own, is_sure=False)
    return own.variables if is_own else whole


def _document(recipe: _Recipe, made: _Parts, whole: Variables, source: Source) -> Document:
    variables = _variables_of(recipe, made, whole)
    last = recipe.first + len(recipe.lines) - 1
    span = Span(file=source.name, line=recipe.first, column=1, end_line=last, end_column=1)
    told = joined([expanded(each, variables) for each in _lines(recipe, made)])
    defaults = (each for each in dict.fromkeys(told.used) if each in variables.defaults)
    taken = [
        f"`$({each})` is taken to be `{variables.texts[each]}`, its default" for each in defaults
    ]
    taken += [f"`$({each})` is taken not to be set" for each in dict.fromkeys(told.unset)]
    changes = (Change(kind=ChangeKind.ASSUMED, text=each, span=span) for each in taken)
    word = Word(
        text=told.text,
        span=span,
        unknown=told.unknown,
        changes=(*changes, *taken_over(_INCLUDE, source)),
    )
    names = dict.fromkeys(told.used)
    elsewhere = tuple(place for each in names for place in variables.places.get(each, ()))
    return Document(name=SCRIPT, text=word, is_exact=False, elsewhere=elsewhere)


def _lines(recipe: _Recipe, made: _Parts) -> Iterator[str]:
    """The lines as one script: each is a shell of its own, unless the Makefile says otherwise."""
    is_new, is_apart = True, False
    last = max((at for at, each in enumerate(recipe.lines) if each.strip()), default=0)
    for at, line in enumerate(recipe.lines):
        bare = line
        if is_new:
            bare = line if made.is_one_shell and at else _PREFIX.sub("", line.lstrip(), count=1)
            close = "); " if is_apart else ""
            is_apart = not made.is_one_shell and at < last and bool(_SETS.search(bare))
            bare = f"{close}{'(' if is_apart else ''}{bare}"
        is_new = not line.endswith("\\")
        yield f"{bare}\n"
    if is_apart:
        yield ")\n"
