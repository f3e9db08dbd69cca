"""A text of a Makefile goes in; it comes out with its variables replaced, as far as they are known.

gnu.org/software/make/manual, "How to Use Variables", "Functions for Conditionals", "The call Function".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence

from attrs import define, evolve, field, frozen

from compiler.value import Value


_PLAIN = re.compile(r"[\w.-]+")
_DEEPEST = 20
"""Variables of variables; a public Makefile has three."""
LONGEST = 10_000
"""Characters of a variable."""
_MOST_CALLS = 300
"""Calls that are followed; a public Makefile has ten."""
_MOST_STEPS = 50_000
"""Variables that are worked out, one within another; a long public Makefile has some hundreds."""

Place = tuple[int, int]
"""The offsets of the lines that set a variable."""


@frozen(kw_only=True, eq=False, repr=False)
class Variables(Value):
    """What a Makefile has said so far; `defaults` are the names that a caller is asked to set, `made` what is worked out.

    `fixed` are those that were worked out where they stand (`:=`), and those that may have another value; `calls` and `steps` count;
    `places` are the offsets of the lines that set each.
    """

    texts: Mapping[str, str] = field(factory=dict)
    fixed: Mapping[str, Told] = field(factory=dict)
    defaults: frozenset[str] = frozenset()
    places: Mapping[str, tuple[Place, ...]] = field(factory=dict)
    made: MutableMapping[str, Told] = field(factory=dict)
    calls: list[str] = field(factory=list)
    steps: list[str] = field(factory=list)


@frozen(eq=False, repr=False)
class Told(Value):
    """A text with its references replaced, what is not known in it, the variables used, and those that are not set."""

    text: str
    unknown: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def beside(self, *others: Told) -> Told:
        """The same, with what was looked at to come to it."""
        return evolve(
            self,
            unknown=(*self.unknown, *(part for each in others for part in each.unknown)),
            used=(*self.used, *(part for each in others for part in each.used)),
            unset=(*self.unset, *(part for each in others for part in each.unset)),
        )


@define
class Own:
    """A variable that is set for some targets; `told` where it is worked out where it stands, with `:=`."""

    names: tuple[str, ...]
    variable: str
    sign: str
    value: str
    told: Told | None
    place: Place
    _reached: set[str] | None = None

    def reached(self, needed: Mapping[str, set[str]]) -> set[str]:
        """All that is made for its targets, each of which needs others."""
        if self._reached is None:
            self._reached = set()
            left = list(self.names)
            while left:
                more = needed.get(left.pop(), set()) - self._reached
                self._reached |= more
                left += more
        return self._reached

    def is_for(self, names: Sequence[str]) -> bool:
        """Whether one of some targets is among its own."""
        return any(_fits(name, pattern) for name in names for pattern in self.names)


def joined(parts: Sequence[Told]) -> Told:
    """Several, one behind the other."""
    return Told("".join(each.text for each in parts)).beside(*parts)


def unsure(name: str) -> Told:
    """A variable that may have any value; both brackets mean the same there, and these are the shell's."""
    return Told(f"${{{name}}}", (f"${{{name}}}",), (name,))


def expanded(text: str, variables: Variables, *, depth: int = 0) -> Told:
    """A text with its references replaced."""
    parts: list[Told] = []
    at = 0
    while True:
        found = text.find("$", at)
        if found < 0 or found + 1 >= len(text):
            return joined([*parts, Told(text[at:])])
        parts.append(Told(text[at:found]))
        sign = text[found + 1]
        if sign not in "({":
            # `$$` is a dollar for the shell, `$@` the target, and `$X` a variable of one letter.
            one = text[found : found + 2]
            told = variables.fixed.get(sign, Told(one, (one,)))
            parts.append(Told("$") if sign == "$" else told)
            at = found + 2
            continue
        end = _closing(text, found + 1)
        if end < 0:
            return joined([*parts, Told(text[found:])])
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


def _reference(raw: str, variables: Variables, *, depth: int) -> Told:
    inside = raw[2:-1].strip()
    open_ = Told(raw, (raw,))
    if depth > _DEEPEST:
        return open_
    if _PLAIN.fullmatch(inside):
        return _variable(inside, variables, depth=depth, open_=open_)
    name, _, rest = inside.partition(" ")
    parts = [_given(each, variables, depth=depth) for each in _split(rest)]
    if name == "call":
        return _called(parts, variables, depth=depth) or open_
    if name == "or":
        first = next((each for each in parts if each.text), Told(""))
        return first.beside(*parts[: parts.index(first)] if first in parts else parts)
    if name == "if" and len(parts) > 1:
        more = parts[2] if len(parts) > 2 else Told("")  # noqa: PLR2004 - the third is `else`
        return (parts[1] if parts[0].text else more).beside(evolve(parts[0], unknown=()))
    return open_


def _variable(name: str, variables: Variables, *, depth: int, open_: Told) -> Told:
    """One that names itself is open; each is worked out once, however often it is named."""
    if name in variables.fixed:
        return variables.fixed[name]
    value = variables.texts.get(name)
    if value is None:
        return unsure(name)
    if name not in variables.made:
        variables.made[name] = open_
        variables.steps.append(name)
        if len(variables.steps) > _MOST_STEPS:
            return open_
        told = expanded(value, variables, depth=depth + 1)
        if len(told.text) <= LONGEST:
            variables.made[name] = evolve(told, used=(name, *dict.fromkeys(told.used)))
    return variables.made[name]


def _called(parts: Sequence[Told], variables: Variables, *, depth: int) -> Told | None:
    """What a variable says with its arguments put in; `None` for one that is not known, and within another call."""
    name, *arguments = parts
    is_nested = any(each.isdecimal() for each in variables.fixed)
    if name.text not in variables.texts or is_nested or len(variables.calls) >= _MOST_CALLS:
        return None
    variables.calls.append(name.text)
    told = {str(at): each for at, each in enumerate(arguments, start=1)}
    # Those that are not given are empty.
    told |= {str(at): Told("") for at in range(len(arguments) + 1, 10)}
    inside = evolve(variables, fixed={**variables.fixed, **told}, made={})
    made = expanded(variables.texts[name.text], inside, depth=depth + 1)
    return made if len(made.text) <= LONGEST else None


def _given(text: str, variables: Variables, *, depth: int) -> Told:
    """A part of a condition: a variable that nobody sets is empty."""
    bare = text.strip()
    name = bare[2:-1]
    if (
        bare[:1] == "$"
        and _PLAIN.fullmatch(name)
        and name not in {*variables.texts, *variables.fixed}
    ):
        return Told("", unset=(name,))
    return expanded(bare, variables, depth=depth + 1)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no bracket."""
    depth, start = 0, 0
    for at, each in enumerate(text):
        depth += (each in "({") - (each in ")}")
        if each == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _fits(name: str, pattern: str) -> bool:
    """Whether a target is one of a pattern (`%.sh`)."""
    front, percent, end = pattern.partition("%")
    if not percent:
        return name == pattern
    return len(name) > len(front) + len(end) and name.startswith(front) and name.endswith(end)
