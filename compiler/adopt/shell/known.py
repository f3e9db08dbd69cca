"""What a script has said so far; what is known behind its branches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import evolve, field, frozen

from compiler.adopt.launch import Change, Word
from compiler.engines.adopting import ChangeKind
from compiler.engines.known import ENGINES
from compiler.value import Value


_BLANKS = " \t\n"

Listed = tuple[Word | None, ...]
"""The words of a list, with nothing where an index holds none."""


@frozen(kw_only=True, eq=False, repr=False)
class Known(Value):
    """What a script has said so far.

    Attributes:
        texts: variables with one value.
        arrays: variables with a list of words.
        attributes: what a variable is declared to be, as the letters of `declare`.
        references: the variables that stand for others (`declare -n`).
        exported: the variables that commands get.
        arguments: the words that the script or a function of it is given; `None` where they are not known.
        said: the values that whoever adopts it gives for what is not known for certain.
        is_open: whether a file that could not be read may have set any variable.
        exports_all: whether each variable that is set is exported (`set -a`).
    """

    texts: Mapping[str, Word] = field(factory=dict)
    arrays: Mapping[str, Listed] = field(factory=dict)
    attributes: Mapping[str, frozenset[str]] = field(factory=dict)
    references: Mapping[str, str] = field(factory=dict)
    exported: frozenset[str] = frozenset()
    arguments: tuple[Word, ...] | None = None
    said: Mapping[str, str] = field(factory=dict)
    is_open: bool = False
    exports_all: bool = False

    @property
    def environment(self) -> Mapping[str, Word]:
        """The variables that a command gets."""
        return {name: word for name, word in self.texts.items() if name in self.exported}

    @property
    def separators(self) -> str | None:
        """What separates words (`IFS`); `None` where that is not known."""
        word = self.texts.get("IFS")
        if word is None or word.text in {"$IFS", "${IFS}"}:
            return _BLANKS
        return None if word.unknown else word.text

    def named(self, name: str) -> str:
        """The variable that a name stands for."""
        return self.references.get(name, name)

    def with_list(self, name: str, words: Listed) -> Known:
        """The same with one list set."""
        texts = {each: word for each, word in self.texts.items() if each != name}
        return evolve(self, texts=texts, arrays={**self.arrays, name: words})

    def outside(self, before: Known, *, own: Collection[str]) -> Known:
        """What is known behind a function: variables of its `own` are again what they were."""
        kept = forgotten(self, own)
        return evolve(
            kept,
            texts={
                **kept.texts,
                **{each: before.texts[each] for each in own if each in before.texts},
            },
            arrays={
                **kept.arrays,
                **{each: before.arrays[each] for each in own if each in before.arrays},
            },
            attributes=before.attributes,
            references=before.references,
            arguments=before.arguments,
        )

    def with_text(self, name: str, word: Word) -> Known:
        """The same with one variable set."""
        exported = self.exported | {name} if self.exports_all else self.exported
        return evolve(self, texts={**self.texts, name: word}, exported=exported)

    def opened(self) -> Known:
        """The same where every variable may have any value."""
        return evolve(self.without([*self.texts, *self.arrays]), is_open=True)

    def unsure(self, name: str) -> Word:
        """A variable that is not known for certain: as it is said, where it is."""
        return Word(text=self.said[name]) if name in self.said else open_word(name)

    def without(self, names: Sequence[str]) -> Known:
        """The same with variables that may have any value."""
        arrays = {name: self.arrays.get(name, ()) for name in names if name in self.arrays}
        return evolve(
            self,
            texts={
                **self.texts,
                **{name: self.unsure(name) for name in names if name in self.texts},
            },
            arrays={
                **self.arrays,
                **{name: (*words, more_word(name)) for name, words in arrays.items()},
            },
        )


def open_word(name: str) -> Word:
    """A variable that is known at the start only."""
    return Word(text=f"${{{name}}}", unknown=(f"${{{name}}}",))


def forgotten(known: Known, names: Collection[str]) -> Known:
    """Without some variables."""
    return evolve(
        known,
        texts={name: word for name, word in known.texts.items() if name not in names},
        arrays={name: words for name, words in known.arrays.items() if name not in names},
        attributes={name: told for name, told in known.attributes.items() if name not in names},
    )


def joined(before: Known, several: Sequence[Known]) -> Known:
    """What is known behind branches of which one is taken: what they set alike."""
    texts = {
        name: _either(name, before, [each.texts.get(name) for each in several])
        for name in dict.fromkeys(name for each in several for name in each.texts)
    }
    arrays = {
        name: _merged(
            name, before.arrays.get(name, ()), [each.arrays.get(name) for each in several]
        )
        for name in dict.fromkeys(name for each in several for name in each.arrays)
    }
    return evolve(
        before,
        texts=texts,
        arrays=arrays,
        attributes={name: told for each in several for name, told in each.attributes.items()},
        references={name: told for each in several for name, told in each.references.items()},
        exported=frozenset().union(*(each.exported for each in several)),
        arguments=_joined_arguments(before.arguments, [each.arguments for each in several]),
        is_open=any(each.is_open for each in several),
        exports_all=any(each.exports_all for each in several),
    )


def _either(name: str, known: Known, several: Sequence[Word | None]) -> Word:
    first, before = several[0], known.texts.get(name)
    if first is not None and all(_same(each, first) for each in several):
        return first
    if name in known.said:
        return known.unsure(name)
    told = [each for each in several if each is not None]
    if before is not None and before.text and all(_goes_on(each, before) for each in told):
        return evolve(
            before, text=f"{before.text} ${{{name}}}", unknown=(*before.unknown, f"${{{name}}}")
        )
    starting = {each.text: each for each in told if starts_engine(each.text)}
    if len(starting) == 1:
        (word,) = starting.values()
        line = f", which line {word.span.line} sets" if word.span is not None else ""
        text = f"`${{{name}}}` is taken to hold the launch{line}: the script sets it in branches"
        taken = Change(kind=ChangeKind.ASSUMED, text=text, span=word.span)
        return evolve(word, changes=(*word.changes, taken))
    return evolve(told[-1], text=f"${{{name}}}", unknown=(f"${{{name}}}",), changes=())


def _same(one: Word | None, other: Word) -> bool:
    if one is None:
        return False
    return one is other or (one.text == other.text and not one.unknown and not other.unknown)


def _goes_on(word: Word, before: Word) -> bool:
    """Whether a text is another with more words behind it."""
    return word.text == before.text or word.text.startswith(f"{before.text} ")


def starts_engine(text: str) -> bool:
    """Whether a text reads as if it started an engine."""
    words = text.split()
    return any(each.find_launch(words) is not None for each in ENGINES.values())


def _joined_arguments(
    before: tuple[Word, ...] | None, several: Sequence[tuple[Word, ...] | None]
) -> tuple[Word, ...] | None:
    """The words of `$@`, as of a list."""
    first = several[0]
    if all(each is first or each == first for each in several):
        return first
    if any(each is None for each in several):
        return None
    return tuple(each for each in _merged("@", before or (), several) if each is not None)


def _merged(name: str, before: Listed, several: Sequence[Listed | None]) -> Listed:
    """A list that some branches lengthen: what it had, and what may come; one that they replace may have any words."""
    first = several[0]
    if first is not None and all(each is first for each in several):
        return first
    are_longer = all(each is not None and each[: len(before)] == before for each in several)
    return (*before, more_word(name)) if are_longer else (more_word(name),)


def more_word(name: str) -> Word:
    """The words of a list that are known at the start only."""
    text = "$@" if name == "@" else f"${{{name}[@]}}"
    return Word(text=text, unknown=(text,))
