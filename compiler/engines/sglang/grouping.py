"""A command line goes in, taken apart into flags with their values, also where the release's parser would refuse it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from compiler.engines.sglang.arguments.parsed import Refusal, RefusalKind
from compiler.engines.sglang.arguments.words import Word
from compiler.facts import Flag, Release
from compiler.profile import Argument
from compiler.value import Value


_BY_FLAG = frozenset({RefusalKind.VALUE, RefusalKind.RETIRED})


_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")  # argparse, _negative_number_matcher
_VALUELESS = frozenset({"?", "*"})


@frozen(kw_only=True, eq=False, repr=False)
class Group(Value):
    """A flag with its values, or a word that belongs to none.

    Attributes:
        name: the flag as it is written, without what stands behind `=`; `None` for a lone word.
        flag: what the release takes that for; `None` when it is nothing, or several.
        words: all its words.
    """

    name: str | None
    flag: Flag | None
    words: tuple[Word, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """Where its words stand in the launch."""
        places = (word.place for word in self.words if word.place is not None)
        return tuple(dict.fromkeys(places))

    @property
    def values(self) -> tuple[str, ...]:
        """The words of its value."""
        _, equals, value = self.words[0].text.partition("=")
        behind = tuple(word.text for word in self.words[1:])
        return (value, *behind) if equals else behind

    @property
    def full_name(self) -> str:
        """Its full name, as far as it has one."""
        return self.flag.name if self.flag is not None else self.name or ""


def groups(words: Sequence[Word], *, release: Release) -> Iterator[Group]:
    """The flags of a command line, in their order."""
    at = 0
    while at < len(words):
        if not _is_flag(words[at].text):
            yield Group(name=None, flag=None, words=(words[at],))
            at += 1
            continue
        name, equals, _ = words[at].text.partition("=")
        flag = resolve(name, release)
        end = at + 1
        while end < len(words) and not equals and end - at - 1 < _most(flag):
            if _is_flag(words[end].text):
                break
            end += 1
        yield Group(name=name, flag=flag, words=tuple(words[at:end]))
        at = end


def resolve(name: str, release: Release) -> Flag | None:
    """The flag of a name, or of the beginning of one, as argparse completes it."""
    if name in release.flags:
        return release.flags[name]
    if name in release.aliases:
        return release.flags[release.aliases[name]]
    if not name.startswith("--"):
        return None
    every = (*release.flags, *release.aliases)
    begun = [each for each in every if each.startswith(name)]
    return resolve(begun[0], release) if len(begun) == 1 else None


def argument(values: Sequence[str]) -> Argument:
    """The words of a value as `[flags]` has them: numbers as numbers where that keeps every digit."""
    if not values:
        return True
    if len(values) > 1:
        return tuple(values)
    word = values[0]
    for kind in (int, float):
        try:
            if str(kind(word)) == word and word not in {"nan", "inf", "-inf"}:
                return kind(word)
        except ValueError:
            continue
    return word


def _is_flag(text: str) -> bool:
    return (
        len(text) > 1
        and text.startswith("-")
        and not _NEGATIVE.fullmatch(text)
        and " " not in text.partition("=")[0]
    )


def _most(flag: Flag | None) -> int:
    """The most words behind a flag that are its value."""
    endless = 1 << 30
    if flag is None:
        return endless
    if flag.takes is None:
        return 0
    if flag.nargs is None or flag.nargs == "?":
        return 1
    return int(flag.nargs) if flag.nargs.isdigit() else endless


def lacks_value(group: Group) -> bool:
    """Whether a flag stands without the value that it needs."""
    flag = group.flag
    return (
        flag is not None
        and flag.takes is not None
        and flag.nargs not in _VALUELESS
        and not group.values
        and "=" not in group.words[0].text
    )


def culprits(refusal: Refusal, several: Sequence[Group]) -> tuple[Group, ...]:
    """The flags that a refusal is about; none when it is about the whole."""
    if refusal.kind is RefusalKind.AMBIGUOUS:
        name = refusal.words[0].partition("=")[0]
        return tuple(each for each in several if each.name == name)
    if refusal.kind is RefusalKind.UNRECOGNIZED:
        names = {word.partition("=")[0] for word in refusal.words}
        own = tuple(each for each in several if each.flag is None and each.name in names)
        return own or tuple(
            each for each in several if each.name is None and each.words[0].text in refusal.words
        )
    if refusal.kind in _BY_FLAG and refusal.flag is not None:
        return tuple(each for each in several if each.full_name == refusal.flag)
    return ()


def by_name(several: Sequence[Group]) -> Mapping[str, tuple[int, ...]]:
    """The words of flags by their names."""
    places: dict[str, tuple[int, ...]] = {}
    for each in several:
        places[each.full_name] = (*places.get(each.full_name, ()), *each.places)
    return places


def unresolved(words: Sequence[Word], *, release: Release, unknown: frozenset[int]) -> int:
    """How many flags the release surely refuses by their names alone, those apart of which a word is not known."""
    return len(
        {
            each.name
            for each in groups(words, release=release)
            if each.name is not None and each.flag is None and unknown.isdisjoint(each.places)
        }
    )


def texts_of(several: Sequence[Group]) -> tuple[str, ...]:
    """The words of flags, in their order."""
    return tuple(word.text for group in several for word in group.words)


def places_of(words: Sequence[Word], indices: Sequence[int]) -> tuple[int, ...]:
    """Where words stand in the launch."""
    places = (words[at].place for at in indices)
    return tuple(dict.fromkeys(each for each in places if each is not None))
